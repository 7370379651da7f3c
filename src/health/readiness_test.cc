#include "health/readiness.h"

#include <functional>

#include <gtest/gtest.h>

#include "attribution/join.h"
#include "source/testing/fake_source.h"

namespace podgpu {
namespace {

using std::chrono::seconds;

// A node of two GPUs whose source reports no problem; each case changes what the readings tell.
struct NodeCase {
  std::string_view label;
  std::function<void(TickFacts&, Topology&)> change;
  bool ready;
  std::string_view verdict;
  PartState driver;
};

void PrintTo(const NodeCase& node, std::ostream* out) { *out << node.label; }

class ReadinessOfANode : public ::testing::TestWithParam<NodeCase> {};

void SetUnresponsive(TickFacts& facts, size_t gpu, Absence reason) {
  facts.freshness.unresponsive.set(gpu);
  facts.freshness.reasons[gpu] = reason;
}

void AddMisreadInstance(Topology& topology, uint16_t gpu) {
  GpuInstance& instance = topology.instances.emplace_back();
  instance.gpu = gpu;
  instance.is_misread = true;
}

TEST_P(ReadinessOfANode, NeedsAFreshValueOfEachGpuThatCounts) {
  TickFacts facts;
  facts.pods = std::make_shared<const PodFacts>();
  facts.config = std::make_shared<const ConfigNotes>();
  facts.stale_after = seconds(5);
  facts.grid_age = seconds(1);
  facts.source = std::make_shared<const SourceStatus>(SourceStatus{PartState::kOk, "s", 1, 0, 2});
  auto topology = std::make_shared<Topology>(FakeDriver::Gpus(2));
  GetParam().change(facts, *topology);
  facts.grid = std::make_shared<const Grid>(topology, std::vector<const Field*>{});
  facts.owners = std::make_shared<const Owners>(Join(*topology, {}, {}));
  const Condition condition = Judge(BasisOf(facts));
  EXPECT_EQ(condition.ready, GetParam().ready);
  EXPECT_EQ(condition.verdict, GetParam().verdict);
  EXPECT_EQ(condition.reads, facts.grid_age <= facts.stale_after) << "whatever the devices do";
  EXPECT_EQ(condition.parts[0].state, GetParam().driver) << condition.parts[0].detail;
  EXPECT_EQ(condition.parts[0].detail.find("s"), 0U);
}

INSTANTIATE_TEST_SUITE_P(
    Readiness, ReadinessOfANode,
    ::testing::Values(
        NodeCase{"well", [](TickFacts&, Topology&) {}, true, "ready: 2 GPUs have fresh samples",
                 PartState::kOk},
        NodeCase{
            "one frozen",
            [](TickFacts& facts, Topology&) { SetUnresponsive(facts, 1, Absence::kStale); }, false,
            "not ready: GPU 1 without a fresh value, since its samples are older than 5.0 s. 1 "
            "of 2 GPUs served, 1 unresponsive",
            PartState::kOk},
        NodeCase{"one without any value",
                 [](TickFacts& facts, Topology&) { SetUnresponsive(facts, 0, Absence::kNoData); },
                 false,
                 "not ready: GPU 0 without a fresh value, since its values are absent as "
                 "\"no_data\" (watched, but no sample yet). 1 of 2 GPUs served, 1 "
                 "unresponsive",
                 PartState::kOk},
        NodeCase{
            "all frozen",
            [](TickFacts& facts, Topology&) {
              SetUnresponsive(facts, 0, Absence::kStale);
              SetUnresponsive(facts, 1, Absence::kStale);
            },
            false,
            "not ready: no GPU gives a fresh value: the samples of all stopped more than 5.0 s "
            "ago, though the source answers, 2 unresponsive",
            PartState::kUnresponsive},
        NodeCase{"telemetry paused, as the source says",
                 [](TickFacts& facts, Topology& topology) {
                   SetUnresponsive(facts, 0, Absence::kStale);
                   SetUnresponsive(facts, 1, Absence::kNoData);
                   topology.is_paused = true;
                 },
                 false,
                 "not ready: no GPU gives a fresh value: telemetry is paused, as for a diagnosis "
                 "(dcgmi diag), 2 unresponsive",
                 PartState::kUnresponsive},
        NodeCase{"driver detached",
                 [](TickFacts&, Topology& topology) {
                   topology.gpus[0].state = DeviceState::kLost;
                   topology.gpus[1].state = DeviceState::kLost;
                 },
                 false, "not ready: no GPU is served: the driver has lost or released them, 2 lost",
                 PartState::kUnresponsive},
        NodeCase{"first reading",
                 [](TickFacts& facts, Topology&) {
                   facts.freshness.awaited.set(1);
                   facts.freshness.never_sampled.set(1);
                 },
                 false, "not ready: waiting for the first value of GPU 1", PartState::kOk},
        NodeCase{
            "watched again",
            [](TickFacts& facts, Topology&) {
              facts.freshness.awaited.set(1);
              facts.freshness.reasons[1] = Absence::kNoData;
            },
            false,
            "not ready: GPU 1 gave no value at the newest reading, since its values are absent "
            "as \"no_data\" (watched, but no sample yet). 1 of 2 GPUs served, 1 recovering",
            PartState::kOk},
        NodeCase{"instances of another GPU",
                 [](TickFacts& facts, Topology& topology) {
                   AddMisreadInstance(topology, 1);
                   facts.freshness.losses[1] = DeviceLoss::kHardwareThermal;
                 },
                 false,
                 "not ready: the MIG instances of GPU 1 have no fresh value, since the engine has "
                 "given new numbers to instances, as it does when a GPU is bound again; the engine "
                 "must be restarted",
                 PartState::kOk},
        NodeCase{"instances of another GPU, not selected",
                 [](TickFacts& facts, Topology& topology) {
                   AddMisreadInstance(topology, 1);
                   facts.excluded_gpus.set(1);
                 },
                 true, "ready: 1 of 2 GPUs served, 1 not selected", PartState::kOk},
        NodeCase{
            "a reading without values",
            [](TickFacts& facts, Topology& topology) {
              facts.freshness.awaited.set(1);
              facts.freshness.reasons[1] = Absence::kBlank;
              topology.gpus[0].state = DeviceState::kLost;
            },
            false,
            "not ready: GPU 1 gave no value at the newest reading, since its values are absent as "
            "\"blank\" (the driver answered blank without a reason). 0 of 2 GPUs served, 1 lost, 1 "
            "recovering",
            PartState::kOk},
        NodeCase{"one throttled",
                 [](TickFacts& facts, Topology&) {
                   facts.freshness.losses[1] = DeviceLoss::kHardwareThermal;
                 },
                 true, "ready: 2 of 2 GPUs served, 1 degraded", PartState::kOk},
        NodeCase{"one asleep",
                 [](TickFacts& facts, Topology&) {
                   facts.freshness.excused.set(1);
                   facts.freshness.reasons[1] = Absence::kSuspended;
                 },
                 true, "ready: 1 of 2 GPUs served, 1 without values (device_suspended)",
                 PartState::kOk},
        NodeCase{"an excluded one is frozen",
                 [](TickFacts& facts, Topology&) {
                   SetUnresponsive(facts, 1, Absence::kStale);
                   facts.excluded_gpus.set(1);
                 },
                 true, "ready: 1 of 2 GPUs served, 1 not selected", PartState::kOk},
        NodeCase{"nothing is selected",
                 [](TickFacts& facts, Topology&) {
                   facts.excluded_gpus.set(0);
                   facts.excluded_gpus.set(1);
                 },
                 true, "ready: 0 of 2 GPUs served, 2 not selected", PartState::kOk},
        NodeCase{"a hung call has returned",
                 [](TickFacts& facts, Topology&) { facts.awaits_reading = true; }, true,
                 "ready: 2 GPUs have fresh samples", PartState::kUnresponsive},
        NodeCase{"the newest reading is old",
                 [](TickFacts& facts, Topology&) { facts.grid_age = seconds(7); }, false,
                 "not ready: the newest sample is 7.0 s old and withdrawn",
                 PartState::kUnresponsive}));

TEST(ReadinessWithoutADriver, IsThatOfANodeThatHasNothingToServe) {
  TickFacts facts;
  facts.pods = std::make_shared<const PodFacts>();
  facts.config = std::make_shared<const ConfigNotes>();
  SourceStatus source{.state = PartState::kWaiting, .detail = "no driver yet", .expected_gpus = 8};
  source.remedy = "load the driver";
  facts.source = std::make_shared<const SourceStatus>(source);
  const Condition waiting = Judge(BasisOf(facts));
  EXPECT_FALSE(waiting.ready);
  EXPECT_EQ(waiting.verdict,
            "not ready: no driver yet; expected GPUs: 8. What helps: load the driver");
  EXPECT_EQ(waiting.parts[0].remedy, "load the driver");
  EXPECT_FALSE(waiting.reads);

  source = {
      .state = PartState::kOk, .detail = "no NVIDIA GPU on this node", .needs_no_driver = true};
  facts.source = std::make_shared<const SourceStatus>(source);
  const Condition none = Judge(BasisOf(facts));
  EXPECT_TRUE(none.ready);
  EXPECT_EQ(none.verdict, "ready: no NVIDIA GPU on this node");
  EXPECT_TRUE(none.reads);

  facts.running = RunningCall{SourceCall::kOpen, seconds(20), true};
  EXPECT_FALSE(Judge(BasisOf(facts)).ready) << "an engine hangs";
  EXPECT_EQ(none.parts[0].state, PartState::kOk);
}

}  // namespace
}  // namespace podgpu
