#include "health/freshness_tracker.h"

#include <gtest/gtest.h>

#include "source/testing/fake_source.h"

namespace podgpu {
namespace {

using std::chrono::seconds;

// Two GPUs; the test makes one reading a second.
class FreshnessTrackerTest : public ::testing::Test {
 protected:
  // The next reading: GPU 0 has a value, GPU 1 has `second`.
  const GpuFreshness& Read(Value second) {
    now_ += seconds(1);
    Grid grid(topology_, {FindField(150)});
    grid.read_at = now_;
    grid.at(FieldRow{0}, EntityId{0}) = Value::OfInt64(41);
    grid.at(FieldRow{0}, EntityId{1}) = second;
    tracker_.Take(grid);
    return tracker_.freshness();
  }
  // The next reading: both GPUs have a temperature; returns the loss of GPU 1, whose reasons for
  // reduced clocks and whose pending remap are given.
  DeviceLoss ReadReasons(int64_t reasons, int64_t remap_pending = 0) {
    now_ += seconds(1);
    Grid grid(topology_, {FindField(112), FindField(150), FindField(396)});
    grid.read_at = now_;
    for (const uint16_t gpu : {uint16_t{0}, uint16_t{1}}) {
      grid.at(FieldRow{0}, EntityId{gpu}) = Value::OfInt64(gpu == 0 ? 0 : reasons);
      grid.at(FieldRow{1}, EntityId{gpu}) = some_;
      grid.at(FieldRow{2}, EntityId{gpu}) = Value::OfInt64(gpu == 0 ? 0 : remap_pending);
    }
    tracker_.Take(grid);
    EXPECT_EQ(tracker_.freshness().losses[0], DeviceLoss::kNone);
    return tracker_.freshness().losses[1];
  }
  void SetTopology(Topology topology) {
    topology_ = std::make_shared<const Topology>(std::move(topology));
  }

