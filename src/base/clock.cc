#include "base/clock.h"

#include "base/wakeup.h"

namespace podgpu {

Instant SystemClock::Now() const { return std::chrono::steady_clock::now(); }

WallTime SystemClock::WallNow() const {
  return std::chrono::time_point_cast<std::chrono::microseconds>(std::chrono::system_clock::now());
}

bool SystemClock::Wait(Instant deadline, const std::stop_token& stop, Wakeup* wakeup) {
  Alarm without_wakeup;
  Alarm& alarm = wakeup != nullptr ? wakeup->alarm() : without_wakeup;
  const std::stop_callback on_stop(stop, [&alarm] { alarm.Ring(); });
  std::unique_lock lock(alarm.mutex);
  alarm.rung.wait_until(lock, deadline, [&] {
    return stop.stop_requested() || (wakeup != nullptr && wakeup->is_nudged());
  });
  return !stop.stop_requested();
}

}  // namespace podgpu
