#include "pages/gpu_timeline.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "base/testing/allocations.h"
#include "source/testing/fake_source.h"

namespace podgpu {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

// Two GPUs whose SM activity, memory and power the test sets before each tick.
class GpuTimelineTest : public ::testing::Test {
 protected:
  GpuTimelineTest() {
    facts_.stale_after = seconds(10);
    Hold({});
  }

  void Hold(const std::vector<std::string>& pods) {
    auto owners = std::make_shared<Owners>();
    owners->by_entity.resize(2);
    for (const std::string& pod : pods) {
      Owner owner;
      owner.pod_namespace = "ml";
      owner.pod = pod;
      owners->by_entity[0].push_back(owner);
    }
    facts_.owners = std::move(owners);
  }

  // One tick, in which GPU 0 has this SM activity; negative: none is known.
  void Tick(double sm, seconds after = seconds(1)) {
    now_ += after;
    wall_ += after;
    auto grid = std::make_shared<Grid>(
        topology_, std::vector<const Field*>{FindField(155), FindField(156), FindField(164),
                                             FindField(250), FindField(252), FindField(1002)});
    grid->read_at = now_;
    grid->at(FieldRow{0}, EntityId{0}) = Value::OfDouble(350);
    if (wholes_are_read_) {
      grid->at(FieldRow{2}, EntityId{0}) = Value::OfDouble(700);
      grid->at(FieldRow{3}, EntityId{0}) = Value::OfInt64(80 * 1'024);
    }
    grid->at(FieldRow{4}, EntityId{0}) = Value::OfInt64(20 * 1'024);
    if (sm >= 0) {
      grid->at(FieldRow{5}, EntityId{0}) = Value::OfDouble(sm);
    }
    if (counter_mj_) {
      grid->at(FieldRow{1}, EntityId{0}) = Value::OfInt64(*counter_mj_);
    }
    facts_.now = now_;
    facts_.grid = std::move(grid);
    timeline_.Take(facts_, wall_);
  }

  GpuSamples Samples(uint32_t gpu) const { return timeline_.SamplesOf(FakeDriver::Uuid(gpu)); }
  GpuTimes Times() const { return timeline_.TimesOf(FakeDriver::Uuid(0)); }

  std::shared_ptr<const Topology> topology_ = std::make_shared<Topology>(FakeDriver::Gpus(2));
  Instant now_{hours_};
  WallTime wall_{hours_};
  TickFacts facts_;
  bool wholes_are_read_ = true;        // Power limit and total memory, at the next tick.
  std::optional<int64_t> counter_mj_;  // Of GPU 0, at the next tick.
  GpuTimeline timeline_{seconds(1)};

 private:
  static constexpr std::chrono::hours hours_{1};
};

// Only while someone looks does the tick read them.
TEST_F(GpuTimelineTest, KnowsPercentsOfOlderSamplesOnceTheWholeIsRead) {
  wholes_are_read_ = false;
  Tick(0.5);
  EXPECT_EQ(Samples(0).memory, std::vector<int8_t>{kNoSample});
  wholes_are_read_ = true;
  Tick(0.5);
  wholes_are_read_ = false;
  Tick(0.5);
  EXPECT_EQ(Samples(0).memory, (std::vector<int8_t>{25, 25, 25}));
  EXPECT_EQ(Samples(0).power, (std::vector<int8_t>{50, 50, 50}));
}

TEST_F(GpuTimelineTest, AddsUpTheEnergySinceTheCounterWasFirstRead) {
  Tick(0.5);
  EXPECT_EQ(Times().energy_joules, std::nullopt);
  for (const auto& [counter_mj, joules] : {std::pair(5'000'000, 0.0), std::pair(5'004'000, 4.0),
                                           std::pair(1'000, 4.0), std::pair(3'500, 6.5)}) {
    counter_mj_ = counter_mj;
    Tick(0.5);
    EXPECT_EQ(Times().energy_joules, joules) << "the driver was loaded again at 1,000";
  }
  counter_mj_.reset();
  Tick(0.5);
  EXPECT_EQ(Times().energy_joules, 6.5);
}

TEST_F(GpuTimelineTest, KeepsPercentsOfTheLastFiveMinutes) {
  Tick(0.5);
  Tick(-1);
  Tick(0.961);
  GpuSamples samples = Samples(0);
  EXPECT_EQ(samples.sm, (std::vector<int8_t>{50, kNoSample, 96}));
  EXPECT_EQ(samples.memory, (std::vector<int8_t>{25, 25, 25}));
  EXPECT_EQ(samples.power, (std::vector<int8_t>{50, 50, 50}));
  EXPECT_EQ(Samples(1).sm, std::vector<int8_t>(3, kNoSample));
  for (int i = 0; i < 400; ++i) {
    Tick(0.25);
  }
  samples = Samples(0);
  EXPECT_EQ(samples.sm, std::vector<int8_t>(kHistorySamples, 25));
  EXPECT_TRUE(timeline_.SamplesOf("GPU-other").sm.empty());
}

TEST_F(GpuTimelineTest, LeavesAGapWhereReadingsAreMissing) {
  Tick(0.5);
  Tick(0.5, seconds(3));
  EXPECT_EQ(Samples(0).sm, (std::vector<int8_t>{50, kNoSample, kNoSample, 50}));
  Tick(0.7, seconds(0));  // The same reading again.
  EXPECT_EQ(Samples(0).sm.size(), 4u);
}

TEST_F(GpuTimelineTest, KeepsTheHistoryOfAGpuThatHasAnotherNumber) {
  Tick(0.5);
  auto other = std::make_shared<Topology>(FakeDriver::Gpus(2));
  std::swap(other->gpus[0].uuid, other->gpus[1].uuid);
  topology_ = other;
  Tick(0.7);
  EXPECT_EQ(Samples(0).sm, (std::vector<int8_t>{50, kNoSample}));
  EXPECT_EQ(Samples(1).sm, (std::vector<int8_t>{kNoSample, 70}));
}

TEST_F(GpuTimelineTest, IdleTimeBeginsWithTheLastKernelOrTheAllocation) {
  Hold({"a"});
  Tick(0);
  EXPECT_TRUE(Times().idle_for_longer) << "it may have been idle before podgpu started";
  EXPECT_EQ(Times().idle_since, wall_);
  Tick(0.5);
  const WallTime kernel = wall_;
  Tick(0);
  EXPECT_EQ(Times().idle_since, kernel);
  EXPECT_FALSE(Times().idle_for_longer);
  Tick(0, minutes(20));
  EXPECT_EQ(Times().idle_since, kernel);
  Hold({"b"});
  Tick(0);
  EXPECT_EQ(Times().idle_since, wall_) << "another pod does not inherit idle time";
  Tick(-1);
  EXPECT_EQ(Times().idle_since, std::nullopt) << "kernels may run unseen";
  Tick(0);
  EXPECT_EQ(Times().idle_since, wall_);
  EXPECT_TRUE(Times().idle_for_longer);
}

TEST_F(GpuTimelineTest, NotesWhenAStateBegan) {
  Tick(0.5);
  EXPECT_EQ(Times().state_since, std::nullopt);
  auto lost = std::make_shared<Topology>(FakeDriver::Gpus(2));
  lost->gpus[0].state = DeviceState::kLost;
  topology_ = lost;
  Tick(-1);
  const WallTime since = wall_;
  Tick(-1);
  EXPECT_EQ(Times().state_since, since);
  EXPECT_EQ(Samples(0).sm, (std::vector<int8_t>{50, kNoSample, kNoSample}));
}

TEST_F(GpuTimelineTest, AllocatesNothingPerTick) {
  Tick(0.5);
  for (int i = 0; i < 3; ++i) {
    facts_.now = now_ += seconds(1);
    const Allocations before = AllocationsOfThisThread();
    timeline_.Take(facts_, wall_);
    EXPECT_EQ((AllocationsOfThisThread() - before).count, 0u);
  }
}

}  // namespace
}  // namespace podgpu
