#include "facts/device_loss.h"

#include <gtest/gtest.h>

#include "source/testing/fake_source.h"

namespace podgpu {
namespace {

// What two GPUs read: field 112 as a mask, 395 and 396 of GPU 1.
DeviceLoss Loss(uint64_t reasons, Value failed = Value::OfInt64(0),
                Value pending = Value::OfInt64(0)) {
  const auto topology = std::make_shared<const Topology>(FakeDriver::Gpus(2));
  Grid grid(topology, {FindField(112), FindField(395), FindField(396)});
  for (uint16_t row = 0; row < 3; ++row) {
    grid.at(FieldRow{row}, EntityId{0}) = Value::OfInt64(0);
  }
  grid.at(FieldRow{0}, EntityId{1}) = Value::OfInt64(static_cast<int64_t>(reasons));
  grid.at(FieldRow{1}, EntityId{1}) = failed;
  grid.at(FieldRow{2}, EntityId{1}) = pending;
  EXPECT_EQ(LossIn(grid, 0), DeviceLoss::kNone);
  return LossIn(grid, 1);
}

constexpr uint64_t Bit(int bit) { return uint64_t{1} << bit; }

TEST(DeviceLoss, OnlyReasonsThatAnOperatorCanActOnCount) {
  EXPECT_EQ(Loss(Bit(3)), DeviceLoss::kHardwareSlowdown);
  EXPECT_EQ(Loss(Bit(5)), DeviceLoss::kSoftwareThermal);
  EXPECT_EQ(Loss(Bit(6)), DeviceLoss::kHardwareThermal);
  EXPECT_EQ(Loss(Bit(7)), DeviceLoss::kPowerBrake);
  for (const int bit : {0, 1, 2, 4, 8, 9, 40}) {
    EXPECT_EQ(Loss(Bit(bit)), DeviceLoss::kNone) << bit;
  }
}

TEST(DeviceLoss, TheMostSevereIsNamed) {
  EXPECT_EQ(Loss(Bit(3) | Bit(5) | Bit(6)), DeviceLoss::kHardwareThermal);
  EXPECT_EQ(Loss(Bit(3) | Bit(5)), DeviceLoss::kHardwareSlowdown);
  const Value yes = Value::OfInt64(1);
  const Value no = Value::OfInt64(0);
  EXPECT_EQ(Loss(Bit(7), no, yes), DeviceLoss::kRemapPending);
  EXPECT_EQ(Loss(Bit(7), yes, yes), DeviceLoss::kRemapFailed);
}

TEST(DeviceLoss, AbsentValuesAndSentinelsShowNoLoss) {
  const Value absent = Value::OfAbsence(Absence::kNotSupported);
  EXPECT_EQ(Loss(0, absent, absent), DeviceLoss::kNone);
  EXPECT_EQ(Loss(0x7ffffffffffffff0), DeviceLoss::kNone) << "DCGM's blank numbers";
  const auto topology = std::make_shared<const Topology>(FakeDriver::Gpus(1));
  const Grid without(topology, {FindField(150)});
  EXPECT_EQ(LossIn(without, 0), DeviceLoss::kNone) << "the fields are not read";
  EXPECT_EQ(LossIn(without, 5), DeviceLoss::kNone) << "no such GPU";
}

TEST(DeviceLoss, EachHasACauseAndARemedy) {
  for (int i = 1; i <= static_cast<int>(DeviceLoss::kRemapFailed); ++i) {
    const auto loss = static_cast<DeviceLoss>(i);
    EXPECT_NE(CauseOf(loss), "") << i;
    EXPECT_NE(RemedyOf(loss), "") << i;
    EXPECT_EQ(IsThrottling(loss), loss < DeviceLoss::kRemapPending) << i;
  }
}

}  // namespace
}  // namespace podgpu
