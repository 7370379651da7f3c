// Name patterns with * and ?, as in shells.
//
// Needs only the standard library, so the simulator's vendor libraries can use it. Pure; any
// thread.
#pragma once

#include <cstddef>
#include <string_view>

namespace podgpu {

// Returns whether `text` matches `pattern`: `*` stands for any characters and `?` for one.
constexpr bool GlobMatches(std::string_view pattern, std::string_view text) {
  size_t p = 0;
  size_t t = 0;
  size_t star = std::string_view::npos;  // The last `*`, and the end of its match so far.
  size_t resume = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      resume = t;
    } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == text[t])) {
      ++p;
      ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++resume;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', p) == std::string_view::npos;
}

}  // namespace podgpu
