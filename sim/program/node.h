// A running simulated node: its directory, kubelet, engine process, control log and API server.
//
// RunNode is `podgpu-sim run`: it makes all parts, prints what and where they are, and serves until
// SIGINT or SIGTERM, or until the program that it runs on the node ends; then it ends all that it
// started.  ServeEngine is `podgpu-sim engine`, the process with which a remote client of DCGM
// talks: a separate process, so tests can really kill and stop it.  Both take over the main thread.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "sim/program/scenario_files.h"
#include "sim/scenario/run_writer.h"

namespace podgpu::sim {

struct NodeOptions {
  ScenarioFile scenario;
  RunOptions run;
  // "host:port" of the engine; empty text: the unix socket only; no value: the scenario's address.
  std::optional<std::string> engine_tcp = {};
  bool api_server = false;     // Also run an API server.
  bool kubelet_https = false;  // Also serve the kubelet's pods over HTTPS.
  // After this time a dead engine is replaced; empty: never.
  std::optional<std::chrono::milliseconds> restart_engine = {};
  // A program to run on the node, with its arguments; empty: none.
  std::vector<std::string> program = {};
};

// Returns the exit code of the program, 0 without one.
StatusOr<int> RunNode(const NodeOptions& options);

// Serves the engine of the node in `directory`.  It ends when the process `parent` ends; 0: no
// parent.  Returns the exit code.
StatusOr<int> ServeEngine(const std::string& directory, const std::string& tcp, int parent);

}  // namespace podgpu::sim
