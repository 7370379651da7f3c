#include "health/device_states.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "source/testing/fake_source.h"

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

// What a GPU's state is if this reading is the last of many.
DeviceState StateIn(const Grid& grid, size_t gpu) {
  const Voice voice = Hear(grid, gpu).voice;
  HeardGpus heard;
  heard.unresponsive[gpu] = voice == Voice::kStale || voice == Voice::kSilent;
  return JudgeState(grid.topology(), gpu, heard, false);
}

TEST(DeviceStates, AGpuIsUnresponsiveWhenAllItsValuesAreStale) {
  Grid grid = StaleNode();
  EXPECT_EQ(StateIn(grid, 0), DeviceState::kUnresponsive);
  EXPECT_EQ(StateIn(grid, 1), DeviceState::kUnresponsive);
  grid.at(kTemperature, EntityId{0}) = Value::OfInt64(41);
  EXPECT_EQ(StateIn(grid, 0), DeviceState::kOk) << "one value is fresh";
  EXPECT_EQ(StateIn(grid, 1), DeviceState::kUnresponsive) << "and it is not of this GPU";
}

TEST(DeviceStates, AnInstanceThatSpeaksSpeaksForItsGpu) {
  Grid grid = StaleNode();
  grid.at(kUtilisation, EntityId{2}) = Value::OfInt64(7);
  EXPECT_EQ(StateIn(grid, 1), DeviceState::kOk);
}

// What all fields but the last XID have in common, and what that says of the GPU.
TEST(DeviceStates, AGpuWithoutAnyValueIsSilentUnlessNoneCanBeExpected) {
  struct Case {
    std::string_view label;
    std::vector<uint16_t> fields;
    Absence absence;
    HeardVoice voice;
  };
  const Case cases[] = {
      {"telemetry paused", {150, 252}, Absence::kNoData, {Voice::kSilent, Absence::kNoData}},
      {"forgotten watch", {150}, Absence::kNotWatched, {Voice::kSilent, Absence::kNotWatched}},
      {"blanks", {150}, Absence::kBlank, {Voice::kSilent, Absence::kBlank}},
      {"refused", {150}, Absence::kNotPermitted, {Voice::kSilent, Absence::kNotPermitted}},
      {"NVML hangs", {150}, Absence::kSourceDown, {Voice::kSilent, Absence::kSourceDown}},
      {"first profiling", {1002}, Absence::kNoData, {Voice::kSilent, Absence::kNoData}},
      {"not even memory",
       {150, 252},
       Absence::kNotSupported,
       {Voice::kSilent, Absence::kNotSupported}},
      {"a board without it",
       {1002},
       Absence::kNotSupported,
       {Voice::kExcused, Absence::kNotSupported}},
      {"DCGM's alone", {1002}, Absence::kNotInSource, {Voice::kExcused, Absence::kNotInSource}},
      {"asleep", {150, 252}, Absence::kSuspended, {Voice::kExcused, Absence::kSuspended}},
      {"paused", {1002}, Absence::kPaused, {Voice::kExcused, Absence::kPaused}},
      {"XIDs alone", {}, Absence::kNoData, {Voice::kExcused, Absence::kNotRead}},
  };
  for (const Case& row : cases) {
    std::vector<const Field*> fields = {FindField(230)};
    for (const uint16_t id : row.fields) {
      fields.push_back(FindField(id));
    }
    std::ranges::sort(fields, {}, &Field::id);
    Grid grid(std::make_shared<Topology>(FakeDriver::Gpus(1)), fields);
    grid.Clear(row.absence);
    grid.at(*grid.RowOf(230), EntityId{0}) = Value::OfAbsence(Absence::kNoData);
    EXPECT_EQ(Hear(grid, 0), row.voice) << row.label;
    grid.at(*grid.RowOf(230), EntityId{0}) = Value::OfInt64(79);
    EXPECT_EQ(Hear(grid, 0), row.voice) << row.label << ", an XID on record changes nothing";
  }
}

TEST(DeviceStates, FieldsOfOtherDevicesSayNothingOfAGpu) {
  Topology topology = FakeDriver::Gpus(1);
  topology.parts = {{.kind = PartKind::kNvSwitch, .id = 0}};
  Grid grid(std::make_shared<Topology>(topology), {FindField(780)});
  grid.Clear(Absence::kNoData);
  EXPECT_EQ(Hear(grid, 0), HeardVoice{});
}

TEST(DeviceStates, LostStaysLost) {
  Topology topology = FakeDriver::Gpus(1);
  topology.gpus[0].state = DeviceState::kLost;
  HeardGpus heard;
  heard.unresponsive.set(0);
  EXPECT_EQ(JudgeState(topology, 0, heard, false), DeviceState::kLost);
}

TEST(DeviceStates, AGpuThatIsAwaitedIsRecovering) {
  HeardGpus heard;
  heard.awaited.set(0);
  EXPECT_EQ(JudgeState(FakeDriver::Gpus(1), 0, heard, false), DeviceState::kRecovering);
}

TEST(DeviceStates, NothingReadIsNothingKnown) {
  const Topology topology = FakeDriver::Gpus(1);
  EXPECT_EQ(JudgeState(topology, 0, {}, true), DeviceState::kUnresponsive);
}

}  // namespace
}  // namespace podgpu
