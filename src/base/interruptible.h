// Whatever can be freed from a call that does not return.
//
// For watchdogs (exporter/call_guard.h): one thread calls, another interrupts.  Who implements it
// says what becomes of the call.
#pragma once

namespace podgpu {

class Interruptible {
 public:
  Interruptible() = default;
  Interruptible(const Interruptible&) = delete;
  Interruptible& operator=(const Interruptible&) = delete;
  virtual ~Interruptible() = default;

  // From another thread, while a call hangs: makes it return if that can be done, or if its thread
  // can be written off (foreign_calls.h).  Returns at once.
  virtual void Interrupt() noexcept = 0;
};

}  // namespace podgpu
