#include "exporter/call_guard.h"

#include <atomic>
#include <functional>
#include <future>
#include <optional>
#include <thread>
#include <vector>

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

// A clock on which waiting takes no time: each wait moves the time to its deadline, in steps of a
// second, and the test acts at each step.  A thread's body can so run on the test's own thread.
class SteppedClock final : public Clock {
 public:
  Instant Now() const override { return now_; }
  WallTime WallNow() const override { return {}; }

  std::function<void(int64_t second)> at_second = [](int64_t /*second*/) {};
  std::vector<int64_t> waited_until_s;

 private:
  bool Wait(Instant deadline, const std::stop_token& stop, Wakeup* wakeup) override {
    waited_until_s.push_back(std::chrono::duration_cast<seconds>(deadline - Instant{}).count());
    while (now_ < deadline && !stop.stop_requested() && !wakeup->is_nudged()) {
      now_ += seconds(1);
      at_second(std::chrono::duration_cast<seconds>(now_ - Instant{}).count());
    }
    return !stop.stop_requested();
  }

  Instant now_{};
};

TEST(CallGuard, ItsWatchdogSleepsForAWholeDeadlineWhileCallsReturn) {
  SteppedClock clock;
  CallGuard guard(clock, seconds(10));
  SlowSource source;
  std::stop_source stop;
  clock.at_second = [&](int64_t second) {
    { const CallGuard::Scope scope(guard, &source, SourceCall::kRead); }
    if (second == 35) {
      stop.request_stop();
    }
  };
  guard.Watch(stop.get_token());
  EXPECT_EQ(clock.waited_until_s, (std::vector<int64_t>{10, 20, 30, 40}));
  EXPECT_EQ(source.interrupts, 0);
}

TEST(CallGuard, ItsWatchdogWakesOncePerCallWhereCallsAreRare) {
  SteppedClock clock;
  CallGuard guard(clock, seconds(8), seconds(30));
  SlowSource source;
  std::stop_source stop;
  clock.at_second = [&](int64_t second) {
    if (second % 30 == 29) {
      const CallGuard::Scope scope(guard, &source, SourceCall::kRead);
    }
    if (second == 150) {
      stop.request_stop();
    }
  };
  guard.Watch(stop.get_token());
  EXPECT_EQ(clock.waited_until_s, (std::vector<int64_t>{36, 65, 95, 125, 155}));
}

TEST(CallGuard, ItsWatchdogInterruptsAtTheDeadlineWheneverTheCallBegan) {
  for (int64_t begins_at = 1; begins_at <= 90; ++begins_at) {
    SteppedClock clock;
    CallGuard guard(clock, seconds(10), seconds(begins_at % 2 == 0 ? 1 : 60));
    SlowSource source;
    std::stop_source stop;
    std::optional<CallGuard::Scope> scope;
    int64_t now = 0;
    std::vector<int64_t> interrupted_at;
    source.on_interrupt = [&] { interrupted_at.push_back(now); };
    clock.at_second = [&](int64_t second) {
      now = second;
      if (second == begins_at) {
        scope.emplace(guard, &source, SourceCall::kRead);
      }
      if (second == begins_at + 25) {
        stop.request_stop();
      }
    };
    guard.Watch(stop.get_token());
    EXPECT_EQ(interrupted_at, (std::vector{begins_at + 10, begins_at + 20})) << begins_at;
  }
}

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
  watchdog.Start([&](const std::stop_token& stop) { guard.Watch(stop); });
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
  watchdog.Start([&](const std::stop_token& stop) { guard.Watch(stop, &other); });
  clock.AwaitSleepers(1);
  clock.Advance(seconds(11));
  interrupted.get_future().wait();
  EXPECT_EQ(other.interrupts(), 1U);
  EXPECT_EQ(guard.interrupts(), 0U);
}

}  // namespace
}  // namespace podgpu
