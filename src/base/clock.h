// Time, as the program sees it: one of the five seams to the outside world.
//
// Everything that waits or takes a time stamp does so through a Clock that main.cc hands in, so
// that tests run on a virtual clock (testing/manual_clock.h) without sleeping.  Calling now()
// anywhere else fails tools/tidy.  A Clock outlives all that borrow it and may be used from any
// thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <stop_token>

namespace podgpu {

// A point on a clock that never jumps.  Comparable only within one process.
using Instant = std::chrono::steady_clock::time_point;
using Duration = std::chrono::steady_clock::duration;

// A point in civil time with the resolution of the vendor's time stamps: microseconds since 1970.
using WallTime = std::chrono::time_point<std::chrono::system_clock, std::chrono::microseconds>;

class Wakeup;

class Clock {
 public:
  Clock() = default;
  Clock(const Clock&) = delete;
  Clock& operator=(const Clock&) = delete;
  virtual ~Clock() = default;

  virtual Instant Now() const = 0;
  virtual WallTime WallNow() const = 0;

  // Waits until `deadline` has come or `wakeup`, if there is one, is nudged (both return true), or
  // `stop` is requested (returns false).  Allocates nothing.
  bool WaitUntil(Instant deadline, const std::stop_token& stop, Wakeup* wakeup = nullptr) {
    return Wait(deadline, stop, wakeup);
  }

 private:
  virtual bool Wait(Instant deadline, const std::stop_token& stop, Wakeup* wakeup) = 0;
};

// The clock of the machine.
class SystemClock final : public Clock {
 public:
  Instant Now() const override;
  WallTime WallNow() const override;

 private:
  bool Wait(Instant deadline, const std::stop_token& stop, Wakeup* wakeup) override;
};

// Microseconds since 1970, as the vendor libraries count them.
constexpr int64_t ToMicroseconds(WallTime time) { return time.time_since_epoch().count(); }

}  // namespace podgpu
