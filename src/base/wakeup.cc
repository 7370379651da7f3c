#include "base/wakeup.h"

namespace podgpu {

void Wakeup::Nudge() {
  std::stop_source current;
  {
    MutexLock lock(mutex_);
    current = nudge_;
  }
  current.request_stop();
}

bool Wakeup::SleepUntil(Clock& clock, Instant deadline, const std::stop_token& stop) {
  std::stop_source current;
  {
    MutexLock lock(mutex_);
    current = nudge_;
  }
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
