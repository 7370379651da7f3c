#include "health/hearing.h"

#include <gtest/gtest.h>

#include "source/testing/fake_source.h"

namespace podgpu {
namespace {

using std::chrono::seconds;

// Two GPUs whose readings a test makes, one a second.
class HearingTest : public ::testing::Test {
 protected:
  // The next reading: GPU 0 answers, of GPU 1 there is `second`.
  const HeardGpus& Read(Value second) {
    now_ += seconds(1);
    Grid grid(topology_, {FindField(150)});
    grid.read_at = now_;
    grid.at(FieldRow{0}, EntityId{0}) = Value::OfInt64(41);
    grid.at(FieldRow{0}, EntityId{1}) = second;
    hearing_.Take(grid);
    return hearing_.heard();
  }
  void SetTopology(Topology topology) {
    topology_ = std::make_shared<const Topology>(std::move(topology));
  }

  static constexpr Value kNothing = Value::OfAbsence(Absence::kNoData);
  static constexpr Value kOld = Value::OfAbsence(Absence::kStale);
  const Value some_ = Value::OfInt64(42);
  std::shared_ptr<const Topology> topology_ = std::make_shared<const Topology>(FakeDriver::Gpus(2));
  Instant now_{};
  Hearing hearing_{seconds(2)};
};

TEST_F(HearingTest, AGpuThatFallsSilentIsAwaitedAndThenUnresponsive) {
  EXPECT_EQ(Read(some_), HeardGpus{});
  EXPECT_TRUE(Read(kNothing).awaited[1]);
  EXPECT_FALSE(Read(kNothing).unresponsive[1]) << "a second of two";
  EXPECT_FALSE(hearing_.heard().unheard[1]) << "it has given values before";
  EXPECT_TRUE(Read(kNothing).unresponsive[1]);
  EXPECT_FALSE(hearing_.heard().awaited[1]);
  EXPECT_EQ(hearing_.heard().reasons[1], Absence::kNoData);
  EXPECT_EQ(Read(some_), HeardGpus{});
  EXPECT_TRUE(Read(kNothing).awaited[1]) << "counted from the beginning";
}

TEST_F(HearingTest, AGpuWhoseSamplesAreTooOldIsUnresponsiveAtOnce) {
  Read(some_);
  EXPECT_TRUE(Read(kOld).unresponsive[1]);
  EXPECT_EQ(hearing_.heard().reasons[1], Absence::kStale);
}

TEST_F(HearingTest, AnEngineThatIsBegunAgainInBetweenEndsNoSilence) {
  Read(some_);
  Read(kOld);
  EXPECT_TRUE(Read(kNothing).unresponsive[1]) << "the new watch has no sample yet";
  EXPECT_TRUE(Read(kOld).unresponsive[1]);
}

TEST_F(HearingTest, TheSameReadingAgainMakesNoDifference) {
  Read(some_);
  Grid grid(topology_, {FindField(150)});
  grid.Clear(Absence::kNoData);
  grid.read_at = now_ + seconds(1);
  for (int i = 0; i < 5; ++i) {
    hearing_.Take(grid);
  }
  EXPECT_TRUE(hearing_.heard().awaited[1]);
}

TEST_F(HearingTest, AGpuThatNeverGaveAValueIsUnheardUntilItIsUnresponsive) {
  EXPECT_TRUE(Read(kNothing).unheard[1]);
  EXPECT_FALSE(Read(some_).unheard[1]);
  EXPECT_FALSE(Read(kNothing).unheard[1]);
}

TEST_F(HearingTest, AGpuIsKnownByItsUuidWhateverItsPlace) {
  Read(some_);
  Read(kOld);
  Topology swapped = FakeDriver::Gpus(2);
  std::swap(swapped.gpus[0].uuid, swapped.gpus[1].uuid);
  SetTopology(swapped);
  Grid grid(topology_, {FindField(150)});
  grid.Clear(Absence::kNoData);
  grid.read_at = now_ + seconds(1);
  hearing_.Take(grid);
  EXPECT_TRUE(hearing_.heard().unresponsive[0]) << "the one that was silent before";
  EXPECT_TRUE(hearing_.heard().awaited[1]);
}

TEST_F(HearingTest, AGpuThatIsBackAfterALossIsAwaitedFirst) {
  Read(some_);
  Read(kOld);
  Topology lost = FakeDriver::Gpus(2);
  lost.gpus[1].state = DeviceState::kLost;
  SetTopology(lost);
  EXPECT_EQ(Read(Value::OfAbsence(Absence::kDeviceLost)), HeardGpus{}) << "the driver has said it";
  SetTopology(FakeDriver::Gpus(2));
  EXPECT_TRUE(Read(kNothing).awaited[1]);
  Read(kNothing);
  EXPECT_TRUE(Read(kNothing).unresponsive[1]);
}

TEST_F(HearingTest, ASleepingGpuIsExcusedWithItsReason) {
  EXPECT_TRUE(Read(Value::OfAbsence(Absence::kSuspended)).excused[1]);
  EXPECT_EQ(hearing_.heard().reasons[1], Absence::kSuspended);
}

}  // namespace
}  // namespace podgpu
