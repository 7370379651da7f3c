// Lets one thread sleep on a Clock until its deadline, a stop, or a nudge from another thread.
//
// The tick sleeps this way: it goes on at its own pace, and at once when a new grid or new owners
// are published.  One thread sleeps, any thread nudges; a nudge that comes while nobody sleeps ends
// the next sleep at once.  Works on the real and on the manual clock alike, and allocates nothing,
// since it is used in every tick.  Outlives both threads.
#pragma once

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <stop_token>

#include "base/clock.h"
#include "base/mutex.h"

namespace podgpu {

// Where a thread waits inside a Clock.  Whoever changes what it waits for rings.
struct Alarm {
  std::mutex mutex;  // A plain one, since the wait needs a condition variable that is no template.
  std::condition_variable rung;

  void Ring() {
    const std::scoped_lock lock(mutex);
    rung.notify_all();
  }
};

class Wakeup {
 public:
  // Ends the current sleep, or the next one.
  void Nudge();

  // Sleeps until `deadline`, a nudge (both return true) or `stop` (returns false).
  bool SleepUntil(Clock& clock, Instant deadline, const std::stop_token& stop);

  // For clocks: while it lives, `alarm` rings at each nudge of `wakeup` (null: there is none).
  // Nudge takes the alarm's mutex, so that must not be held when a Listener comes or goes.
  class Listener {
   public:
    Listener(Wakeup* wakeup, Alarm& alarm) : wakeup_(wakeup) { Listen(&alarm); }
    ~Listener() { Listen(nullptr); }
    Listener(const Listener&) = delete;
    Listener& operator=(const Listener&) = delete;

    bool is_nudged() const { return wakeup_ != nullptr && wakeup_->is_nudged_.load(); }

   private:
    void Listen(Alarm* alarm);

    Wakeup* const wakeup_;
  };

 private:
  std::atomic<bool> is_nudged_ = false;
  Mutex mutex_;  // Held while the alarm rings, so that it cannot end under a nudge.
  Alarm* alarm_ PODGPU_GUARDED_BY(mutex_) = nullptr;
};

}  // namespace podgpu
