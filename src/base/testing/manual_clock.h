// A clock that moves only when a test says so.
//
// WaitUntil blocks its thread until Advance has moved the time past the deadline, or stop is
// requested; a test steps through hours in milliseconds and never sleeps. AwaitSleepers blocks the
// test until a given number of threads sleep, which shows that they have finished their work.
// Thread safe; must outlive every thread that waits on it.
#pragma once

#include <algorithm>
#include <list>

#include "base/clock.h"
#include "base/wakeup.h"

namespace podgpu {

class ManualClock final : public Clock {
 public:
  // Starts at monotonic time zero and at civil time `start`.
  explicit ManualClock(WallTime start = WallTime(std::chrono::seconds(1'700'000'000)))
      : wall_(start) {}

  Instant Now() const override;
  WallTime WallNow() const override;

  // Moves both times forward and wakes every waiter whose deadline has come.
  void Advance(Duration step);

  // Blocks until at least `count` threads sleep in WaitUntil. A thread whose deadline has passed,
  // or that was nudged or asked to stop, counts as awake even before it has run.
  void AwaitSleepers(int count) const;

  // How many sleeps have ended by their deadline or a nudge: the wake-ups of all threads.
  int wakeups() const;

 private:
  struct Sleeper {
    Instant deadline;
    const std::stop_token* stop = nullptr;
    const Wakeup::Listener* wakeup = nullptr;
  };

  bool Wait(Instant deadline, const std::stop_token& stop, Wakeup* wakeup) override;

  mutable Alarm changed_;  // Its mutex guards all below.
  Instant now_{};
  WallTime wall_;
  std::list<Sleeper> sleepers_;
  int wakeups_ = 0;
};

inline Instant ManualClock::Now() const {
  std::scoped_lock lock(changed_.mutex);
  return now_;
}

inline WallTime ManualClock::WallNow() const {
  std::scoped_lock lock(changed_.mutex);
  return wall_;
}

inline bool ManualClock::Wait(Instant deadline, const std::stop_token& stop, Wakeup* wakeup) {
  const std::stop_callback on_stop(stop, [this] { changed_.Ring(); });
  const Wakeup::Listener on_nudge(wakeup, changed_);
  std::unique_lock lock(changed_.mutex);
  const auto self = sleepers_.insert(sleepers_.end(), {deadline, &stop, &on_nudge});
  changed_.rung.notify_all();
  changed_.rung.wait(
      lock, [&] { return now_ >= deadline || stop.stop_requested() || on_nudge.is_nudged(); });
  sleepers_.erase(self);
  wakeups_ += stop.stop_requested() ? 0 : 1;
  return !stop.stop_requested();
}

inline int ManualClock::wakeups() const {
  std::scoped_lock lock(changed_.mutex);
  return wakeups_;
}

inline void ManualClock::Advance(Duration step) {
  std::scoped_lock lock(changed_.mutex);
  now_ += step;
  wall_ += std::chrono::duration_cast<std::chrono::microseconds>(step);
  changed_.rung.notify_all();
}

inline void ManualClock::AwaitSleepers(int count) const {
  std::unique_lock lock(changed_.mutex);
  changed_.rung.wait(lock, [&] {
    return std::ranges::count_if(sleepers_, [&](const Sleeper& sleeper) {
             return sleeper.deadline > now_ && !sleeper.stop->stop_requested() &&
                    !sleeper.wakeup->is_nudged();
           }) >= count;
  });
}

}  // namespace podgpu
