// The process refresher: reads the processes on the GPUs, and the energy counters, at its own pace.
//
// A page is made after each reading, since energy is divided per reading and not per scrape.  A
// failure is logged when it begins, and retried; the next reading covers the time between.  The
// refresher releases NVML, entirely and at once, for as long as `control` says, and from time to
// time for some seconds when a device needs it (NvmlProcesses): a GPU can be reset, or change its
// MIG mode, only while no program uses it.  The watchdog interrupts a hung call through `guard`.
// Run is the body of one thread; the rest may be called from any thread.
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

// Opens NVML; called until it succeeds.
using ProcessOpener = std::function<StatusOr<std::unique_ptr<NvmlProcesses>>()>;

class ProcessRefresher {
 public:
  // All arguments passed by reference outlive the refresher; `control` gets no requests after its
  // end.  It nudges `tick` after each reading.
  ProcessRefresher(ProcessOpener open, std::chrono::milliseconds period, Duration call_deadline,
                   DeviceControl& control, Clock& clock, Wakeup& tick);

  void Run(const std::stop_token& stop);

  CallGuard& guard() { return guard_; }
  ProcessQueue& queue() { return queue_; }

 private:
  // Returns how long the devices must be released from now on; zero: they need not be.
  Duration ReleaseTime();
  void ReleaseFor(Duration left);
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
  bool is_released_ = false;                  // The devices are released.
  std::optional<Instant> released_until_;     // The end of the last release.
  std::unique_ptr<NvmlProcesses> processes_;  // Null until NVML is found.
  ProcessFacts current_;
  ProcessQueue queue_;
};

}  // namespace podgpu
