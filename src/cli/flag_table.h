// The flags as data: name, short form, variable, kind, default, help, and where the value goes.
//
// One row per flag, in the order of --help.  The parser (flags.cc), the help text and docs/flags.md
// are all made from these rows.  Immutable; any thread.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/status.h"
#include "cli/flags.h"

namespace podgpu {

enum class FlagKind : uint8_t { kBool, kInt, kString, kList, kDuration };

struct Flag {
  std::string_view name;      // Without dashes.
  std::string_view alias;     // A second name, empty where there is none.
  std::string_view variable;  // Environment variable, empty where there is none.
  FlagKind kind;
  std::string_view default_text;  // As shown; empty: none.
  std::string_view help;
  // Puts the value into `command`.  Its error says what is allowed, without the flag's name.
  Status (*apply)(NodeCommand& command, std::string_view value);
  // Of a list: empties it.  Null for all else.
  void (*clear)(NodeCommand& command) = nullptr;
};

std::span<const Flag> FlagTable();

// "bool", "int", "string", "list", "duration".
std::string_view FlagKindName(FlagKind kind);

}  // namespace podgpu
