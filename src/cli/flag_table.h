// The flags as data: name, short form, variable, kind, default, help, and the function that stores
// the value.
//
// One row per flag, in the order of --help. The parser (flags.cc), the help text and docs/flags.md
// are all made from these rows. Immutable; any thread.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/status.h"
#include "cli/flag_reader.h"
#include "cli/flags.h"

namespace podgpu {

using Flag = FlagOf<NodeCommand>;

std::span<const Flag> FlagTable();

}  // namespace podgpu