  static constexpr Value kNothing = Value::OfAbsence(Absence::kNoData);
  static constexpr Value kOld = Value::OfAbsence(Absence::kStale);
  const Value some_ = Value::OfInt64(42);
  std::shared_ptr<const Topology> topology_ = std::make_shared<const Topology>(FakeDriver::Gpus(2));
  Instant now_{};
  FreshnessTracker tracker_{seconds(2)};
};

TEST_F(FreshnessTrackerTest, AGpuWithoutValuesIsAwaitedAndThenUnresponsive) {
  EXPECT_EQ(Read(some_), GpuFreshness{});
  EXPECT_TRUE(Read(kNothing).awaited[1]);
  EXPECT_FALSE(Read(kNothing).unresponsive[1]) << "one of the two seconds has passed";
  EXPECT_FALSE(tracker_.freshness().never_sampled[1]) << "it has given values before";
  EXPECT_TRUE(Read(kNothing).unresponsive[1]);
  EXPECT_FALSE(tracker_.freshness().awaited[1]);
  EXPECT_EQ(tracker_.freshness().reasons[1], Absence::kNoData);
  EXPECT_EQ(Read(some_), GpuFreshness{});
  EXPECT_TRUE(Read(kNothing).awaited[1]) << "the wait starts again";
}

TEST_F(FreshnessTrackerTest, ThrottlingCountsForAMinuteAfterTheLastReadingThatShowsIt) {
  constexpr int64_t kHot = 1 << 6;
  constexpr int64_t kWarm = 1 << 5;
  EXPECT_EQ(ReadReasons(kHot), DeviceLoss::kHardwareThermal);
  EXPECT_EQ(ReadReasons(0), DeviceLoss::kHardwareThermal) << "it may come back each second";
  EXPECT_EQ(ReadReasons(kHot), DeviceLoss::kHardwareThermal);
  for (int second = 1; second < 60; ++second) {
    EXPECT_EQ(ReadReasons(kWarm), DeviceLoss::kHardwareThermal) << second;
  }
  EXPECT_EQ(ReadReasons(kWarm), DeviceLoss::kSoftwareThermal);
  for (int second = 1; second < 60; ++second) {
    EXPECT_EQ(ReadReasons(0), DeviceLoss::kSoftwareThermal) << second;
  }
  EXPECT_EQ(ReadReasons(0), DeviceLoss::kNone);
}

TEST_F(FreshnessTrackerTest, ARemapCountsOnlyWhileItIsSeenAndAWorseLossAtOnce) {
  EXPECT_EQ(ReadReasons(1 << 5), DeviceLoss::kSoftwareThermal);
  EXPECT_EQ(ReadReasons(1 << 7), DeviceLoss::kPowerBrake);
  EXPECT_EQ(ReadReasons(0, 1), DeviceLoss::kRemapPending);
  EXPECT_EQ(ReadReasons(0, 0), DeviceLoss::kNone) << "the GPU was reset";
}

TEST_F(FreshnessTrackerTest, ALossMakesAHealthyGpuDegradedAndNoOther) {
  ReadReasons(1 << 6);
  Topology topology = *topology_;
  GpuFreshness freshness = tracker_.freshness();
  EXPECT_EQ(JudgeState(topology, 0, freshness, false), DeviceState::kOk);
  EXPECT_EQ(JudgeState(topology, 1, freshness, false), DeviceState::kDegraded);
  EXPECT_EQ(JudgeState(topology, 1, freshness, true), DeviceState::kUnresponsive);
  topology.gpus[1].state = DeviceState::kRecovering;
  EXPECT_EQ(JudgeState(topology, 1, freshness, false), DeviceState::kRecovering);
  topology.gpus[1].state = DeviceState::kLost;
  EXPECT_EQ(JudgeState(topology, 1, freshness, false), DeviceState::kLost);
}

TEST_F(FreshnessTrackerTest, FieldsThatPodgpuJudgesAreNoValuesOfAGpu) {
  Grid grid(topology_, {FindField(112), FindField(150)});
  for (const uint16_t gpu : {uint16_t{0}, uint16_t{1}}) {
    grid.at(FieldRow{0}, EntityId{gpu}) = Value::OfInt64(0);
    grid.at(FieldRow{1}, EntityId{gpu}) = gpu == 0 ? some_ : kNothing;
  }
  tracker_.Take(grid);
  EXPECT_FALSE(tracker_.freshness().awaited[0]);
  EXPECT_TRUE(tracker_.freshness().awaited[1]) << "its temperature, which is asked for, is missing";
}

TEST_F(FreshnessTrackerTest, AGpuWhoseSamplesAreTooOldIsUnresponsiveAtOnce) {
  Read(some_);
  EXPECT_TRUE(Read(kOld).unresponsive[1]);
  EXPECT_EQ(tracker_.freshness().reasons[1], Absence::kStale);
}

TEST_F(FreshnessTrackerTest, ARestartedEngineDoesNotMakeAStaleGpuResponsive) {
  Read(some_);
  Read(kOld);
  EXPECT_TRUE(Read(kNothing).unresponsive[1]) << "the new watch has no sample yet";
  EXPECT_TRUE(Read(kOld).unresponsive[1]);
}

TEST_F(FreshnessTrackerTest, TheSameReadingCountsOnce) {
  Read(some_);
  Grid grid(topology_, {FindField(150)});
  grid.Clear(Absence::kNoData);
  grid.read_at = now_ + seconds(1);
  for (int i = 0; i < 5; ++i) {
    tracker_.Take(grid);
  }
  EXPECT_TRUE(tracker_.freshness().awaited[1]);
}

TEST_F(FreshnessTrackerTest, AGpuThatNeverGaveAValueCountsAsNeverSampledUntilItIsUnresponsive) {
  EXPECT_TRUE(Read(kNothing).never_sampled[1]);
  EXPECT_FALSE(Read(some_).never_sampled[1]);
  EXPECT_FALSE(Read(kNothing).never_sampled[1]);
}

TEST_F(FreshnessTrackerTest, AGpuIsIdentifiedByItsUuidNotByItsIndex) {
  Read(some_);
  Read(kOld);
  Topology swapped = FakeDriver::Gpus(2);
  std::swap(swapped.gpus[0].uuid, swapped.gpus[1].uuid);
  SetTopology(swapped);
  Grid grid(topology_, {FindField(150)});
  grid.Clear(Absence::kNoData);
  grid.read_at = now_ + seconds(1);
  tracker_.Take(grid);
  EXPECT_TRUE(tracker_.freshness().unresponsive[0]) << "the UUID that was unresponsive before";
  EXPECT_TRUE(tracker_.freshness().awaited[1]);
}

TEST_F(FreshnessTrackerTest, AGpuThatReturnsAfterALossIsAwaitedFirst) {
  Read(some_);
  Read(kOld);
  Topology lost = FakeDriver::Gpus(2);
  lost.gpus[1].state = DeviceState::kLost;
  SetTopology(lost);
  EXPECT_EQ(Read(Value::OfAbsence(Absence::kDeviceLost)), GpuFreshness{})
      << "the driver itself reports the loss";
  SetTopology(FakeDriver::Gpus(2));
  EXPECT_TRUE(Read(kNothing).awaited[1]);
  Read(kNothing);
  EXPECT_TRUE(Read(kNothing).unresponsive[1]);
}

TEST_F(FreshnessTrackerTest, ASleepingGpuIsExcusedWithItsReason) {
  EXPECT_TRUE(Read(Value::OfAbsence(Absence::kSuspended)).excused[1]);
  EXPECT_EQ(tracker_.freshness().reasons[1], Absence::kSuspended);
}

}  // namespace
}  // namespace podgpu
