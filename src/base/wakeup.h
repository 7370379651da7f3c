// Lets one thread sleep on a Clock until its deadline, a stop, or a nudge from another thread.
//
// The tick sleeps this way: it goes on at its own pace, and at once when a new grid or new owners
// are published. Built from stop tokens alone, so it works on the real and on the manual clock
// alike.  One thread sleeps, any thread nudges; a nudge that comes while nobody sleeps ends the
// next sleep at once.  Outlives both.
#pragma once

#include <stop_token>

#include "base/clock.h"
#include "base/mutex.h"

namespace podgpu {

class Wakeup {
 public:
  // Ends the current sleep, or the next one.
  void Nudge();

  // Sleeps until `deadline`, a nudge (both return true) or `stop` (returns false).
  bool SleepUntil(Clock& clock, Instant deadline, const std::stop_token& stop);

 private:
  std::stop_source Current();

  Mutex mutex_;
  std::stop_source nudge_
      PODGPU_GUARDED_BY(mutex_);  // Stopped by a nudge, replaced when the sleep has ended.
};

}  // namespace podgpu
