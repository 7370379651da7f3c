#include "exporter/call_guard.h"

#include <atomic>
#include <functional>
#include <future>
#include <thread>

#include <gtest/gtest.h>

#include "base/testing/manual_clock.h"
#include "base/worker.h"

namespace podgpu {
namespace {

using std::chrono::seconds;

// A source that records interrupts and then calls a function of the test.
class SlowSource final : public Interruptible {
 public:
  void Interrupt() noexcept override {
    ++interrupts;
    on_interrupt();
  }

  std::atomic<int> interrupts = 0;
  std::function<void()> on_interrupt = [] {};
};

TEST(CallGuard, ShowsTheRunningCallWhileAnInterruptIsSlow) {
  ManualClock clock;
  CallGuard guard(clock, seconds(10));
  SlowSource source;
  std::promise<void> begun;
  std::promise<void> release;
  source.on_interrupt = [&] {
    begun.set_value();
    release.get_future().wait();
  };
  const CallGuard::Scope scope(guard, &source, SourceCall::kRead);
  clock.Advance(seconds(11));
  std::jthread watchdog([&] { guard.InterruptNow(); });
  begun.get_future().wait();
  ASSERT_TRUE(guard.Current()) << "the tick can make a page meanwhile";
  EXPECT_TRUE(guard.Current()->past_deadline);
  EXPECT_EQ(guard.interrupts(), 1U);
  guard.InterruptNow();
  EXPECT_EQ(source.interrupts, 1) << "a second interrupt would only wait for the first";
  release.set_value();
}

TEST(CallGuard, InterruptsAgainEachTimeTheDeadlineHasPassed) {
  ManualClock clock;
  CallGuard guard(clock, seconds(10));
  SlowSource source;
  Worker watchdog;
  const CallGuard::Scope scope(guard, &source, SourceCall::kDiscover);
  watchdog.Start([&](const std::stop_token& stop) { guard.Watch(seconds(1), stop); });
  const int interrupts_by_second[] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2};
  for (const int expected : interrupts_by_second) {
    clock.AwaitSleepers(1);
    clock.Advance(seconds(1));
    clock.AwaitSleepers(1);
    EXPECT_EQ(source.interrupts, expected);
  }
  EXPECT_EQ(guard.interrupts(), 1U) << "all interrupts ended the same call";
  watchdog.RequestStop();
  EXPECT_TRUE(watchdog.JoinWithin(std::chrono::hours(1)));
}

TEST(CallGuard, DoesNotInterruptTheOpeningOfALibrary) {
  ManualClock clock;
  CallGuard guard(clock, seconds(10));
  const CallGuard::Scope scope(guard, nullptr, SourceCall::kOpen);
  clock.Advance(seconds(11));
  guard.InterruptNow();
  EXPECT_EQ(guard.interrupts(), 0U);
  EXPECT_TRUE(guard.Current()->past_deadline);
}

TEST(CallGuard, RemembersHowLongEachKindOfCallTook) {
  ManualClock clock;
  CallGuard guard(clock, seconds(10));
  {
    const CallGuard::Scope scope(guard, nullptr, SourceCall::kOpen);
    clock.Advance(seconds(3));
  }
  EXPECT_FALSE(guard.Current());
  EXPECT_EQ(guard.LastSeconds()[0], 3.0);
  EXPECT_FALSE(guard.LastSeconds()[1]);
}

TEST(CallGuard, ItsWatchdogChecksASecondGuard) {
  ManualClock clock;
  CallGuard guard(clock, seconds(10));
  CallGuard other(clock, seconds(10));
  SlowSource source;
  std::promise<void> interrupted;
  source.on_interrupt = [&] { interrupted.set_value(); };
  const CallGuard::Scope scope(other, &source, SourceCall::kRead);
  Worker watchdog;
  watchdog.Start([&](const std::stop_token& stop) { guard.Watch(seconds(1), stop, &other); });
  clock.AwaitSleepers(1);
  clock.Advance(seconds(11));
  interrupted.get_future().wait();
  EXPECT_EQ(other.interrupts(), 1U);
  EXPECT_EQ(guard.interrupts(), 0U);
}

}  // namespace
}  // namespace podgpu
