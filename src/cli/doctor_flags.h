// The command line of `podgpu doctor`: its own flag table beside that of the node.
//
// The doctor judges the configuration that will run, so it takes the node's flags and environment
// in the node's grammar.  --enable-accounting is the exception: on the doctor's command line it is
// a task, while its variable stays a setting of the exporter.  Pure functions; main.cc calls them
// once.
#pragma once

#include <chrono>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "cli/flag_reader.h"
#include "cli/flags.h"

namespace podgpu {

// Tells when the output has colours; kAuto: on a terminal.
enum class ColourUse : uint8_t { kAuto, kAlways, kNever };

// A flag or variable that was given, and its value.
struct GivenSetting {
  std::string name, value;
};

struct DoctorCommand {
  NodeCommand node;  // The configuration to judge.
  std::vector<GivenSetting> settings;
  bool wants_help = false;
  bool enable_accounting = false;  // Switch accounting on, and do nothing else.
  bool json = false;
  bool verbose = false;
  ColourUse colour = ColourUse::kAuto;
  std::vector<std::string> only;      // Ids or sections of checks; empty: all.
  std::optional<std::string> report;  // Path of the support file; empty: a name is chosen.
  bool report_pods = false;
  std::string node_web_config;  // File with the password of the running exporter; empty: none.
  std::chrono::milliseconds report_for{60'000};
};

// Parses the command line.  On failure kInvalidArgument with the complete line to print; the exit
// code is then 2.
StatusOr<DoctorCommand> ParseDoctorFlags(std::span<const std::string> arguments,
                                         const Environment& environment);

std::span<const FlagOf<DoctorCommand>> DoctorFlagTable();

// Returns the text of `podgpu doctor --help`.
std::string DoctorHelpText();

}  // namespace podgpu
