// The options that come from the machine and not from the flags: names, the own pod, the socket of
// systemd, and what the list of metrics asks of the source.
//
// main.cc parses the flags, then calls these once, before any thread starts; afterwards the options
// are complete.  Environment, host name and files are handed in, so that tests need no machine.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/files.h"
#include "base/status.h"
#include "cli/cluster_flags.h"
#include "cli/flags.h"

namespace podgpu {

// Borrowed for one call.
struct Machine {
  const Environment& environment;
  std::string hostname;  // The system's.
  int64_t pid = 0;       // This process; systemd names the one that its sockets are for.
  const Files& files;
};

// Fills in the list of metrics in force, the notes on it, and the fields and findings that it asks
// of the source.
void TakeCounters(NodeCommand& command, Counters counters, const std::vector<std::string>& warnings,
                  WallTime loaded_at);

// Fills in the names of node and pod, what a source must know of the exporter, and the socket of
// systemd, where the flags ask for one.  kInvalidArgument with the remedy when there is none.
Status TakeMachine(NodeCommand& command, const Machine& machine);

// Fills in the seeds, so that cluster roles on several machines do not ask in step.
void TakeMachine(ClusterCommand& command, const std::string& hostname);

}  // namespace podgpu
