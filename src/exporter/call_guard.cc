#include "exporter/call_guard.h"

namespace podgpu {

std::string_view SourceCallName(SourceCall call) {
  constexpr std::array<std::string_view, kSourceCallCount> kNames = {"open", "discover", "watch",
                                                                     "read"};
  return kNames[static_cast<size_t>(call)];
}

CallGuard::Scope::Scope(CallGuard& guard, Source* source, SourceCall call) : guard_(guard) {
  MutexLock lock(guard_.mutex_);
  guard_.source_ = source;
  guard_.call_ = call;
  guard_.begun_ = guard_.clock_.Now();
  guard_.interrupted_ = false;
}

CallGuard::Scope::~Scope() {
  MutexLock lock(guard_.mutex_);
  const std::chrono::duration<double> took = guard_.clock_.Now() - guard_.begun_;
  if (guard_.call_) {
    guard_.last_seconds_[static_cast<size_t>(*guard_.call_)] = took.count();
  }
  guard_.source_ = nullptr;
  guard_.call_.reset();
}

std::optional<CallGuard::Running> CallGuard::Current() const {
  MutexLock lock(mutex_);
  if (!call_) {
    return std::nullopt;
  }
  const Duration elapsed = clock_.Now() - begun_;
  return Running{*call_, elapsed, elapsed >= deadline_};
}

std::array<std::optional<double>, kSourceCallCount> CallGuard::LastSeconds() const {
  MutexLock lock(mutex_);
  return last_seconds_;
}

uint64_t CallGuard::interrupts() const {
  MutexLock lock(mutex_);
  return interrupts_;
}

void CallGuard::Watch(Duration pace, const std::stop_token& stop) {
  while (clock_.WaitUntil(clock_.Now() + pace, stop)) {
    InterruptIf(true);
  }
}

void CallGuard::InterruptNow() { InterruptIf(false); }

void CallGuard::InterruptIf(bool past_deadline_only) {
  MutexLock lock(mutex_);
  if (!call_ || source_ == nullptr || interrupted_) {
    return;
  }
  if (past_deadline_only && clock_.Now() - begun_ < deadline_) {
    return;
  }
  interrupted_ = true;
  ++interrupts_;
  source_->Interrupt();
}

}  // namespace podgpu
