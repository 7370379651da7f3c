// Compares words of HTTP whose case does not matter: host names, codings, header values.
//
// Only ASCII letters, as in RFC 9110. Pure; any thread.
#pragma once

#include <algorithm>
#include <string_view>

namespace podgpu {

inline bool AreEqualIgnoringCase(std::string_view a, std::string_view b) {
  const auto small = [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c;
  };
  return std::ranges::equal(a, b, {}, small, small);
}

}  // namespace podgpu
