#include "sample/stale_values.h"

#include <memory>

#include <gtest/gtest.h>

namespace podgpu {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

std::shared_ptr<const Topology> OneGpu() {
  auto topology = std::make_shared<Topology>();
  topology->gpus.resize(1);
  topology->entities.resize(1);
  return topology;
}

TEST(WithdrawStale, TakesOldValuesButKeepsEvents) {
  Grid grid(OneGpu(), {FindField(150), FindField(203), FindField(230)});
  grid.at(FieldRow{0}, EntityId{0}) = Value::OfInt64(1, 5'000);
  grid.at(FieldRow{1}, EntityId{0}) = Value::OfInt64(2, 4'000);
  grid.at(FieldRow{2}, EntityId{0}) = Value::OfInt64(79, 3'600'000);
  EXPECT_EQ(StaysFreshFor(grid, seconds(5)), milliseconds(0));
  WithdrawStale(grid, seconds(5), milliseconds(0));
  EXPECT_TRUE(grid.at(FieldRow{0}, EntityId{0}).present());
  WithdrawStale(grid, seconds(5), milliseconds(1));
  EXPECT_EQ(grid.at(FieldRow{0}, EntityId{0}).absence(), Absence::kStale);
  EXPECT_TRUE(grid.at(FieldRow{1}, EntityId{0}).present());
  EXPECT_EQ(StaysFreshFor(grid, seconds(5)), milliseconds(1'000));
  WithdrawStale(grid, seconds(5), milliseconds(1'001));
  EXPECT_FALSE(grid.at(FieldRow{1}, EntityId{0}).present());
  EXPECT_TRUE(grid.at(FieldRow{2}, EntityId{0}).present());
  EXPECT_EQ(StaysFreshFor(grid, seconds(5)), milliseconds::max());
}

// DCGM samples the InfoROM at most every 30 s, even if a shorter period is requested.
TEST(WithdrawStale, JudgesASlowFieldByItsOwnPeriod) {
  Grid grid(OneGpu(), {FindField(84), FindField(150)});
  grid.at(FieldRow{0}, EntityId{0}) = Value::OfInt64(1, 30'000);
  grid.at(FieldRow{1}, EntityId{0}) = Value::OfInt64(41, 30'000);
  WithdrawStale(grid, seconds(5), milliseconds(0));
  EXPECT_TRUE(grid.at(FieldRow{0}, EntityId{0}).present());
  EXPECT_FALSE(grid.at(FieldRow{1}, EntityId{0}).present());
  EXPECT_FALSE(grid.HasCurrentNumbers(EntityId{0})) << "no device has a current number";
  EXPECT_EQ(StaysFreshFor(grid, seconds(70)), seconds(60));
  WithdrawStale(grid, seconds(70), seconds(61));
  EXPECT_EQ(grid.at(FieldRow{0}, EntityId{0}).absence(), Absence::kStale);
}

TEST(WithdrawStale, JudgesACollectionByItsInterval) {
  Grid grid(OneGpu(), {FindField(150), FindField(155)});
  grid.SetCollections(
      std::make_shared<const FieldCollections>(FieldCollections{{"slow", seconds(60), {155}}}),
      seconds(1));
  grid.at(FieldRow{0}, EntityId{0}) = Value::OfInt64(1, 6'000);
  grid.at(FieldRow{1}, EntityId{0}) = Value::OfDouble(41, 170'000);
  WithdrawStale(grid, seconds(5), milliseconds(0));
  EXPECT_FALSE(grid.at(FieldRow{0}, EntityId{0}).present());
  EXPECT_TRUE(grid.at(FieldRow{1}, EntityId{0}).present());
  grid.at(FieldRow{1}, EntityId{0}) = Value::OfDouble(41, 181'000);
  WithdrawStale(grid, seconds(5), milliseconds(0));
  EXPECT_EQ(grid.at(FieldRow{1}, EntityId{0}).absence(), Absence::kStale);
  grid.at(FieldRow{1}, EntityId{0}) = Value::OfDouble(41, 1'000);
  EXPECT_EQ(StaysFreshFor(grid, seconds(5)), seconds(5)) << "the source may have died";
  WithdrawStale(grid, seconds(5), milliseconds(5'000));
  EXPECT_TRUE(grid.at(FieldRow{1}, EntityId{0}).present());
  WithdrawStale(grid, seconds(5), milliseconds(5'001));
  EXPECT_EQ(grid.at(FieldRow{1}, EntityId{0}).absence(), Absence::kStale);
  grid.SetCollections(nullptr, seconds(1));
  EXPECT_EQ(grid.PeriodOf(FieldRow{1}), seconds(0));
}

}  // namespace
}  // namespace podgpu
