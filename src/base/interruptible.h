// An object whose blocked call another thread can interrupt.
//
// For watchdogs (exporter/call_guard.h): one thread makes the call, the watchdog thread interrupts
// it. Each implementation documents the result of an interrupted call.
#pragma once

namespace podgpu {

class Interruptible {
 public:
  Interruptible() = default;
  Interruptible(const Interruptible&) = delete;
  Interruptible& operator=(const Interruptible&) = delete;
  virtual ~Interruptible() = default;

  // Called on another thread while a call hangs. Makes the call return if that is possible, or
  // writes off its thread (foreign_calls.h). Returns at once.
  virtual void Interrupt() noexcept = 0;
};

}  // namespace podgpu
