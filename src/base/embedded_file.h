// A file that the build copies into the program (cmake/Embed.cmake).
//
// Both views refer to constants of the program; any thread.
#pragma once

#include <string_view>

namespace podgpu {

struct EmbeddedFile {
  std::string_view name;  // "fleet.js", without its folder.
  std::string_view bytes;
};

}  // namespace podgpu
