#include "base/manual_clock.h"

#include <algorithm>

namespace podgpu {

Instant ManualClock::Now() const {
  std::scoped_lock lock(mutex_);
  return now_;
}

WallTime ManualClock::WallNow() const {
  std::scoped_lock lock(mutex_);
  return wall_;
}

bool ManualClock::WaitUntil(Instant deadline, const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  const auto self = sleepers_.insert(sleepers_.end(), {deadline, &stop});
  changed_.notify_all();
  changed_.wait(lock, stop, [&] { return now_ >= deadline; });
  sleepers_.erase(self);
  return !stop.stop_requested();
}

void ManualClock::Advance(Duration step) {
  std::scoped_lock lock(mutex_);
  now_ += step;
  wall_ += std::chrono::duration_cast<std::chrono::microseconds>(step);
  changed_.notify_all();
}

void ManualClock::AwaitSleepers(int count) const {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] {
    return std::ranges::count_if(sleepers_, [&](const Sleeper& sleeper) {
             return sleeper.deadline > now_ && !sleeper.stop->stop_requested();
           }) >= count;
  });
}

}  // namespace podgpu
