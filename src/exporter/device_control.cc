#include "exporter/device_control.h"

#include <algorithm>

namespace podgpu {

void DeviceControl::ReleaseFor(Duration time) {
  {
    MutexLock lock(mutex_);
    released_until_ = clock_.Now() + time;
  }
  Nudge();
}

void DeviceControl::PauseProfilingFor(Duration time) {
  {
    MutexLock lock(mutex_);
    paused_until_ = clock_.Now() + time;
  }
  Nudge();
}

void DeviceControl::Nudge() {
  source_.Nudge();
  if (processes_ != nullptr) {
    processes_->Nudge();
  }
}

Duration DeviceControl::release_time_left() const {
  MutexLock lock(mutex_);
  return Left(released_until_);
}

Duration DeviceControl::profiling_paused_for() const {
  MutexLock lock(mutex_);
  return Left(paused_until_);
}

Duration DeviceControl::Left(Instant until) const {
  return std::max(until - clock_.Now(), Duration::zero());
}

}  // namespace podgpu
