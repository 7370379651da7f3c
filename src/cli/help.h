// What the program says about itself: --help, and docs/flags.md. Made from the tables of roles,
// groups and flags. Pure functions; any thread.
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"

namespace podgpu {

// Returns the text of --help=TOPIC: for "" one screen (at most 40 lines of 80 columns), for "all"
// every flag, else the flags of the group with that name. On an unknown topic kInvalidArgument
// with the names that exist.
StatusOr<std::string> HelpText(std::string_view topic);

// Returns the content of docs/flags.md.
std::string FlagsDocument();

}  // namespace podgpu
