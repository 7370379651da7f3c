// Text for manual pages: the characters that man(7) would read as commands, written so that it
// prints them.
//
// Pure functions; any thread.
#pragma once

#include <string>
#include <string_view>

namespace podgpu {

// Returns `text` as running text of a manual page. Every dash stays an ASCII dash, so that a reader
// can copy a flag; a line that begins with a dot or an apostrophe stays text.
std::string RoffText(std::string_view text);

}  // namespace podgpu
