#include "base/wakeup.h"

namespace podgpu {

void Wakeup::Nudge() {
  is_nudged_.store(true);
  alarm_.Ring();
  MutexLock lock(mutex_);
  if (listening_ != nullptr) {
    listening_->Ring();
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
    wakeup_->listening_ = alarm;
  }
}

}  // namespace podgpu
