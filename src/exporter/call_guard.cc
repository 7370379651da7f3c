#include "exporter/call_guard.h"

#include <algorithm>

namespace podgpu {

CallGuard::Scope::Scope(CallGuard& guard, Interruptible* source, SourceCall call) : guard_(guard) {
  {
    MutexLock lock(guard_.source_mutex_);
    guard_.source_ = source;
  }
  MutexLock lock(guard_.mutex_);
  guard_.call_ = call;
  guard_.is_interruptible_ = source != nullptr;
  guard_.begun_ = guard_.clock_.Now();
  guard_.next_interrupt_ = guard_.begun_ + guard_.deadline_;
  guard_.was_interrupted_ = false;
}

CallGuard::Scope::~Scope() {
  {
    MutexLock lock(guard_.mutex_);
    const std::chrono::duration<double> took = guard_.clock_.Now() - guard_.begun_;
    if (guard_.call_) {
      guard_.last_seconds_[static_cast<size_t>(*guard_.call_)] = took.count();
    }
    guard_.call_.reset();
  }
  MutexLock lock(guard_.source_mutex_);
  guard_.source_ = nullptr;
}

std::optional<RunningCall> CallGuard::Current() const {
  MutexLock lock(mutex_);
  if (!call_) {
    return std::nullopt;
  }
  const Duration elapsed = clock_.Now() - begun_;
  return RunningCall{*call_, elapsed, elapsed >= deadline_};
}

std::array<std::optional<double>, kSourceCallCount> CallGuard::LastSeconds() const {
  MutexLock lock(mutex_);
  return last_seconds_;
}

uint64_t CallGuard::interrupts() const {
  MutexLock lock(mutex_);
  return interrupts_;
}

void CallGuard::Watch(const std::stop_token& stop, CallGuard* other) {
  Instant next{};
  do {
    InterruptIf(true);
    next = NextCheck();
    if (other != nullptr) {
      other->InterruptIf(true);
      next = std::min(next, other->NextCheck());
    }
  } while (clock_.WaitUntil(next, stop));
}

Instant CallGuard::NextCheck() const {
  MutexLock lock(mutex_);
  return call_ && is_interruptible_ && !is_interrupting_ ? next_interrupt_
                                                         : clock_.Now() + deadline_;
}

void CallGuard::InterruptNow() { InterruptIf(false); }

bool CallGuard::BeginInterrupt(bool past_deadline_only) {
  MutexLock lock(mutex_);
  const Instant now = clock_.Now();
  if (!call_ || !is_interruptible_ || is_interrupting_ ||
      (past_deadline_only && now < next_interrupt_)) {
    return false;
  }
  next_interrupt_ = now + deadline_;
  interrupts_ += was_interrupted_ ? 0 : 1;
  was_interrupted_ = true;
  is_interrupting_ = true;
  return true;
}

void CallGuard::InterruptIf(bool past_deadline_only) {
  if (!BeginInterrupt(past_deadline_only)) {
    return;
  }
  {
    MutexLock lock(source_mutex_);
    if (source_ != nullptr) {
      source_->Interrupt();
    }
  }
  MutexLock lock(mutex_);
  is_interrupting_ = false;
}

}  // namespace podgpu
