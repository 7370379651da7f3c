// The command line of `podgpu top`: its own flag table, with the grammar of the node's.
//
// What concerns the terminal comes from variables that other programs use too: NO_COLOR, TERM,
// COLUMNS, and the locale's.  Pure functions; main.cc calls them once.
#pragma once

#include <span>
#include <string>

#include "base/status.h"
#include "cli/doctor_flags.h"
#include "cli/flag_reader.h"
#include "top/top.h"

namespace podgpu {

struct TopCommand {
  bool wants_help = false;
  ColourUse colour = ColourUse::kAuto;
  bool is_dumb = false;  // TERM=dumb, or none: only plain frames.
  TopOptions top;
};

// Parses the command line.  On failure kInvalidArgument with the complete line to print; the exit
// code is then 2.
StatusOr<TopCommand> ParseTopFlags(std::span<const std::string> arguments,
                                   const Environment& environment);

std::span<const FlagOf<TopCommand>> TopFlagTable();

// Returns the text of `podgpu top --help`.
std::string TopHelpText();

}  // namespace podgpu
