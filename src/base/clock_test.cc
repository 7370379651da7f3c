#include "base/clock.h"

#include <atomic>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "base/published.h"
#include "base/testing/allocations.h"
#include "base/testing/manual_clock.h"
#include "base/wakeup.h"
#include "base/worker.h"

namespace podgpu {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(SystemClock, ReturnsAtOnceFromADeadlineInThePast) {
  SystemClock clock;
  EXPECT_TRUE(clock.WaitUntil(clock.Now() - seconds(1), {}));
}

TEST(SystemClock, StopEndsAWait) {
  SystemClock clock;
  std::stop_source stop;
  std::jthread stopper([&] { stop.request_stop(); });
  EXPECT_FALSE(clock.WaitUntil(clock.Now() + hours(1), stop.get_token()));
}

TEST(SystemClock, ReturnsCivilTimeInMicroseconds) {
  EXPECT_GT(ToMicroseconds(SystemClock().WallNow()), int64_t{1'600'000'000} * 1'000'000);
}

TEST(ManualClock, MovesOnlyWhenAdvanced) {
  ManualClock clock;
  const Instant start = clock.Now();
  const WallTime wall = clock.WallNow();
  clock.Advance(milliseconds(1500));
  EXPECT_EQ(clock.Now() - start, milliseconds(1500));
  EXPECT_EQ(clock.WallNow() - wall, milliseconds(1500));
}

TEST(ManualClock, WakesASleeperWhenItsDeadlineHasCome) {
  ManualClock clock;
  std::atomic<bool> woken = false;
  std::jthread sleeper([&] {
    EXPECT_TRUE(clock.WaitUntil(clock.Now() + seconds(10), {}));
    woken = true;
  });
  clock.AwaitSleepers(1);
  clock.Advance(seconds(9));
  EXPECT_FALSE(woken);
  clock.Advance(seconds(1));
  sleeper.join();
  EXPECT_TRUE(woken);
}

TEST(ManualClock, StopEndsAWait) {
  ManualClock clock;
  std::jthread sleeper([&](const std::stop_token& stop) {
    EXPECT_FALSE(clock.WaitUntil(clock.Now() + hours(1), stop));
  });
  clock.AwaitSleepers(1);
  sleeper.request_stop();
}

TEST(Wakeup, ANudgeEndsTheSleep) {
  ManualClock clock;
  Wakeup wakeup;
  std::jthread sleeper([&] { EXPECT_TRUE(wakeup.SleepUntil(clock, clock.Now() + hours(1), {})); });
  clock.AwaitSleepers(1);
  wakeup.Nudge();
}

TEST(Wakeup, ANudgeBeforeTheSleepIsNotLost) {
  ManualClock clock;
  Wakeup wakeup;
  wakeup.Nudge();
  EXPECT_TRUE(wakeup.SleepUntil(clock, clock.Now() + hours(1), {}));
}

TEST(Wakeup, SleepsAgainAfterANudge) {
  ManualClock clock;
  Wakeup wakeup;
  wakeup.Nudge();
  wakeup.SleepUntil(clock, clock.Now() + hours(1), {});
  std::atomic<bool> woken = false;
  std::jthread sleeper([&] {
    EXPECT_TRUE(wakeup.SleepUntil(clock, clock.Now() + seconds(5), {}));
    woken = true;
  });
  clock.AwaitSleepers(1);
  EXPECT_FALSE(woken);
  clock.Advance(seconds(5));
  sleeper.join();
  EXPECT_TRUE(woken);
}

TEST(Wakeup, AStopEndsTheSleepAndReturnsFalse) {
  ManualClock clock;
  Wakeup wakeup;
  std::jthread sleeper([&](const std::stop_token& stop) {
    EXPECT_FALSE(wakeup.SleepUntil(clock, clock.Now() + hours(1), stop));
  });
  clock.AwaitSleepers(1);
  sleeper.request_stop();
}

TEST(Wakeup, ANudgeEndsASleepOnTheRealClock) {
  SystemClock clock;
  Wakeup wakeup;
  std::jthread nudger([&] { wakeup.Nudge(); });
  EXPECT_TRUE(wakeup.SleepUntil(clock, clock.Now() + hours(1), {}));
}

TEST(Wakeup, EveryNudgeOfManyThreadsIsSeen) {
  constexpr int kNudges = 1'000;
  SystemClock clock;
  Wakeup wakeup;
  std::atomic<int> published = 0;
  std::vector<std::jthread> nudgers;
  for (int i = 0; i < 2; ++i) {
    nudgers.emplace_back([&] {
      for (int nudge = 0; nudge < kNudges; ++nudge) {
        ++published;
        wakeup.Nudge();
      }
    });
  }
  while (published.load() < 2 * kNudges) {
    ASSERT_TRUE(wakeup.SleepUntil(clock, clock.Now() + hours(1), {}));
  }
}

TEST(Wakeup, SleepsAndNudgesAllocateNothing) {
  SystemClock clock;
  Wakeup wakeup;
  const std::stop_source stop;
  const Allocations before = AllocationsOfThisThread();
  for (int i = 0; i < 10; ++i) {
    wakeup.Nudge();
    EXPECT_TRUE(wakeup.SleepUntil(clock, clock.Now() + hours(1), stop.get_token()));
    EXPECT_TRUE(clock.WaitUntil(clock.Now(), stop.get_token()));
  }
  EXPECT_EQ((AllocationsOfThisThread() - before).count, 0U);
}

TEST(Worker, JoinsAnEndedThreadAndTimesOutOnARunningOne) {
  ManualClock clock;
  Worker worker;
  EXPECT_TRUE(worker.JoinWithin(milliseconds(0))) << "nothing was started";
  worker.Start([&](const std::stop_token&) { clock.WaitUntil(clock.Now() + seconds(1), {}); });
  worker.RequestStop();
  EXPECT_FALSE(worker.JoinWithin(milliseconds(0)));
  clock.AwaitSleepers(1);
  clock.Advance(seconds(1));
  EXPECT_TRUE(worker.JoinWithin(hours(1)));
  EXPECT_TRUE(worker.JoinWithin(milliseconds(0)));
}

TEST(Published, HandsOutTheNewestValueToManyReaders) {
  Published<int> published;
  EXPECT_EQ(published.Get(), nullptr);
  std::jthread writer([&] {
    for (int i = 0; i <= 1000; ++i) {
      published.Set(std::make_shared<const int>(i));
    }
  });
  int last = 0;
  while (last < 1000) {
    if (const std::shared_ptr<const int> value = published.Get()) {
      EXPECT_GE(*value, last);
      last = *value;
    }
  }
}

}  // namespace
}  // namespace podgpu
