#include "cluster/metrics_feed.h"

#include <gtest/gtest.h>

namespace podgpu {
namespace {

using std::chrono::seconds;

ClusterFacts FactsOfNodes(const std::vector<NodeState>& states) {
  auto fleet = std::make_shared<Fleet>();
  ClusterFacts facts;
  facts.now = Instant(seconds(100));
  facts.wall_now = WallTime(seconds(1'700'000'100));
  for (size_t i = 0; i < states.size(); ++i) {
    NodeEntry& node = fleet->nodes.emplace_back();
    node.address.id = "10.0.0." + std::to_string(i);
    node.last = FetchResult::kOk;
    auto report = std::make_shared<NodeReport>();
    report->node = "n" + std::to_string(i);
    node.report = std::move(report);
    node.read_at = Instant(seconds(93));
  }
  facts.fleet = std::move(fleet);
  facts.states = states;
  auto list = std::make_shared<NodeList>();
  list->is_found = list->is_ok = true;
  facts.list = std::move(list);
  return facts;
}

TEST(MetricsFeed, TellsTheNodesThatCountFromThoseThatDoNotAnswer) {
  ClusterFacts facts =
      FactsOfNodes({NodeState::kOk, NodeState::kUnresponsive, NodeState::kDegraded,
                    NodeState::kDuplicate, NodeState::kStarting, NodeState::kUnresponsive});
  auto fleet = std::make_shared<Fleet>(*facts.fleet);
  fleet->nodes[3].report = fleet->nodes[0].report;  // The same node under two addresses.
  fleet->nodes[5].report = nullptr;                 // It has never answered.
  facts.fleet = std::move(fleet);
  const WindowFleet taken = MetricsFleetOf(facts);
  ASSERT_EQ(taken.nodes.size(), 2U);
  EXPECT_EQ(taken.nodes[0].report->node + taken.nodes[1].report->node, "n0n2");
  EXPECT_EQ(taken.nodes[0].read_ms, 1'700'000'093'000);
  ASSERT_EQ(taken.absent.away.size(), 1U);
  EXPECT_EQ(taken.absent.away[0]->node, "n1");
  EXPECT_EQ(taken.absent.unread, 2U);
  EXPECT_FALSE(taken.absent.may_be_more);

  auto other = std::make_shared<NodeReport>(*facts.fleet->nodes[0].report);
  other->gpus.resize(1);
  other->gpus[0].uuid = "GPU-of-another-node";
  fleet = std::make_shared<Fleet>(*facts.fleet);
  fleet->nodes[3].report = std::move(other);
  facts.fleet = std::move(fleet);
  auto list = std::make_shared<NodeList>(*facts.list);
  list->is_ok = false;
  facts.list = std::move(list);
  EXPECT_EQ(MetricsFleetOf(facts).absent.away.size(), 2U) << "a second node with this name";
  EXPECT_TRUE(MetricsFleetOf(facts).absent.may_be_more);
}

TEST(MetricsFeed, MeansByInUseAndIdleTheSameAsThePages) {
  DeviceUse use;
  use.values[static_cast<size_t>(UseMeasure::kMemoryCopy)] = UseValue{50, 0};
  const WindowOptions by_value = MetricsWindowOf({}, InUseMeaning::kValue);
  EXPECT_EQ(by_value.share_of(use, AveragedMeasure::kMemoryCopy), 0.5);
  EXPECT_EQ(by_value.share_of(use, AveragedMeasure::kSm), std::nullopt);
  EXPECT_EQ(by_value.is_in_use(use, 0.5), true);
  EXPECT_EQ(by_value.is_in_use(use, 0), false);
  EXPECT_EQ(MetricsWindowOf({}, InUseMeaning::kPod).is_in_use(use, 0.5), false);
  EXPECT_EQ(MetricsWindowOf({}, InUseMeaning::kProcess).is_in_use(use, 0.5), std::nullopt);
  EXPECT_EQ(by_value.does_nothing(use), std::nullopt) << "its activity is unknown";
  use.values[static_cast<size_t>(UseMeasure::kUtilization)] = UseValue{0, 0};
  EXPECT_EQ(by_value.does_nothing(use), true);
  EXPECT_EQ(by_value.workload_of("llm-5d8f6c7b9d-x2vqk"), "llm");
}

size_t LinesAbout(const ClusterFacts& facts, std::string_view prefix) {
  size_t lines = 0;
  for (const SlotFamily& family : ClusterFamilies(facts, 0)) {
    lines += family.family.name.starts_with(prefix) ? family.series.size() : 0;
  }
  return lines;
}

TEST(MetricsApiFamilies, HaveLinesOnlyWhileTheMetricsApiIsOn) {
  ClusterFacts facts = FactsOfNodes({NodeState::kOk});
  EXPECT_EQ(LinesAbout(facts, "podgpu_metrics_api_"), 0U);
  auto api = std::make_shared<MetricsApiFacts>();
  facts.metrics_api = api;
  const size_t without_authority = LinesAbout(facts, "podgpu_metrics_api_");
  EXPECT_GE(without_authority, 30U);
  api->authority = AuthorityFacts();
  api->node_labels = WatchFacts();
  EXPECT_EQ(LinesAbout(facts, "podgpu_metrics_api_"), without_authority + 12 + 1);
  std::vector<Value> slots;
  WriteClusterSlots(facts, slots);
  EXPECT_EQ(slots.size(), CountSlots(ClusterFamilies(facts, 0)));
}

TEST(MetricsApiFamilies, AreInTheVerdictOfTheClusterRoleWhileSomethingIsWrong) {
  ClusterFacts facts = FactsOfNodes({NodeState::kOk});
  auto api = std::make_shared<MetricsApiFacts>();
  facts.metrics_api = api;
  ClusterCondition condition = JudgeCluster(facts);
  EXPECT_TRUE(condition.ready) << "the map does not depend on it";
  EXPECT_EQ(
      condition.verdict,
      "ready: 1 of 1 nodes answer, with 0 GPUs; metrics API not ready: it is not known yet "
      "which callers the API server trusts; no window of samples has been made yet; the labels "
      "of pods have not been read yet");
  const WatchFacts good{.has_data = true, .is_ok = true, .detail = ""};
  api->callers = api->pod_labels = good;
  api->has_table = true;
  EXPECT_EQ(JudgeCluster(facts).verdict, "ready: 1 of 1 nodes answer, with 0 GPUs");
  api->certificate_is_old = true;
  EXPECT_NE(JudgeCluster(facts).verdict.find("; metrics API ready; the changed certificate files"),
            std::string::npos);
}

}  // namespace
}  // namespace podgpu
