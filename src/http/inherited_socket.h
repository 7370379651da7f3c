// A socket that systemd made before it started this process: socket activation (sd_listen_fds(3)).
//
// systemd passes its sockets from descriptor 3 on; LISTEN_FDS contains their number and LISTEN_PID
// the process that they are for. podgpu serves exactly one. Pure except for one check of the
// descriptor; called once at start.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/status.h"

namespace podgpu {

// Returns the descriptor that the variables pass to process `pid`; kInvalidArgument with the remedy
// when they pass none or several.
StatusOr<int> InheritedSocket(const std::optional<std::string>& listen_fds,
                              const std::optional<std::string>& listen_pid, int64_t pid);

}  // namespace podgpu
