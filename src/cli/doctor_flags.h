// The command line of `podgpu doctor`: its own flag table, with the grammar of the node's.
//
// Its only task so far is to switch on accounting; without a task it prints an error. Pure
// functions; main.cc calls them once.
#pragma once

#include <span>
#include <string>

#include "base/status.h"
#include "cli/flag_reader.h"

namespace podgpu {

struct DoctorCommand {
  bool wants_help = false;
  bool enable_accounting = false;
  std::string nvml_library;  // Path of libnvidia-ml; empty: search for it.
};

// On failure kInvalidArgument with the complete line to print, also when no task is given; the exit
// code is then 2.
StatusOr<DoctorCommand> ParseDoctorFlags(std::span<const std::string> arguments,
                                         const Environment& environment);

std::span<const FlagOf<DoctorCommand>> DoctorFlagTable();

// The text of `podgpu doctor --help`.
std::string DoctorHelpText();

}  // namespace podgpu
