// Starts a program as a child process of podgpu-sim, with no signal blocked.
//
// Signals are blocked here (signals.h), and a child would inherit that.  Any thread.
#pragma once

#include <string>
#include <sys/types.h>
#include <vector>

#include "base/status.h"

namespace podgpu::sim {

// `program`: a path, or a name to be looked up in PATH.  `words`: its arguments, with its name
// first.  `variables`: its whole environment, as NAME=VALUE.  kInvalidArgument when it cannot be
// started.  The caller waits for its end.
StatusOr<pid_t> Spawn(const std::string& program, const std::vector<std::string>& words,
                      const std::vector<std::string>& variables);

// The environment of this process, as NAME=VALUE.
std::vector<std::string> OwnVariables();

}  // namespace podgpu::sim
