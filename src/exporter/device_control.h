// What an operator has asked of the devices for a while: to let go of them, or to leave the
// profiling counters to another program.
//
// Each request has an end, so that a request which is forgotten costs no data for ever.  Any
// thread; those who hold devices are nudged at each request and ask at each reading.
#pragma once

#include "base/clock.h"
#include "base/mutex.h"
#include "base/wakeup.h"

namespace podgpu {

class DeviceControl {
 public:
  // Borrows both, which outlive this.
  DeviceControl(const Clock& clock, Wakeup& source) : clock_(clock), source_(source) {}

  // Nudges `processes` too, which outlives this; before any request can come.
  void NudgeToo(Wakeup& processes) { processes_ = &processes; }

  // From now on and for so long; zero ends it.
  void LetGoFor(Duration time);
  void PauseProfilingFor(Duration time);

  // How much longer; zero when nothing was asked.
  Duration let_go_for() const;
  Duration profiling_paused_for() const;

 private:
  Duration Left(Instant until) const;
  void Nudge();

  const Clock& clock_;
  Wakeup& source_;
  Wakeup* processes_ = nullptr;
  mutable Mutex mutex_;  // Requests come from the HTTP thread.
  Instant let_go_until_ PODGPU_GUARDED_BY(mutex_){};
  Instant paused_until_ PODGPU_GUARDED_BY(mutex_){};
};

}  // namespace podgpu
