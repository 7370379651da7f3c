// The requests of an operator: release the devices for some time, or leave the profiling counters
// to another program for some time.
//
// Each request has an end, so a forgotten request does not stop the data forever.  Any thread.  The
// threads that hold devices are nudged at each request and check the requests at each reading.
#pragma once

#include "base/clock.h"
#include "base/mutex.h"
#include "base/wakeup.h"

namespace podgpu {

class DeviceControl {
 public:
  // Both outlive this object.
  DeviceControl(const Clock& clock, Wakeup& source) : clock_(clock), source_(source) {}

  // Makes each request nudge `processes` too, which outlives this object.  Called before the first
  // request.
  void NudgeToo(Wakeup& processes) { processes_ = &processes; }

  // Begin a request of this length now; zero ends the current one.
  void ReleaseFor(Duration time);
  void PauseProfilingFor(Duration time);

  // Return the time left; zero without a request.
  Duration release_time_left() const;
  Duration profiling_paused_for() const;

 private:
  Duration Left(Instant until) const;
  void Nudge();

  const Clock& clock_;
  Wakeup& source_;
  Wakeup* processes_ = nullptr;
  mutable Mutex mutex_;  // Requests come from the HTTP thread.
  Instant released_until_ PODGPU_GUARDED_BY(mutex_){};
  Instant paused_until_ PODGPU_GUARDED_BY(mutex_){};
};

}  // namespace podgpu
