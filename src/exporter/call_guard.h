// Watches the calls into the vendor library from another thread, since any of them may hang.
//
// The source thread enters a Scope around each call.  The watchdog thread sleeps until the deadline
// of the running call, or, while no call runs, until that of the next one, which begins a pace
// later than the last one; a call that begins earlier wakes it.  At the deadline, and each time
// it has passed again, it calls the source's Interrupt; this ends a hung remote call at once. A
// call of an embedded engine that hangs in the kernel cannot be ended: the guard goes on showing it
// as running, and the tick withdraws the device values as they become too old (tick.h).  The guard
// also remembers how long the last call of each kind took.  Current and LastSeconds never wait for
// an Interrupt.  Outlives both threads.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>

#include "base/clock.h"
#include "base/interruptible.h"
#include "base/mutex.h"
#include "base/wakeup.h"
#include "facts/thread_facts.h"

namespace podgpu {

class CallGuard {
 public:
  // `deadline`: how long a call may take before it is interrupted.  `pace`: the usual time from the
  // begin of a call to the next.
  CallGuard(Clock& clock, Duration deadline, Duration pace = Duration::zero())
      : clock_(clock), deadline_(deadline), pace_(pace) {}

  // Marks the calling thread as inside `call` of `source` (null while the library is being opened)
  // until the Scope is destroyed.
  class Scope {
   public:
    Scope(CallGuard& guard, Interruptible* source, SourceCall call);
    ~Scope();
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    CallGuard& guard_;
  };

  // Returns the call that is running now, if there is one.
  std::optional<RunningCall> Current() const;

  // Returns the seconds that the last finished call of each kind took; nothing before the first.
  std::array<std::optional<double>, kSourceCallCount> LastSeconds() const;

  // Number of calls interrupted since the start.
  uint64_t interrupts() const;

  // The body of the watchdog thread: interrupts calls of this guard and of `other` (null: none) at
  // their deadlines until `stop`.
  void Watch(const std::stop_token& stop, CallGuard* other = nullptr);

  // Interrupts the running call, if there is one, before its deadline too: for shutdown.
  void InterruptNow();

 private:
  // Returns whether an interrupt is due, and if so marks it as begun.
  bool BeginInterrupt(bool past_deadline_only);
  void InterruptIf(bool past_deadline_only);
  // Returns the time at which an interrupt of this call is due, or normally of the next one.
  Instant NextCheck() const;
  // Notes that the watchdog sleeps on `watchdog` until `next`; null: there is none.
  void SleepsUntil(Instant next, Wakeup* watchdog);
  // Wakes the watchdog if it would sleep past the deadline of the running call.
  void WakeWatchdog() PODGPU_REQUIRES(mutex_);

  Clock& clock_;
  const Duration deadline_;
  const Duration pace_;
  Mutex source_mutex_;  // Held during Interrupt, so the source cannot be destroyed meanwhile.
  Interruptible* source_ PODGPU_GUARDED_BY(source_mutex_) = nullptr;
  mutable Mutex mutex_;  // A second mutex, since Interrupt may be slow.
  std::optional<SourceCall> call_ PODGPU_GUARDED_BY(mutex_);
  Instant begun_ PODGPU_GUARDED_BY(mutex_){};
  Instant next_interrupt_ PODGPU_GUARDED_BY(mutex_){};
  bool is_interruptible_ PODGPU_GUARDED_BY(mutex_) = false;  // The source is open.
  bool is_interrupting_ PODGPU_GUARDED_BY(mutex_) = false;
  bool was_interrupted_ PODGPU_GUARDED_BY(mutex_) = false;
  uint64_t interrupts_ PODGPU_GUARDED_BY(mutex_) = 0;
  Wakeup* watchdog_ PODGPU_GUARDED_BY(mutex_) = nullptr;
  Instant sleeps_until_ PODGPU_GUARDED_BY(mutex_){};
  std::array<std::optional<double>, kSourceCallCount> last_seconds_ PODGPU_GUARDED_BY(mutex_);
};

}  // namespace podgpu
