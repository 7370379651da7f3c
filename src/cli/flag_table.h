// The flags as data: name, short form, variable, kind, default, help, and the function that stores
// the value.
//
// One row per flag, in the table of its group, in the order of --help and docs/flags.md. The parser
// (flags.cc), the help text and that document are all made from these rows. Immutable; any thread.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/status.h"
#include "cli/flag_reader.h"
#include "cli/flags.h"

namespace podgpu {

using Flag = FlagOf<NodeCommand>;

// A group of flags, for people who look for one: --help=GROUP and docs/flags.md.
struct FlagGroup {
  std::string_view name;     // The name in --help=NAME.
  std::string_view title;    // Heading in docs/flags.md.
  std::string_view meaning;  // Subject of its flags; one line without a full stop.
  std::span<const Flag> flags;
};

// Returns the groups in the order of docs/flags.md.
std::span<const FlagGroup> FlagGroups();

// The flags of all groups.
std::span<const Flag> FlagTable();

}  // namespace podgpu
