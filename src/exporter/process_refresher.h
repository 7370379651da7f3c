// The process refresher: reads who runs on the GPUs, and their energy counters, at its own pace.
//
// A page is made after each reading, since energy is apportioned between two of them and not
// between two scrapes.  What cannot be read is said once when that changes and tried again; the
// next reading then tells of the time between.  NVML is let go of, entirely and at once, for as
// long as `control` says, and now and then for a while when a device needs it (NvmlProcesses):
// whoever resets a GPU or changes its MIG mode must find it unused.  A call that hangs is
// interrupted by the watchdog through `guard`.  Run is the body of one thread; the rest may be
// called from any thread.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>

#include "base/clock.h"
#include "base/status.h"
#include "base/wakeup.h"
#include "exporter/call_guard.h"
#include "exporter/device_control.h"
#include "source/nvml/processes.h"
#include "usage/process_queue.h"

namespace podgpu {

// Finds NVML; called until it succeeds.
using ProcessOpener = std::function<StatusOr<std::unique_ptr<NvmlProcesses>>()>;

class ProcessRefresher {
 public:
  // Borrows all that is given by reference: clock and tick outlive the refresher, and `control`
  // takes requests no longer when it ends.  `tick` is nudged after each reading.
  ProcessRefresher(ProcessOpener open, std::chrono::milliseconds period, Duration call_deadline,
                   DeviceControl& control, Clock& clock, Wakeup& tick);

  void Run(const std::stop_token& stop);

  CallGuard& guard() { return guard_; }
  ProcessQueue& queue() { return queue_; }

 private:
  // For how long the devices are to be let go of from now on.
  Duration LetGoFor();
  void LetGo(Duration left);
  void ReadOnce();
  Status Open();
  Status Read();
  void Publish(PartState state, std::string detail);

  const ProcessOpener open_;
  const std::chrono::milliseconds period_;
  DeviceControl& control_;
  Clock& clock_;
  Wakeup& tick_;
  CallGuard guard_;
  Wakeup news_;
  bool is_away_ = false;                      // The devices are let go of.
  std::optional<Instant> stayed_until_;       // The end of the last time that a device needed it.
  std::unique_ptr<NvmlProcesses> processes_;  // Null until NVML is found.
  ProcessFacts current_;
  ProcessQueue queue_;
};

}  // namespace podgpu
