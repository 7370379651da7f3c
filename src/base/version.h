// The version of the program, taken from the project() line of CMakeLists.txt.
//
// Printed by --version, served in podgpu_build_info and on the status page. A constant; any thread.
#pragma once

#include <string_view>

namespace podgpu {

inline constexpr std::string_view kVersion = PODGPU_VERSION;

}  // namespace podgpu
