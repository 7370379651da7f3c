// A simulated node, running: its directory, its kubelet, its engine process, its control log,
// its API server.
//
// RunNode is `podgpu-sim run`: it makes everything, says what and where, and keeps it until SIGINT
// or SIGTERM; then it ends all that it started.  ServeEngine is `podgpu-sim engine`, the process
// that a remote client of DCGM talks to: apart, so that killing and stopping it are real.  Both
// take over the main thread.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "base/status.h"
#include "sim/program/scenario_files.h"
#include "sim/scenario/run_writer.h"

namespace podgpu::sim {

struct NodeOptions {
  ScenarioFile scenario;
  RunOptions run;
  // "host:port" of the engine; empty: the unix socket only; nothing: what the scenario says.
  std::optional<std::string> engine_tcp = {};
  bool api_server = false;     // An API server too.
  bool kubelet_https = false;  // The kubelet's pods over HTTPS too.
  // How long after its death another engine is started; nothing: none is.
  std::optional<std::chrono::milliseconds> restart_engine = {};
};

Status RunNode(const NodeOptions& options);

// Serves the engine of the node in `directory`.  `parent` is the process whose end ends this one;
// 0: none.  Returns the exit code.
StatusOr<int> ServeEngine(const std::string& directory, const std::string& tcp, int parent);

}  // namespace podgpu::sim
