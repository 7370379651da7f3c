// The process refresher: reads who runs on the GPUs, and their energy counters, at its own pace.
//
// A page is made after each reading, since energy is apportioned between two of them and not
// between two scrapes.  What cannot be read is said once when that changes and tried again; the
// next reading then tells of the time between.  A reading that hangs is interrupted by the watchdog
// through `guard`.  Run is the body of one thread; the rest may be called from any thread.
#pragma once

#include <chrono>
#include <functional>
#include <memory>

#include "base/clock.h"
#include "base/status.h"
#include "base/wakeup.h"
#include "exporter/call_guard.h"
#include "exporter/device_control.h"
#include "exporter/process_feed.h"
#include "source/nvml_processes.h"

namespace podgpu {

// Finds NVML; called until it succeeds.
using ProcessOpener = std::function<StatusOr<std::unique_ptr<NvmlProcesses>>()>;

class ProcessRefresher {
 public:
  // All borrowed things outlive the refresher.  `tick` is nudged after each reading.
  ProcessRefresher(ProcessOpener open, std::chrono::milliseconds period, Duration call_deadline,
                   const DeviceControl& control, Clock& clock, Wakeup& tick);

  void Run(const std::stop_token& stop);

  CallGuard& guard() { return guard_; }
  ProcessFeed& feed() { return feed_; }

 private:
  void ReadOnce();
  Status Open();
  Status Read();
  void Publish(PartState state, std::string detail);

  const ProcessOpener open_;
  const std::chrono::milliseconds period_;
  const DeviceControl& control_;
  Clock& clock_;
  Wakeup& tick_;
  CallGuard guard_;
  std::unique_ptr<NvmlProcesses> processes_;  // Null until NVML is found.
  ProcessFacts current_;
  ProcessFeed feed_;
};

}  // namespace podgpu
