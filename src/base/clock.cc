#include "base/clock.h"

#include <condition_variable>
#include <mutex>

namespace podgpu {

Instant SystemClock::Now() const { return std::chrono::steady_clock::now(); }

WallTime SystemClock::WallNow() const {
  return std::chrono::time_point_cast<std::chrono::microseconds>(std::chrono::system_clock::now());
}

bool SystemClock::WaitUntil(Instant deadline, const std::stop_token& stop) {
  // Private to the call: nobody else can notify it, so only the deadline or the stop ends the wait.
  std::mutex mutex;
  std::condition_variable_any condition;
  std::unique_lock<std::mutex> lock(mutex);
  condition.wait_until(lock, stop, deadline, [] { return false; });
  return !stop.stop_requested();
}

}  // namespace podgpu
