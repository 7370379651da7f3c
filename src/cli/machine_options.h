// Options that come from the machine, not from flags: names, the own pod, systemd's socket, and the
// fields that the counters file requests from the source.
//
// main.cc parses the flags, then calls these functions once, before any thread starts; then the
// options are complete. The caller passes environment, host name and files, so tests need no
// machine.
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
  std::string hostname;  // The system's host name.
  int64_t pid = 0;       // Pid of this process; systemd names the process that its sockets are for.
  const Files& files;
};

// Sets the current counter list, the notes on it, and the fields and findings that it requests from
// the source.
void TakeCounters(NodeCommand& command, Counters counters, const std::vector<std::string>& warnings,
                  WallTime loaded_at);

// Sets the names of node and pod, the exporter's data for the source, and systemd's socket if the
// flags request it. kInvalidArgument with the remedy when there is no such socket.
Status TakeMachine(NodeCommand& command, const Machine& machine);

// Sets the random seeds from the host name, so that cluster roles on several machines do not query
// in step.
void TakeMachine(ClusterCommand& command, const std::string& hostname);

}  // namespace podgpu
