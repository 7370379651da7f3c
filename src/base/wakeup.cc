#include "base/wakeup.h"

namespace podgpu {

void Wakeup::Nudge() {
  is_nudged_.store(true);
  MutexLock lock(mutex_);
  if (alarm_ != nullptr) {
    alarm_->Ring();
  }
}

bool Wakeup::SleepUntil(Clock& clock, Instant deadline, const std::stop_token& stop) {
  const bool goes_on = clock.WaitUntil(deadline, stop, this);
  // Data published before this nudge is seen by the work that follows the sleep.
  is_nudged_.exchange(false);
  return goes_on;
}

void Wakeup::Listener::Listen(Alarm* alarm) {
  if (wakeup_ != nullptr) {
    MutexLock lock(wakeup_->mutex_);
    wakeup_->alarm_ = alarm;
  }
}

}  // namespace podgpu
