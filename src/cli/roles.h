// The roles of the program: the words that may follow `podgpu`, in one table.
//
// Help, completion and the message about an unknown word are made from it; main.cc has a function
// for each name. Immutable; any thread.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "cli/flag_reader.h"

namespace podgpu {

struct Role {
  std::string_view name;
  std::string_view usage;    // The text after "podgpu" in the usage lines of --help.
  std::string_view meaning;  // One line without a full stop.
  std::vector<FlagText> (*flags)() = nullptr;  // Returns its flags; null: it has none.
};

// Returns the roles in the order of --help.
std::span<const Role> Roles();

// kInvalidArgument for a word that names no role, with the nearest name and all names.
Status UnknownRole(std::string_view word);

}  // namespace podgpu
