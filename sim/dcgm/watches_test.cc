#include "sim/dcgm/watches.h"

#include <vector>

#include <gtest/gtest.h>

namespace podgpu::sim {
namespace {

constexpr Series::Owner kOne = {2, 4};
constexpr Series::Owner kOther = {3, 4};

WatchTerms Every(TimeUs period_us) {
  return {.period_us = period_us, .keep_age_us = 600 * kSecondUs, .keep_samples = 0};
}

std::vector<TimeUs> Times(const std::vector<SampleTime>& samples) {
  std::vector<TimeUs> times;
  for (const SampleTime& sample : samples) {
    times.push_back(sample.t);
  }
  return times;
}

TEST(Series, SampleTimesFollowFromStartAndPeriod) {
  Series series;
  series.Watch(kOne, Every(kSecondUs), 250);
  struct Row {
    TimeUs now, sample;
  };
  for (const Row& row :
       {Row{250, 250}, Row{251, 250}, Row{kSecondUs + 249, 250},
        Row{kSecondUs + 250, kSecondUs + 250}, Row{86'400 * kSecondUs, 86'399 * kSecondUs + 250}}) {
    ASSERT_TRUE(series.Latest(row.now).has_value()) << row.now;
    EXPECT_EQ(series.Latest(row.now)->t, row.sample) << row.now;
  }
}

TEST(Series, SampleTimesDoNotDependOnTheOrderOrNumberOfCalls) {
  Series asked_often;
  Series asked_once;
  asked_often.Watch(kOne, Every(kSecondUs), 0);
  asked_once.Watch(kOne, Every(kSecondUs), 0);
  for (TimeUs t = 100 * kSecondUs; t > 0; t -= 333) {
    asked_often.Latest(t);
  }
  EXPECT_EQ(asked_often.Latest(7 * kSecondUs + 5)->t, asked_once.Latest(7 * kSecondUs + 5)->t);
}

TEST(Series, OnlyTheFirstSampleOfAWatchHasNoPreviousOne) {
  Series series;
  series.Watch(kOne, Every(kSecondUs), 0);
  EXPECT_FALSE(series.Latest(kSecondUs - 1)->previous.has_value());
  EXPECT_EQ(series.Latest(kSecondUs)->previous, 0);
  EXPECT_EQ(series.Latest(5 * kSecondUs)->previous, 4 * kSecondUs);
}

TEST(Series, TheShortestPeriodOfSeveralWatchesAppliesFromTheLastSample) {
  Series series;
  series.Watch(kOne, Every(10 * kSecondUs), 0);
  series.Watch(kOther, Every(kSecondUs), 12 * kSecondUs + 5);
  // 10 s was the last sample of the slow watch; for the fast watch it is one period old.
  EXPECT_EQ(series.Latest(12 * kSecondUs + 5)->t, 12 * kSecondUs + 5);
  EXPECT_EQ(series.Latest(12 * kSecondUs + 5)->previous, 10 * kSecondUs);
  EXPECT_EQ(series.Latest(14 * kSecondUs)->t, 13 * kSecondUs + 5);
  series.Unwatch(kOther, 14 * kSecondUs);
  EXPECT_EQ(series.Latest(23 * kSecondUs)->t, 13 * kSecondUs + 5);
  EXPECT_EQ(series.Latest(24 * kSecondUs)->t, 23 * kSecondUs + 5);
}

TEST(Series, ASecondWatchOfTheSamePeriodKeepsTheRhythm) {
  Series series;
  series.Watch(kOne, Every(kSecondUs), 100);
  series.Watch(kOther, Every(kSecondUs), 300'000);
  EXPECT_EQ(series.Latest(900'000)->t, 100);
  EXPECT_EQ(series.Latest(2 * kSecondUs + 99)->t, kSecondUs + 100);
  series.Unwatch(kOne, 2 * kSecondUs);
  EXPECT_EQ(series.Latest(2 * kSecondUs + 100)->t, 2 * kSecondUs + 100);
}

TEST(Series, TheLastSampleStaysAfterTheLastWatchEnds) {
  Series series;
  series.Watch(kOne, Every(kSecondUs), 0);
  series.Unwatch(kOne, 2 * kSecondUs + 1);
  series.Unwatch(kOne, 3 * kSecondUs);
  EXPECT_FALSE(series.watched());
  EXPECT_EQ(series.Latest(100 * kSecondUs)->t, 2 * kSecondUs);
}

TEST(Series, WatchingAgainSamplesAtOnceAndTakesItsFirstRateFromAKeptSample) {
  Series series;
  series.Watch(kOne, Every(kSecondUs), 0);
  series.UnwatchGroup(kOne.first, 2 * kSecondUs);
  series.Watch(kOne, Every(kSecondUs), 2 * kSecondUs + 7);
  EXPECT_EQ(series.Latest(2 * kSecondUs + 7)->t, 2 * kSecondUs + 7);
  EXPECT_EQ(series.Latest(2 * kSecondUs + 7)->previous, kSecondUs)
      << "the sample 7 us ago is too recent";
  EXPECT_EQ(series.Latest(3 * kSecondUs + 7)->previous, 2 * kSecondUs + 7);
}

TEST(Series, AWatchAfterTheKeptSamplesExpiredHasNoFirstRate) {
  Series series;
  series.Watch(kOne, Every(kSecondUs), 0);
  series.Unwatch(kOne, 2 * kSecondUs);
  series.Watch(kOne, Every(kSecondUs), 603 * kSecondUs);
  EXPECT_FALSE(series.Latest(603 * kSecondUs)->previous.has_value());
}

TEST(Series, SinceListsKeptSamplesAscending) {
  Series series;
  series.Watch(kOne, {.period_us = kSecondUs, .keep_age_us = 3 * kSecondUs, .keep_samples = 0}, 0);
  EXPECT_EQ(Times(series.Since(0, 2 * kSecondUs)),
            (std::vector<TimeUs>{0, kSecondUs, 2 * kSecondUs}));
  EXPECT_EQ(Times(series.Since(kSecondUs + 1, 2 * kSecondUs)),
            (std::vector<TimeUs>{2 * kSecondUs}));
  // At 10 s the samples before 7 s are older than the age.
  EXPECT_EQ(Times(series.Since(0, 10 * kSecondUs)),
            (std::vector<TimeUs>{7 * kSecondUs, 8 * kSecondUs, 9 * kSecondUs, 10 * kSecondUs}));
  EXPECT_TRUE(series.Since(11 * kSecondUs, 10 * kSecondUs).empty());
}

TEST(Series, SinceIsLimitedByTheNumberOfSamples) {
  Series series;
  series.Watch(kOne, {.period_us = kSecondUs, .keep_age_us = 60 * kSecondUs, .keep_samples = 2}, 0);
  EXPECT_EQ(Times(series.Since(0, 10 * kSecondUs)),
            (std::vector<TimeUs>{9 * kSecondUs, 10 * kSecondUs}));
}

TEST(Series, SinceCrossesAChangeOfPeriod) {
  Series series;
  series.Watch(kOne, Every(2 * kSecondUs), 0);
  series.Watch(kOther, Every(kSecondUs), 2 * kSecondUs);
  const std::vector<SampleTime> samples = series.Since(0, 4 * kSecondUs);
  EXPECT_EQ(Times(samples), (std::vector<TimeUs>{0, 2 * kSecondUs, 3 * kSecondUs, 4 * kSecondUs}));
  EXPECT_EQ(samples[2].previous, 2 * kSecondUs);
}

TEST(Watches, UnwatchEndsOnlyTheOwnersWatches) {
  const Watches::Key first = {{1, 0}, 150};
  const Watches::Key second = {{1, 1}, 150};
  Watches watches;
  watches.Watch(first, kOne, Every(kSecondUs), 0);
  watches.Watch(second, kOther, Every(kSecondUs), 0);
  watches.Unwatch(kOne, kSecondUs);
  EXPECT_EQ(watches.Find(first)->Latest(9 * kSecondUs)->t, kSecondUs);
  EXPECT_EQ(watches.Find(second)->Latest(9 * kSecondUs)->t, 9 * kSecondUs);
  watches.UnwatchGroup(kOther.first, 9 * kSecondUs);
  EXPECT_EQ(watches.Find(second)->Latest(20 * kSecondUs)->t, 9 * kSecondUs);
}

}  // namespace
}  // namespace podgpu::sim
