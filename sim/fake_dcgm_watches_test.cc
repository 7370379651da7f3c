#include "sim/fake_dcgm_watches.h"

#include <vector>

#include <gtest/gtest.h>

namespace podgpu::sim {
namespace {

constexpr Series::Owner kOne = {2, 4};
constexpr Series::Owner kOther = {3, 4};
constexpr TimeUs kSecond = 1'000'000;

WatchTerms Every(TimeUs period_us) {
  return {.period_us = period_us, .keep_age_us = 600 * kSecond, .keep_samples = 0};
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
  series.Watch(kOne, Every(kSecond), 250, false);
  struct Row {
    TimeUs now, sample;
  };
  for (const Row& row :
       {Row{250, 250}, Row{251, 250}, Row{kSecond + 249, 250}, Row{kSecond + 250, kSecond + 250},
        Row{86'400 * kSecond, 86'399 * kSecond + 250}}) {
    ASSERT_TRUE(series.Latest(row.now).has_value()) << row.now;
    EXPECT_EQ(series.Latest(row.now)->t, row.sample) << row.now;
  }
}

TEST(Series, TheAnswerDoesNotDependOnHowOftenOrInWhichOrderItIsAsked) {
  Series asked_often;
  Series asked_once;
  asked_often.Watch(kOne, Every(kSecond), 0, false);
  asked_once.Watch(kOne, Every(kSecond), 0, false);
  for (TimeUs t = 100 * kSecond; t > 0; t -= 333) {
    asked_often.Latest(t);
  }
  EXPECT_EQ(asked_often.Latest(7 * kSecond + 5)->t, asked_once.Latest(7 * kSecond + 5)->t);
}

TEST(Series, OnlyTheFirstSampleOfAWatchHasNonePrevious) {
  Series series;
  series.Watch(kOne, Every(kSecond), 0, false);
  EXPECT_FALSE(series.Latest(kSecond - 1)->previous.has_value());
  EXPECT_EQ(series.Latest(kSecond)->previous, 0);
  EXPECT_EQ(series.Latest(5 * kSecond)->previous, 4 * kSecond);
}

TEST(Series, TheShortestPeriodOfSeveralWatchesHoldsFromTheLastSampleOn) {
  Series series;
  series.Watch(kOne, Every(10 * kSecond), 0, false);
  series.Watch(kOther, Every(kSecond), 12 * kSecond + 5, false);
  // 10 s was the last sample of the slow watch; the fast one finds it a period old.
  EXPECT_EQ(series.Latest(12 * kSecond + 5)->t, 12 * kSecond + 5);
  EXPECT_EQ(series.Latest(12 * kSecond + 5)->previous, 10 * kSecond);
  EXPECT_EQ(series.Latest(14 * kSecond)->t, 13 * kSecond + 5);
  series.Unwatch(kOther, 14 * kSecond, false);
  EXPECT_EQ(series.Latest(23 * kSecond)->t, 13 * kSecond + 5);
  EXPECT_EQ(series.Latest(24 * kSecond)->t, 23 * kSecond + 5);
}

TEST(Series, ASecondWatchOfTheSamePeriodKeepsTheRhythm) {
  Series series;
  series.Watch(kOne, Every(kSecond), 100, false);
  series.Watch(kOther, Every(kSecond), 300'000, false);
  EXPECT_EQ(series.Latest(900'000)->t, 100);
  EXPECT_EQ(series.Latest(2 * kSecond + 99)->t, kSecond + 100);
  series.Unwatch(kOne, 2 * kSecond, false);
  EXPECT_EQ(series.Latest(2 * kSecond + 100)->t, 2 * kSecond + 100);
}

TEST(Series, TheLastSampleStaysAfterTheLastWatchHasGone) {
  Series series;
  series.Watch(kOne, Every(kSecond), 0, false);
  series.Unwatch(kOne, 2 * kSecond + 1, false);
  series.Unwatch(kOne, 3 * kSecond, false);
  EXPECT_FALSE(series.watched());
  EXPECT_EQ(series.Latest(100 * kSecond)->t, 2 * kSecond);
}

TEST(Series, WatchingAnewSamplesAtOnceAndBeginsANewHistoryOfRates) {
  Series series;
  series.Watch(kOne, Every(kSecond), 0, false);
  series.UnwatchGroup(kOne.first, 2 * kSecond, false);
  series.Watch(kOne, Every(kSecond), 2 * kSecond + 7, false);
  EXPECT_EQ(series.Latest(2 * kSecond + 7)->t, 2 * kSecond + 7);
  EXPECT_FALSE(series.Latest(2 * kSecond + 7)->previous.has_value());
}

TEST(Series, SinceListsKeptSamplesAscending) {
  Series series;
  series.Watch(kOne, {.period_us = kSecond, .keep_age_us = 3 * kSecond, .keep_samples = 0}, 0,
               false);
  EXPECT_EQ(Times(series.Since(0, 2 * kSecond)), (std::vector<TimeUs>{0, kSecond, 2 * kSecond}));
  EXPECT_EQ(Times(series.Since(kSecond + 1, 2 * kSecond)), (std::vector<TimeUs>{2 * kSecond}));
  // At 10 s those before 7 s are older than the age.
  EXPECT_EQ(Times(series.Since(0, 10 * kSecond)),
            (std::vector<TimeUs>{7 * kSecond, 8 * kSecond, 9 * kSecond, 10 * kSecond}));
  EXPECT_TRUE(series.Since(11 * kSecond, 10 * kSecond).empty());
}

TEST(Series, SinceIsBoundByTheNumberOfSamples) {
  Series series;
  series.Watch(kOne, {.period_us = kSecond, .keep_age_us = 60 * kSecond, .keep_samples = 2}, 0,
               false);
  EXPECT_EQ(Times(series.Since(0, 10 * kSecond)), (std::vector<TimeUs>{9 * kSecond, 10 * kSecond}));
}

TEST(Series, SinceCrossesAChangeOfPeriod) {
  Series series;
  series.Watch(kOne, Every(2 * kSecond), 0, false);
  series.Watch(kOther, Every(kSecond), 2 * kSecond, false);
  const std::vector<SampleTime> samples = series.Since(0, 4 * kSecond);
  EXPECT_EQ(Times(samples), (std::vector<TimeUs>{0, 2 * kSecond, 3 * kSecond, 4 * kSecond}));
  EXPECT_EQ(samples[2].previous, 2 * kSecond);
}

TEST(Series, ManualModeSamplesOnUpdateOnceThePeriodHasPassed) {
  Series series;
  series.Watch(kOne, Every(kSecond), 0, true);
  EXPECT_EQ(series.Latest(5 * kSecond)->t, 0);
  series.Update(kSecond - 1);
  EXPECT_EQ(series.Latest(5 * kSecond)->t, 0);
  series.Update(kSecond + 3);
  EXPECT_EQ(series.Latest(5 * kSecond)->t, kSecond + 3);
  EXPECT_EQ(series.Latest(5 * kSecond)->previous, 0);
  series.Update(5 * kSecond);
  series.Update(9 * kSecond);
  EXPECT_EQ(Times(series.Since(0, 10 * kSecond)),
            (std::vector<TimeUs>{0, kSecond + 3, 5 * kSecond, 9 * kSecond}));
}

TEST(Series, ManualModeWithoutAWatchTakesNoSamples) {
  Series series;
  series.Update(kSecond);
  EXPECT_FALSE(series.Latest(kSecond).has_value());
}

TEST(Watches, AutomaticModeHasNothingToUpdate) {
  const Watches::Key key = {{1, 0}, 150};
  Watches watches(false);
  watches.Watch(key, kOne, Every(kSecond), 0);
  watches.Update(kSecond / 2);
  EXPECT_EQ(watches.Find(key)->Latest(kSecond / 2)->t, 0);
  EXPECT_EQ(watches.Find({{1, 1}, 150}), nullptr);
}

TEST(Watches, UnwatchEndsOnlyWhatTheOwnerWatched) {
  const Watches::Key first = {{1, 0}, 150};
  const Watches::Key second = {{1, 1}, 150};
  Watches watches(false);
  watches.Watch(first, kOne, Every(kSecond), 0);
  watches.Watch(second, kOther, Every(kSecond), 0);
  watches.Unwatch(kOne, kSecond);
  EXPECT_EQ(watches.Find(first)->Latest(9 * kSecond)->t, kSecond);
  EXPECT_EQ(watches.Find(second)->Latest(9 * kSecond)->t, 9 * kSecond);
  watches.UnwatchGroup(kOther.first, 9 * kSecond);
  EXPECT_EQ(watches.Find(second)->Latest(20 * kSecond)->t, 9 * kSecond);
}

}  // namespace
}  // namespace podgpu::sim
