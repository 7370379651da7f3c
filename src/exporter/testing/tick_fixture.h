// A Tick whose facts a test publishes itself: a reading of two GPUs, the kubelet's answer, the
// state of the source.
//
// Shared by the tests of the tick, which are in several files.  The test controls the clock, and
// everything runs on the test's thread.  For tests only.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/testing/manual_clock.h"
#include "base/text.h"
#include "exporter/tick.h"
#include "source/testing/fake_source.h"

namespace podgpu {

// A tick whose facts the test publishes itself.
class TickTest : public ::testing::Test {
 protected:
  TickTest() {
    SetSource(PartState::kOk, "fake driver");
    SetPods({});
    counters_ =
        ParseCounters(
            "DCGM_FI_DEV_GPU_TEMP, gauge, GPU temperature\nDCGM_FI_DEV_SERIAL, label, Serial\n",
            "test.csv")
            .value()
            .counters;
  }

  Tick& tick() {
    if (!tick_) {
      TickOptions options;
      options.period = std::chrono::seconds(1);
      options.stale_after = std::chrono::seconds(5);
      options.counters = counters_;
      options.config = config_;
      options.series_budget = budget_;
      options.views = views_;
      options.view.hostname = "node-a";
      options.view.kubernetes = true;
      options.view.virtual_gpus = virtual_gpus_;
      options.view.selections = selections_;
      tick_.emplace(std::move(options),
                    TickSources{grids_, source_, pods_, guard_, written_off_, clients_, extra_},
                    clock_, wakeup_);
    }
    return *tick_;
  }
  std::string Page() {
    tick().Once();
    std::string page(tick().snapshots().Get()->text());
    EXPECT_EQ(tick().TextOfNewPlan(), page);
    return page;
  }
  void SetSource(PartState state, std::string detail) {
    source_.Set(
        std::make_shared<const SourceStatus>(SourceStatus{state, std::move(detail), 1, 0, 2}));
  }
  void SetPods(std::vector<Allocation> allocations) {
    auto facts = std::make_shared<PodFacts>();
    facts->value =
        std::make_shared<const PodAllocations>(PodAllocations{"v1", 1, std::move(allocations)});
    facts->good_at = clock_.Now();
    facts->state = PartState::kOk;
    pods_.Set(facts);
  }
  // A reading of two GPUs in which every number is `value`.
  void SetGrid(int64_t value, uint64_t epoch = 1, std::string_view serial = "S1") {
    auto topology = std::make_shared<Topology>(FakeDriver::Gpus(2));
    topology->epoch = epoch;
    auto grid =
        std::make_shared<Grid>(topology, std::vector<const Field*>{FindField(53), FindField(150)});
    grid->read_at = clock_.Now();
    for (uint16_t i = 0; i < 2; ++i) {
      grid->at(FieldRow{0}, EntityId{i}) = Value::OfText(grid->InternText(serial));
      grid->at(FieldRow{1}, EntityId{i}) = Value::OfInt64(value, 500);
    }
    grids_.Set(grid);
  }

  ManualClock clock_;
  Wakeup wakeup_;
  CallGuard guard_{clock_, std::chrono::seconds(10)};
  std::atomic<int> written_off_ = 0;
  HttpCounters clients_;
  Published<Grid> grids_;
  Published<SourceStatus> source_;
  Published<PodFacts> pods_;
  ExtraSources extra_;
  bool virtual_gpus_ = false;
  DeviceSelections selections_;
  std::vector<Counter> counters_;
  ConfigNotes config_;
  size_t budget_ = 0;
  std::vector<View> views_ = TickOptions().views;
  std::optional<Tick> tick_;
};

// The lines that begin so.
inline std::vector<std::string> Lines(std::string_view page, std::string_view begin) {
  std::vector<std::string> lines;
  for (const std::string_view line : Split(page, '\n')) {
    if (line.starts_with(begin)) {
      lines.emplace_back(line);
    }
  }
  return lines;
}

}  // namespace podgpu
