// The text form of the page `/`, for tests that look for a sentence in it: the page breaks its
// lines at 100 columns, also within sentences.  Pure function; any thread.
#pragma once

#include <string>

namespace podgpu {

// Joins each line that begins with blanks to the one before it.
inline std::string Unwrapped(std::string text) {
  for (size_t at = text.find("\n  "); at != std::string::npos; at = text.find("\n  ", at)) {
    text.replace(at, text.find_first_not_of("\n ", at) - at, " ");
  }
  return text;
}

}  // namespace podgpu
