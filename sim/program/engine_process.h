// The engine of a node as a child process of `podgpu-sim run`.
//
// Started with its own pid in engine.pid; it dies with its parent.  It may be killed or stopped by
// anyone at any time, which is what it is for; a new one can be started by hand with `podgpu-sim
// engine`.  Ends the process when it goes out of scope, whatever state that is in.  One thread.
#pragma once

#include <optional>
#include <string>
#include <sys/types.h>

#include "base/status.h"
#include "sim/scenario/run_writer.h"

namespace podgpu::sim {

class EngineProcess {
 public:
  // Starts one for the node and waits until it listens; kInvalidArgument when it cannot listen.
  static StatusOr<EngineProcess> Start(const RunWriter& node, const std::string& tcp);

  EngineProcess(EngineProcess&& other) noexcept;
  EngineProcess& operator=(EngineProcess&&) = delete;
  EngineProcess(const EngineProcess&) = delete;
  EngineProcess& operator=(const EngineProcess&) = delete;
  ~EngineProcess();

  pid_t pid() const { return pid_; }
  // How it ended ("signal 9", "exit code 2"), when it has; it is gone then.
  std::optional<std::string> Ended();
  // Kills it without a word, and returns when it is gone.
  void Kill();

 private:
  explicit EngineProcess(pid_t pid) : pid_(pid) {}
  pid_t pid_;  // 0 once it is gone.
};

}  // namespace podgpu::sim
