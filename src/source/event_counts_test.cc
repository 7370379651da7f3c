#include "source/event_counts.h"

#include <gtest/gtest.h>

namespace podgpu {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr WallTime kStart{seconds(1'000'000)};
constexpr int64_t kStartUs = ToMicroseconds(kStart);
constexpr int64_t kOneSecondUs = 1'000'000;

Topology TwoGpus() {
  Topology topology;
  topology.gpus.resize(2);
  topology.gpus[0].uuid = "GPU-a";
  topology.gpus[1].uuid = "GPU-b";
  return topology;
}

Findings CountsAt(EventCounts& counts, WallTime now, milliseconds window = seconds(60)) {
  Findings findings;
  findings.asked = {window, window};
  counts.Fill(now, findings);
  return findings;
}

TEST(EventCounts, KeepXidsByCodeInTheWindowAndInTotal) {
  EventCounts counts;
  counts.Follow(TwoGpus(), kStart);
  counts.AddXid(1, 79, kStartUs + 1 * kOneSecondUs);
  counts.AddXid(1, 43, kStartUs + 2 * kOneSecondUs);
  counts.AddXid(1, 43, kStartUs + 50 * kOneSecondUs);
  const std::vector<XidCount> early = CountsAt(counts, kStart + seconds(55)).xids;
  EXPECT_EQ(early, (std::vector<XidCount>{{1, 43, 2, 2, kStartUs + 50 * kOneSecondUs},
                                          {1, 79, 1, 1, kStartUs + 1 * kOneSecondUs}}));
  const Findings later = CountsAt(counts, kStart + seconds(100));
  EXPECT_EQ(later.xids, (std::vector<XidCount>{{1, 43, 2, 1, kStartUs + 50 * kOneSecondUs},
                                               {1, 79, 1, 0, kStartUs + 1 * kOneSecondUs}}));
  EXPECT_EQ(later.gpus[0].xids, 0U);
  EXPECT_EQ(later.gpus[1].xids, 1U);
}

TEST(EventCounts, BeforeTheStartCountInTheWindowButNotInTotals) {
  EventCounts counts;
  counts.Follow(TwoGpus(), kStart);
  counts.AddXid(0, 31, kStartUs - kOneSecondUs);
  EXPECT_EQ(CountsAt(counts, kStart).xids,
            (std::vector<XidCount>{{0, 31, 0, 1, kStartUs - kOneSecondUs}}));
}

TEST(EventCounts, FollowTheUuidWhenTheNumberOfAGpuChanges) {
  EventCounts counts;
  counts.Follow(TwoGpus(), kStart);
  counts.AddXid(1, 79, kStartUs);
  Topology other = TwoGpus();
  std::swap(other.gpus[0].uuid, other.gpus[1].uuid);
  counts.Follow(other, kStart + seconds(1));
  EXPECT_EQ(CountsAt(counts, kStart).xids, (std::vector<XidCount>{{0, 79, 1, 1, kStartUs}}));
}

TEST(EventCounts, AddEachReasonOfASample) {
  EventCounts counts;
  counts.Follow(TwoGpus(), kStart);
  counts.AddClocks(0, 0b1'0000'0101, kStartUs);
  counts.AddClocks(0, 0b100, kStartUs + 30 * kOneSecondUs);
  counts.AddClocks(0, 0, kStartUs + 31 * kOneSecondUs);
  GpuEventCounts gpu = CountsAt(counts, kStart + seconds(31)).gpus[0];
  EXPECT_EQ(gpu.clock_samples, 3U);
  EXPECT_EQ(gpu.clock_events, (std::array<uint64_t, 9>{1, 0, 2, 0, 0, 0, 0, 0, 1}));
  gpu = CountsAt(counts, kStart + seconds(61)).gpus[0];
  EXPECT_EQ(gpu.clock_samples, 2U);
  EXPECT_EQ(gpu.clock_events, (std::array<uint64_t, 9>{0, 0, 1, 0, 0, 0, 0, 0, 0}));
}

TEST(EventCounts, CountAReasonInTotalWhenItComesAfterTheFirstSample) {
  EventCounts counts;
  counts.Follow(TwoGpus(), kStart);
  const int64_t reasons[] = {0b101, 0b101, 0b110, 0b100, 0b110, 0b1'0000'0000, int64_t{1} << 9};
  for (size_t i = 0; i < std::size(reasons); ++i) {
    counts.AddClocks(0, reasons[i], kStartUs + static_cast<int64_t>(i) * kOneSecondUs);
  }
  const std::array<uint64_t, 9> expected = {0, 2, 0, 0, 0, 0, 0, 0, 1};
  EXPECT_EQ(CountsAt(counts, kStart + seconds(7)).gpus[0].clock_event_totals, expected);
  counts.ForgetClockWindow(0, kStartUs);
  const GpuEventCounts later = CountsAt(counts, kStart + std::chrono::hours(1)).gpus[0];
  EXPECT_EQ(later.clock_event_totals, expected);
  EXPECT_EQ(later.clock_samples, 0U);
}

TEST(EventCounts, CountNoReasonInTotalThatCameBeforeTheStart) {
  EventCounts counts;
  counts.Follow(TwoGpus(), kStart);
  counts.AddClocks(0, 0, kStartUs - 2);
  counts.AddClocks(0, 1, kStartUs - 1);
  counts.AddClocks(0, 3, kStartUs);
  EXPECT_EQ(CountsAt(counts, kStart).gpus[0].clock_event_totals,
            (std::array<uint64_t, 9>{0, 1, 0, 0, 0, 0, 0, 0, 0}));
}

TEST(EventCounts, CoverOnlyTheSamplesThatAWindowCanHold) {
  EventCounts counts;
  counts.Follow(TwoGpus(), kStart);
  for (size_t i = 0; i < SampleWindow::kMostSamples + 10; ++i) {
    counts.AddClocks(0, 1, kStartUs);
    counts.AddXid(0, 13, kStartUs);
  }
  const Findings findings = CountsAt(counts, kStart);
  EXPECT_EQ(findings.gpus[0].clock_events[0], SampleWindow::kMostSamples);
  EXPECT_EQ(findings.xids[0].in_window, SampleWindow::kMostSamples);
  EXPECT_EQ(findings.xids[0].total, SampleWindow::kMostSamples + 10);
}

TEST(EventCounts, KeepABoundedNumberOfCodes) {
  EventCounts counts;
  counts.Follow(TwoGpus(), kStart);
  for (int64_t code = 0; code < 1000; ++code) {
    counts.AddXid(0, code, kStartUs);
  }
  counts.AddXid(0, 5, kStartUs);
  const Findings findings = CountsAt(counts, kStart);
  EXPECT_EQ(findings.xids.size(), EventCounts::kMostCodes);
  EXPECT_EQ(findings.gpus[0].xids, EventCounts::kMostCodes + 1);
  EXPECT_EQ(CountsAt(counts, kStart + seconds(61)).gpus[0].xids, 0U);
}

TEST(EventCounts, BeginNewWindowsWhenAClockWasSetBack) {
  EventCounts counts;
  counts.Follow(TwoGpus(), kStart);
  counts.AddXid(0, 5, kStartUs);
  counts.AddClocks(0, 5, kStartUs);
  const int64_t set_back_us = kStartUs - 3'600 * kOneSecondUs;
  counts.ForgetXidWindow(0, set_back_us);
  counts.ForgetClockWindow(0, set_back_us);
  const Findings findings = CountsAt(counts, kStart);
  EXPECT_EQ(findings.xids, (std::vector<XidCount>{{0, 5, 1, 0, kStartUs}}));
  EXPECT_EQ(findings.gpus[0], GpuEventCounts{});
  counts.AddXid(0, 5, set_back_us + 1);
  EXPECT_EQ(CountsAt(counts, kStart).xids[0].total, 2U) << "this happened after the start";
}

}  // namespace
}  // namespace podgpu
