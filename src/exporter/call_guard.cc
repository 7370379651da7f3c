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
  guard_.WakeWatchdog();
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
  const std::array<CallGuard*, 2> guards = {this, other};
  const auto each = [&](const auto& visit) {
    std::ranges::for_each(guards.begin(), guards.end() - (other == nullptr ? 1 : 0), visit);
  };
  Wakeup early;
  Instant next{};
  do {
    next = Instant::max();
    each([&](CallGuard* guard) {
      guard->InterruptIf(true);
      next = std::min(next, guard->NextCheck());
    });
    each([&](CallGuard* guard) { guard->SleepsUntil(next, &early); });
  } while (early.SleepUntil(clock_, next, stop));
  each([](CallGuard* guard) { guard->SleepsUntil({}, nullptr); });
}

Instant CallGuard::NextCheck() const {
  MutexLock lock(mutex_);
  if (call_ && is_interruptible_ && !is_interrupting_) {
    return next_interrupt_;
  }
  // A little earlier, since the next call does not begin exactly one pace later.
  const Instant next_call = begun_ + pace_ - deadline_ / 4;
  return std::max(clock_.Now(), next_call) + deadline_;
}

void CallGuard::SleepsUntil(Instant next, Wakeup* watchdog) {
  MutexLock lock(mutex_);
  watchdog_ = watchdog;
  sleeps_until_ = next;
  WakeWatchdog();  // A call may have begun since NextCheck.
}

void CallGuard::WakeWatchdog() {
  if (watchdog_ != nullptr && call_ && is_interruptible_ && !is_interrupting_ &&
      next_interrupt_ < sleeps_until_) {
    sleeps_until_ = next_interrupt_;
    watchdog_->Nudge();
  }
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
  WakeWatchdog();  // Another call may have begun meanwhile.
}

}  // namespace podgpu
