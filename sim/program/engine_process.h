// The engine of a node as a child process of `podgpu-sim run`.
//
// Started with its own pid in engine.pid; it dies with its parent.  Any process may kill or stop it
// at any time; that is its purpose.  A new one can be started by hand with `podgpu-sim engine`.
// The destructor ends the process, also when it is stopped.  One thread.
#pragma once

#include <optional>
#include <string>
#include <sys/types.h>

#include "base/status.h"
#include "sim/scenario/run_writer.h"

namespace podgpu::sim {

class EngineProcess {
 public:
  // Starts an engine and waits until it listens; kInvalidArgument when it cannot listen.
  static StatusOr<EngineProcess> Start(const RunWriter& node, const std::string& tcp);

  EngineProcess(EngineProcess&& other) noexcept;
  EngineProcess& operator=(EngineProcess&&) = delete;
  EngineProcess(const EngineProcess&) = delete;
  EngineProcess& operator=(const EngineProcess&) = delete;
  ~EngineProcess();

  pid_t pid() const { return pid_; }
  // How it ended ("signal 9", "exit code 2"); empty while it runs.
  std::optional<std::string> Ended();
  // Kills it with SIGKILL and waits for its end.
  void Kill();

 private:
  explicit EngineProcess(pid_t pid) : pid_(pid) {}
  pid_t pid_;  // 0 after its end.
};

}  // namespace podgpu::sim
