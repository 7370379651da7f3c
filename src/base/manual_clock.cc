#include "base/manual_clock.h"

#include <algorithm>

namespace podgpu {

Instant ManualClock::Now() const {
  std::scoped_lock lock(changed_.mutex);
  return now_;
}

WallTime ManualClock::WallNow() const {
  std::scoped_lock lock(changed_.mutex);
  return wall_;
}

bool ManualClock::Wait(Instant deadline, const std::stop_token& stop, Wakeup* wakeup) {
  const std::stop_callback on_stop(stop, [this] { changed_.Ring(); });
  const Wakeup::Listener on_nudge(wakeup, changed_);
  std::unique_lock lock(changed_.mutex);
  const auto self = sleepers_.insert(sleepers_.end(), {deadline, &stop, &on_nudge});
  changed_.rung.notify_all();
  changed_.rung.wait(
      lock, [&] { return now_ >= deadline || stop.stop_requested() || on_nudge.is_nudged(); });
  sleepers_.erase(self);
  return !stop.stop_requested();
}

void ManualClock::Advance(Duration step) {
  std::scoped_lock lock(changed_.mutex);
  now_ += step;
  wall_ += std::chrono::duration_cast<std::chrono::microseconds>(step);
  changed_.rung.notify_all();
}

void ManualClock::AwaitSleepers(int count) const {
  std::unique_lock lock(changed_.mutex);
  changed_.rung.wait(lock, [&] {
    return std::ranges::count_if(sleepers_, [&](const Sleeper& sleeper) {
             return sleeper.deadline > now_ && !sleeper.stop->stop_requested() &&
                    !sleeper.wakeup->is_nudged();
           }) >= count;
  });
}

}  // namespace podgpu
