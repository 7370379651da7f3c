// The groups of the node's flags, for people who look for a flag: --help=GROUP and docs/flags.md.
//
// Each flag of flag_table.h is in exactly one group; a test checks that. Immutable; any thread.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "cli/flag_reader.h"

namespace podgpu {

struct FlagGroup {
  std::string_view name;     // As written in --help=NAME.
  std::string_view title;    // Heading in docs/flags.md.
  std::string_view meaning;  // What its flags decide; one line without a full stop.
  std::span<const std::string_view> flags;
};

// In the order of docs/flags.md.
std::span<const FlagGroup> FlagGroups();

// Returns the rows of a group's flags, in the order of the group.
std::vector<FlagText> TextsOf(const FlagGroup& group);

// A flag that many people use, as the first screen of --help shows it.
struct CommonFlag {
  std::string_view name;     // Without dashes.
  std::string_view form;     // With its short form and the form of its value.
  std::string_view meaning;  // So short that the line has at most 80 columns.
};
std::span<const CommonFlag> CommonFlags();

}  // namespace podgpu
