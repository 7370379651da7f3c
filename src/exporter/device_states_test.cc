#include "exporter/device_states.h"

#include <gtest/gtest.h>

#include "exporter/fake_source.h"

namespace podgpu {
namespace {

constexpr FieldRow kTemperature{0};
constexpr FieldRow kUtilisation{1};

// Two GPUs with all values stale; the second has a MIG instance in column 2.
Grid StaleNode() {
  auto topology = std::make_shared<Topology>(FakeDriver::Gpus(2));
  topology->instances = {{1, 3, 7, "3g.40gb", {}}};
  NumberEntities(*topology);
  Grid grid(topology, {FindField(150), FindField(203)});
  grid.Clear(Absence::kStale);
  return grid;
}

DeviceState StateOf(const Grid& grid, size_t gpu, bool all_stale = false) {
  return JudgeState(grid.topology(), gpu, FrozenGpus(grid), all_stale);
}

TEST(DeviceStates, AGpuIsUnresponsiveWhenAllItsValuesAreStale) {
  Grid grid = StaleNode();
  EXPECT_EQ(StateOf(grid, 0), DeviceState::kUnresponsive);
  EXPECT_EQ(StateOf(grid, 1), DeviceState::kUnresponsive);
  grid.at(kTemperature, EntityId{0}) = Value::OfInt64(41);
  EXPECT_EQ(StateOf(grid, 0), DeviceState::kOk) << "one value is fresh";
  EXPECT_EQ(StateOf(grid, 1), DeviceState::kUnresponsive) << "and it is not of this GPU";
}

TEST(DeviceStates, AnInstanceThatSpeaksSpeaksForItsGpu) {
  Grid grid = StaleNode();
  grid.at(kUtilisation, EntityId{2}) = Value::OfInt64(7);
  EXPECT_EQ(StateOf(grid, 1), DeviceState::kOk);
}

TEST(DeviceStates, AbsenceForOtherReasonsIsNoSilence) {
  Grid grid = StaleNode();
  grid.Clear(Absence::kNotSupported);
  EXPECT_EQ(StateOf(grid, 0), DeviceState::kOk);
}

TEST(DeviceStates, LostStaysLost) {
  Topology topology = FakeDriver::Gpus(1);
  topology.gpus[0].state = DeviceState::kLost;
  GpuSet frozen;
  frozen.set(0);
  EXPECT_EQ(JudgeState(topology, 0, frozen, false), DeviceState::kLost);
}

TEST(DeviceStates, NothingReadIsNothingKnown) {
  const Topology topology = FakeDriver::Gpus(1);
  EXPECT_EQ(JudgeState(topology, 0, {}, true), DeviceState::kUnresponsive);
}

}  // namespace
}  // namespace podgpu
