// The command line of the cluster role: its own flag table, with the grammar of the node's.
//
// Every flag can also be set by an environment variable; the command line wins. The table also
// makes `podgpu cluster --help` and a part of docs/flags.md. Pure functions; main.cc calls them
// once.
#pragma once

#include <span>
#include <string>

#include "base/log.h"
#include "base/status.h"
#include "cli/flag_reader.h"
#include "cluster/cluster.h"

namespace podgpu {

struct ClusterCommand {
  bool wants_help = false;
  LogLevel log_level = LogLevel::kInfo;
  LogForm log_form = LogForm::kText;
  bool has_nodes = false;       // --nodes was given.
  std::string service_account;  // Folder of token and certificate; empty: the default folder.
  ClusterOptions cluster;
};

// Parses the command line. On failure kInvalidArgument with the complete line to print; the exit
// code is then 2.
StatusOr<ClusterCommand> ParseClusterFlags(std::span<const std::string> arguments,
                                           const Environment& environment);

std::span<const FlagOf<ClusterCommand>> ClusterFlagTable();

// Returns the text of `podgpu cluster --help`.
std::string ClusterHelpText();

}  // namespace podgpu
