// What the program says about itself: --help, and docs/flags.md. Made from the tables of roles,
// groups and flags. Pure functions; any thread.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/status.h"

namespace podgpu {

// Returns the text of --help=TOPIC: for "" one screen (at most 40 lines of 80 columns), for "all"
// every flag, else the flags of the group with that name. On an unknown topic kInvalidArgument
// with the names that exist.
StatusOr<std::string> HelpText(std::string_view topic);

// A flag that many people use, as the first screen shows it.
struct CommonFlag {
  std::string_view name;     // The name without dashes.
  std::string_view form;     // The name, its short form and the form of its value.
  std::string_view meaning;  // So short that the line has at most 80 columns.
};
std::span<const CommonFlag> CommonFlags();

// Returns the content of docs/flags.md.
std::string FlagsDocument();

}  // namespace podgpu
