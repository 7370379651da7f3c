// The command line of `podgpu doctor`: its own table of flags, in the grammar of the node's.
//
// So far it has one task, switching accounting on; without one it says so.  Pure functions; main.cc
// calls them once.
#pragma once

#include <span>
#include <string>

#include "base/status.h"
#include "cli/flag_reader.h"

namespace podgpu {

struct DoctorCommand {
  bool wants_help = false;
  bool enable_accounting = false;
  std::string nvml_library;  // Path of libnvidia-ml; empty: searched for.
};

// kInvalidArgument with the complete line to print, also when there is no task; the exit code for
// that is 2.
StatusOr<DoctorCommand> ParseDoctorFlags(std::span<const std::string> arguments,
                                         const Environment& environment);

std::span<const FlagOf<DoctorCommand>> DoctorFlagTable();

// The text of `podgpu doctor --help`.
std::string DoctorHelpText();

}  // namespace podgpu
