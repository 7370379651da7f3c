// Lets one thread sleep on a Clock until its deadline, a stop, or a nudge from another thread.
//
// The tick sleeps this way: it wakes at its interval, and at once when a new grid or new owners are
// published. One thread sleeps, any thread nudges; a nudge while no thread sleeps ends the next
// sleep at once. Works on the real and on the manual clock, and allocates nothing, because every
// tick uses it. Outlives both threads.
#pragma once

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <stop_token>

#include "base/clock.h"
#include "base/mutex.h"

namespace podgpu {

// A thread waits on it inside a Clock. A thread that changes the awaited state calls Ring. It must
// outlive the call of Ring.
struct Alarm {
  std::mutex mutex;  // Not a Mutex: std::condition_variable needs a std::mutex.
  std::condition_variable rung;

  void Ring() {
    { const std::scoped_lock lock(mutex); }  // The waiter sees the change, or already waits.
    rung.notify_all();  // Without the lock, for which the woken thread would have to wait.
  }
};

class Wakeup {
 public:
  // Ends the current sleep, or the next one.
  void Nudge();

  // Sleeps until `deadline`, a nudge (both return true) or `stop` (returns false).
  bool SleepUntil(Clock& clock, Instant deadline, const std::stop_token& stop);

  // For the machine's clock: the alarm that each nudge rings, and whether a nudge has come since
  // the last sleep.
  Alarm& alarm() { return alarm_; }
  bool is_nudged() const { return is_nudged_.load(); }

  // For a clock with an alarm of its own: while a Listener lives, each nudge of `wakeup` (null:
  // none) rings `alarm` too. Nudge locks the alarm's mutex, so do not hold that mutex while a
  // Listener is made or destroyed.
  class Listener {
   public:
    Listener(Wakeup* wakeup, Alarm& alarm) : wakeup_(wakeup) { Listen(&alarm); }
    ~Listener() { Listen(nullptr); }
    Listener(const Listener&) = delete;
    Listener& operator=(const Listener&) = delete;

    bool is_nudged() const { return wakeup_ != nullptr && wakeup_->is_nudged(); }

   private:
    void Listen(Alarm* alarm);

    Wakeup* const wakeup_;
  };

 private:
  std::atomic<bool> is_nudged_ = false;
  Alarm alarm_;
  Mutex mutex_;  // Held while the listener's alarm rings, so that it cannot end under a nudge.
  Alarm* listening_ PODGPU_GUARDED_BY(mutex_) = nullptr;
};

}  // namespace podgpu
