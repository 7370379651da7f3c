// Keeps the engine of a running node: starts it, applies the faults, and restarts it.
//
// An engine that a user kills is not restarted, as a host engine without a service manager is not,
// unless `restart_after_death` was given; an engine that a fault kills comes back when the fault
// says so.  A new engine listens where the first one did, also when that port was a free one.  An
// engine that a user started by hand meanwhile is left alone.  Belongs to the main loop of
// `podgpu-sim run`, which calls Poll and Obey; one thread.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/status.h"
#include "sim/program/engine_process.h"
#include "sim/program/node_faults.h"
#include "sim/scenario/run_writer.h"

namespace podgpu::sim {

struct EngineSupervisorOptions {
  std::string tcp;          // "host:port"; empty: none.
  std::string socket_path;  // Of the unix socket, for messages; empty: none.
  std::optional<std::chrono::milliseconds> restart_after_death = {};
};

class EngineSupervisor {
 public:
  // `say` gets a line for each change; `node` and `clock` must outlive the object.
  EngineSupervisor(RunWriter& node, Clock& clock, EngineSupervisorOptions options,
                   std::function<void(const std::string&)> say);

  // Starts the first engine.
  Status Start();

  // Notices the end of the engine, and starts a new one when due.
  void Poll();

  // Stops, continues, kills or starts the engine as the faults require.
  void Obey(const EngineOrders& orders);

  // When Poll must run again although no child has ended.
  std::optional<Instant> due() const { return start_at_; }

 private:
  void NoteEnd(const std::string& how);
  void StartAnother();

  RunWriter& node_;
  Clock& clock_;
  EngineSupervisorOptions options_;
  std::function<void(const std::string&)> say_;
  std::optional<EngineProcess> engine_;
  std::optional<Instant> start_at_;
  EngineOrders obeyed_;
};

}  // namespace podgpu::sim
