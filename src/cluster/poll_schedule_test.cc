#include "cluster/poll_schedule.h"

#include <algorithm>

#include <gtest/gtest.h>

namespace podgpu {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr PollPace kPace{.interval = seconds(10), .longest_wait = seconds(60), .at_once = 2};
constexpr Instant kStart{};

using Ids = std::vector<std::string>;

TEST(PollSchedule, AsksNewNodesAtOnceButNotTooManyTogether) {
  PollSchedule schedule(kPace, 1);
  EXPECT_EQ(schedule.next_due(), Instant::max());
  schedule.SetNodes(Ids{"a", "b", "c"}, kStart);
  EXPECT_EQ(schedule.next_due(), kStart);
  EXPECT_EQ(schedule.TakeDue(kStart), (Ids{"a", "b"}));
  EXPECT_EQ(schedule.next_due(), Instant::max()) << "no place is free";
  schedule.Succeeded("a", kStart);
  EXPECT_EQ(schedule.TakeDue(kStart), Ids{"c"});
  EXPECT_EQ(schedule.running(), 2U);
}

TEST(PollSchedule, AsksANodeOncePerIntervalAndALittleEarly) {
  PollSchedule schedule(kPace, 1);
  schedule.SetNodes(Ids{"a"}, kStart);
  Instant asked = kStart;
  for (int i = 0; i < 100; ++i) {
    ASSERT_EQ(schedule.TakeDue(asked), Ids{"a"});
    schedule.Succeeded("a", asked + seconds(3));
    EXPECT_GE(schedule.next_due(), asked + seconds(9));
    EXPECT_LE(schedule.next_due(), asked + seconds(10));
    EXPECT_TRUE(schedule.TakeDue(schedule.next_due() - milliseconds(1)).empty());
    asked = schedule.next_due();
  }
}

TEST(PollSchedule, WaitsLongerAfterEachFailure) {
  PollSchedule schedule(kPace, 1);
  schedule.SetNodes(Ids{"a"}, kStart);
  Instant now = kStart;
  for (const int longest_s : {10, 20, 40, 60, 60, 60}) {
    ASSERT_EQ(schedule.TakeDue(now), Ids{"a"});
    now += seconds(5);
    schedule.Failed("a", now);
    EXPECT_GE(schedule.next_due(), now + milliseconds(longest_s * 500)) << longest_s;
    EXPECT_LE(schedule.next_due(), now + seconds(longest_s)) << longest_s;
    now = schedule.next_due();
  }
  schedule.TakeDue(now);
  schedule.Succeeded("a", now);
  EXPECT_LE(schedule.next_due(), now + seconds(10)) << "it has the normal interval again";
  now = schedule.next_due();
  schedule.TakeDue(now);
  schedule.Failed("a", now);
  EXPECT_LE(schedule.next_due(), now + seconds(10)) << "its wait starts from the beginning again";
}

TEST(PollSchedule, SpreadsNodesThatStartedTogether) {
  PollSchedule schedule({.interval = seconds(10), .longest_wait = seconds(60), .at_once = 1000}, 1);
  Ids ids;
  for (int i = 0; i < 1000; ++i) {
    ids.push_back(std::to_string(i));
  }
  schedule.SetNodes(ids, kStart);
  size_t most = 0;
  for (const std::string& id : schedule.TakeDue(kStart)) {
    schedule.Succeeded(id, kStart);
  }
  for (Instant now = kStart + seconds(9); now <= kStart + seconds(10); now += milliseconds(100)) {
    most = std::max(most, schedule.TakeDue(now).size());
  }
  EXPECT_LT(most, 200U);
}

TEST(PollSchedule, ForgetsRemovedNodesAndKeepsTheCountOfRunningOnes) {
  PollSchedule schedule(kPace, 1);
  schedule.SetNodes(Ids{"a", "b"}, kStart);
  schedule.TakeDue(kStart);
  schedule.SetNodes(Ids{"b", "c"}, kStart);
  schedule.Failed("a", kStart);  // Its request was running when it left the list.
  EXPECT_EQ(schedule.running(), 1U);
  EXPECT_EQ(schedule.TakeDue(kStart), Ids{"c"});
  schedule.SetNodes({}, kStart);
  schedule.Succeeded("b", kStart);
  schedule.Succeeded("c", kStart);
  EXPECT_EQ(schedule.running(), 0U);
  EXPECT_EQ(schedule.next_due(), Instant::max());
}

}  // namespace
}  // namespace podgpu
