#include "usage/process_queue.h"

#include <gtest/gtest.h>

namespace podgpu {
namespace {

using Readings = std::vector<std::unique_ptr<ProcessReading>>;

TEST(ProcessQueue, DeliversEachReadingOnceAndInOrder) {
  ProcessQueue queue;
  for (const int second : {1, 2, 3}) {
    std::unique_ptr<ProcessReading> reading = queue.Begin();
    reading->at = Instant(std::chrono::seconds(second));
    queue.Add(std::move(reading));
  }
  Readings taken;
  queue.Take(taken);
  ASSERT_EQ(taken.size(), 3U);
  EXPECT_EQ(taken[0]->at, Instant(std::chrono::seconds(1)));
  EXPECT_EQ(taken[2]->at, Instant(std::chrono::seconds(3)));
  Readings more;
  queue.Take(more);
  EXPECT_TRUE(more.empty());
}

TEST(ProcessQueue, ReusesTheMemoryOfReadings) {
  ProcessQueue queue;
  std::unique_ptr<ProcessReading> reading = queue.Begin();
  const ProcessReading* const first = reading.get();
  queue.Add(std::move(reading));
  Readings taken;
  queue.Take(taken);
  EXPECT_NE(queue.Begin().get(), first) << "the tick still uses it";
  queue.GiveBack(taken);
  EXPECT_TRUE(taken.empty());
  EXPECT_EQ(queue.Begin().get(), first);
}

TEST(ProcessQueue, GivesNoReadingToFillWhenItIsFull) {
  ProcessQueue queue;
  for (size_t i = 0; i < ProcessQueue::kMostWaiting; ++i) {
    queue.Add(queue.Begin());
  }
  EXPECT_EQ(queue.Begin(), nullptr);
  Readings taken;
  queue.Take(taken);
  EXPECT_EQ(taken.size(), ProcessQueue::kMostWaiting);
  EXPECT_NE(queue.Begin(), nullptr);
}

TEST(ProcessQueue, IsInStateStartingAtFirst) {
  ProcessQueue queue;
  EXPECT_EQ(queue.facts().Get()->state, PartState::kStarting);
}

}  // namespace
}  // namespace podgpu
