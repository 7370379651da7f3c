// Who keeps the engine of a running node: starts it, obeys the faults, and starts it again.
//
// An engine that somebody kills stays away, as a host engine without a service manager does, unless
// `restart_after_death` was asked for; one that a fault kills comes back when the fault says so.  A
// new engine listens where the first one did, on the port that it was given as well.  An engine
// that was started by hand meanwhile is left alone.  Belongs to the main loop of `podgpu-sim run`,
// which calls Look and Obey; one thread.
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
  std::string socket_path;  // Of the unix socket, for what is said; empty: none.
  std::optional<std::chrono::milliseconds> restart_after_death = {};
};

class EngineSupervisor {
 public:
  // `say` gets a line for each change, `node` and `clock` outlive the object.
  EngineSupervisor(RunWriter& node, Clock& clock, EngineSupervisorOptions options,
                   std::function<void(const std::string&)> say);

  // Starts the first engine.
  Status Start();

  // Notices an end, and starts another when that is due.
  void Look();

  // Stops, continues, kills or starts the engine as the faults want it.
  void Obey(const EngineOrders& orders);

  // When Look has something to do although no child has ended.
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
