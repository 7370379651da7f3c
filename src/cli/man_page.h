// The manual page podgpu(1), made from the flag tables.
//
// tools/man_page.cc prints it when the package is built. No flag is written by hand, so every new
// flag is in the page. Pure function.
#pragma once

#include <string>

namespace podgpu {

// The page in man(7)'s format, all commands and flags included.
std::string ManPage();

}  // namespace podgpu
