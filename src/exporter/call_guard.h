// Watches the calls into the vendor library from outside, since any of them may never return.
//
// The source thread enters a Scope around each call; the watchdog thread looks at it and, each time
// that the deadline has passed again, calls its Interrupt, which frees a hung remote call at
// once.  A call of an embedded engine that hangs in the kernel cannot be freed: it stays visible
// here as running, and what it fed ages away (tick.h).  The guard also remembers how long each kind
// of call took last.  Current and LastSeconds never wait for an Interrupt.  Outlives both threads.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>

#include "base/clock.h"
#include "base/interruptible.h"
#include "base/mutex.h"
#include "facts/thread_facts.h"

namespace podgpu {

class CallGuard {
 public:
  // `deadline`: how long a call may take before it is interrupted.
  CallGuard(Clock& clock, Duration deadline) : clock_(clock), deadline_(deadline) {}

  // Marks the calling thread as inside `call` of `source` (null while it is being opened) until it
  // goes.
  class Scope {
   public:
    Scope(CallGuard& guard, Interruptible* source, SourceCall call);
    ~Scope();
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    CallGuard& guard_;
  };

  // The call that is running now, if there is one.
  std::optional<RunningCall> Current() const;

  // Seconds that the last finished call of each kind took; nothing where there was none.
  std::array<std::optional<double>, kSourceCallCount> LastSeconds() const;

  // Calls interrupted since the start.
  uint64_t interrupts() const;

  // The watchdog's body: looks every `pace` until `stop`, at `other` too.
  void Watch(Duration pace, const std::stop_token& stop, CallGuard* other = nullptr);

  // Interrupts the running call, if there is one, whatever its age: for shutdown.
  void InterruptNow();

 private:
  // Whether an interrupt is due, which is then noted as begun.
  bool BeginInterrupt(bool past_deadline_only);
  void InterruptIf(bool past_deadline_only);

  Clock& clock_;
  const Duration deadline_;
  Mutex source_mutex_;  // Held during Interrupt, so that it cannot end under it.
  Interruptible* source_ PODGPU_GUARDED_BY(source_mutex_) = nullptr;
  mutable Mutex mutex_;  // Apart, since Interrupt may itself be slow.
  std::optional<SourceCall> call_ PODGPU_GUARDED_BY(mutex_);
  Instant begun_ PODGPU_GUARDED_BY(mutex_){};
  Instant next_interrupt_ PODGPU_GUARDED_BY(mutex_){};
  bool is_interruptible_ PODGPU_GUARDED_BY(mutex_) = false;  // There is a source already.
  bool is_interrupting_ PODGPU_GUARDED_BY(mutex_) = false;
  bool was_interrupted_ PODGPU_GUARDED_BY(mutex_) = false;
  uint64_t interrupts_ PODGPU_GUARDED_BY(mutex_) = 0;
  std::array<std::optional<double>, kSourceCallCount> last_seconds_ PODGPU_GUARDED_BY(mutex_);
};

}  // namespace podgpu
