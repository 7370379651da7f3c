#include "base/wakeup.h"

namespace podgpu {

std::stop_source Wakeup::Current() {
  MutexLock lock(mutex_);
  return nudge_;
}

void Wakeup::Nudge() {
  std::stop_source current = Current();
  current.request_stop();
}

bool Wakeup::SleepUntil(Clock& clock, Instant deadline, const std::stop_token& stop) {
  std::stop_source current = Current();
  {
    const std::stop_callback forward(stop, [&current] { current.request_stop(); });
    clock.WaitUntil(deadline, current.get_token());
  }
  if (current.stop_requested()) {
    MutexLock lock(mutex_);
    nudge_ = std::stop_source();
  }
  return !stop.stop_requested();
}

}  // namespace podgpu
