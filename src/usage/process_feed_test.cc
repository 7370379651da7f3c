#include "usage/process_feed.h"

#include <gtest/gtest.h>

namespace podgpu {
namespace {

using Readings = std::vector<std::unique_ptr<ProcessReading>>;

TEST(ProcessFeed, HandsEachReadingOverOnceAndInOrder) {
  ProcessFeed feed;
  for (const int second : {1, 2, 3}) {
    std::unique_ptr<ProcessReading> reading = feed.Begin();
    reading->at = Instant(std::chrono::seconds(second));
    feed.Add(std::move(reading));
  }
  Readings taken;
  feed.Take(taken);
  ASSERT_EQ(taken.size(), 3U);
  EXPECT_EQ(taken[0]->at, Instant(std::chrono::seconds(1)));
  EXPECT_EQ(taken[2]->at, Instant(std::chrono::seconds(3)));
  Readings more;
  feed.Take(more);
  EXPECT_TRUE(more.empty());
}

TEST(ProcessFeed, UsesTheMemoryOfReadingsAgain) {
  ProcessFeed feed;
  std::unique_ptr<ProcessReading> reading = feed.Begin();
  const ProcessReading* const first = reading.get();
  feed.Add(std::move(reading));
  Readings taken;
  feed.Take(taken);
  EXPECT_NE(feed.Begin().get(), first) << "it is being read";
  feed.GiveBack(taken);
  EXPECT_TRUE(taken.empty());
  EXPECT_EQ(feed.Begin().get(), first);
}

TEST(ProcessFeed, TakesNoMoreThanItsMeasure) {
  ProcessFeed feed;
  for (size_t i = 0; i < ProcessFeed::kMostWaiting; ++i) {
    feed.Add(feed.Begin());
  }
  EXPECT_EQ(feed.Begin(), nullptr);
  Readings taken;
  feed.Take(taken);
  EXPECT_EQ(taken.size(), ProcessFeed::kMostWaiting);
  EXPECT_NE(feed.Begin(), nullptr);
}

TEST(ProcessFeed, SaysFromTheBeginningThatNothingIsKnown) {
  ProcessFeed feed;
  EXPECT_EQ(feed.facts().Get()->state, PartState::kStarting);
}

}  // namespace
}  // namespace podgpu
