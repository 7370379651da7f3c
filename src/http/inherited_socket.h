// A socket that systemd made before it started us: socket activation (sd_listen_fds(3)).
//
// systemd passes its sockets from descriptor 3 on and says in LISTEN_FDS how many there are and in
// LISTEN_PID for whom.  podgpu serves exactly one.  Pure but for a look at the descriptor; called
// once at start.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/status.h"

namespace podgpu {

// The number of the descriptor that the variables hand to process `pid`; kInvalidArgument with the
// remedy when they hand over none or several.
StatusOr<int> InheritedSocket(const std::optional<std::string>& listen_fds,
                              const std::optional<std::string>& listen_pid, int64_t pid);

}  // namespace podgpu
