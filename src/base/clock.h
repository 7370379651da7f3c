// The program's source of time: one of the five seams to the outside world.
//
// Code that waits or takes a time stamp uses the Clock that main.cc hands in. Tests hand in a
// virtual clock (testing/manual_clock.h) and need no sleep. tools/tidy refuses a call of now()
// anywhere else. A Clock outlives every object that borrows it. Any thread may use it.
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

  // Waits until `deadline`, or until another thread nudges `wakeup` (null: none); both return true.
  // Returns false when `stop` is requested. Allocates nothing.
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
