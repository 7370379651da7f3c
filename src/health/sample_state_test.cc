#include "health/sample_state.h"

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

// Returns the state of a GPU if all readings so far were like this one.
DeviceState StateIn(const Grid& grid, size_t gpu) {
  const SampleState state = JudgeSamples(grid, gpu).state;
  GpuFreshness freshness;
  freshness.unresponsive[gpu] = state == SampleState::kStale || state == SampleState::kMissing;
  return JudgeState(grid.topology(), gpu, freshness, false);
}

TEST(SampleStates, AGpuIsUnresponsiveWhenAllItsValuesAreStale) {
  Grid grid = StaleNode();
  EXPECT_EQ(StateIn(grid, 0), DeviceState::kUnresponsive);
  EXPECT_EQ(StateIn(grid, 1), DeviceState::kUnresponsive);
  grid.at(kTemperature, EntityId{0}) = Value::OfInt64(41);
  EXPECT_EQ(StateIn(grid, 0), DeviceState::kOk) << "one value is fresh";
  EXPECT_EQ(StateIn(grid, 1), DeviceState::kUnresponsive)
      << "the fresh value belongs to the other GPU";
}

TEST(SampleStates, AnInstanceWithAValueKeepsItsGpuOk) {
  Grid grid = StaleNode();
  grid.at(kUtilisation, EntityId{2}) = Value::OfInt64(7);
  EXPECT_EQ(StateIn(grid, 1), DeviceState::kOk);
}

// All fields except the last XID are absent for the same reason.
TEST(SampleStates, AGpuWithoutAnyValueIsMissingUnlessNoneIsExpected) {
  struct Case {
    std::string_view label;
    std::vector<uint16_t> fields;
    Absence absence;
    SampleVerdict verdict;
  };
  const Case cases[] = {
      {"telemetry paused", {150, 252}, Absence::kNoData, {SampleState::kMissing, Absence::kNoData}},
      {"forgotten watch",
       {150},
       Absence::kNotWatched,
       {SampleState::kMissing, Absence::kNotWatched}},
      {"blanks", {150}, Absence::kBlank, {SampleState::kMissing, Absence::kBlank}},
      {"refused", {150}, Absence::kNotPermitted, {SampleState::kMissing, Absence::kNotPermitted}},
      {"NVML hangs", {150}, Absence::kSourceDown, {SampleState::kMissing, Absence::kSourceDown}},
      {"first profiling", {1002}, Absence::kNoData, {SampleState::kMissing, Absence::kNoData}},
      {"not even memory",
       {150, 252},
       Absence::kNotSupported,
       {SampleState::kMissing, Absence::kNotSupported}},
      {"a board without it",
       {1002},
       Absence::kNotSupported,
       {SampleState::kExcused, Absence::kNotSupported}},
      {"DCGM's alone",
       {1002},
       Absence::kNotInSource,
       {SampleState::kExcused, Absence::kNotInSource}},
      {"asleep", {150, 252}, Absence::kSuspended, {SampleState::kExcused, Absence::kSuspended}},
      {"paused", {1002}, Absence::kPaused, {SampleState::kExcused, Absence::kPaused}},
      {"XIDs alone", {}, Absence::kNoData, {SampleState::kExcused, Absence::kNotRead}},
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
    EXPECT_EQ(JudgeSamples(grid, 0), row.verdict) << row.label;
    grid.at(*grid.RowOf(230), EntityId{0}) = Value::OfInt64(79);
    EXPECT_EQ(JudgeSamples(grid, 0), row.verdict)
        << row.label << ", an XID on record changes nothing";
  }
}

TEST(SampleStates, FieldsOfOtherDevicesDoNotCountForAGpu) {
  Topology topology = FakeDriver::Gpus(1);
  topology.parts = {{.kind = PartKind::kNvSwitch, .id = 0}};
  Grid grid(std::make_shared<Topology>(topology), {FindField(780)});
  grid.Clear(Absence::kNoData);
  EXPECT_EQ(JudgeSamples(grid, 0), SampleVerdict{});
}

TEST(SampleStates, ALostGpuStaysLost) {
  Topology topology = FakeDriver::Gpus(1);
  topology.gpus[0].state = DeviceState::kLost;
  GpuFreshness freshness;
  freshness.unresponsive.set(0);
  EXPECT_EQ(JudgeState(topology, 0, freshness, false), DeviceState::kLost);
}

TEST(SampleStates, AGpuThatIsAwaitedIsRecovering) {
  GpuFreshness freshness;
  freshness.awaited.set(0);
  EXPECT_EQ(JudgeState(FakeDriver::Gpus(1), 0, freshness, false), DeviceState::kRecovering);
}

TEST(SampleStates, AGpuIsUnresponsiveWhenNothingIsRead) {
  const Topology topology = FakeDriver::Gpus(1);
  EXPECT_EQ(JudgeState(topology, 0, {}, true), DeviceState::kUnresponsive);
}

}  // namespace
}  // namespace podgpu
