// The cluster-wide map of pods and GPUs, and which nodes count.
#include "cluster/cluster_map.h"

#include <gtest/gtest.h>

namespace podgpu {
namespace {

using std::chrono::seconds;

constexpr std::chrono::milliseconds kLimit{60'000};

NodeEntry Node(const std::string& address, const std::string& name,
               std::vector<ReportedGpu> gpus = {}) {
  auto report = std::make_shared<NodeReport>();
  report->node = name;
  report->gpus = std::move(gpus);
  NodeEntry node;
  node.address.id = address;
  node.last = FetchResult::kOk;
  node.report = std::move(report);
  return node;
}

ReportedGpu Board(const std::string& uuid, std::vector<ReportedOwner> owners) {
  ReportedGpu gpu;
  gpu.uuid = uuid;
  gpu.model = "Tesla T4";
  gpu.state = "ok";
  gpu.use.owners = std::move(owners);
  return gpu;
}

ReportedOwner Holder(const std::string& pod, const std::string& container) {
  return {"default", pod, container, "nvidia.com/gpu", ""};
}

TEST(JudgeNodes, GivesEachNodeItsState) {
  Fleet fleet;
  fleet.nodes = {Node("a", "n1"), Node("b", "n1"), Node("c", "n2"), Node("d", "n3"), {}, {}};
  fleet.nodes[2].last = FetchResult::kTimeout;
  fleet.nodes[3].read_at = Instant() - seconds(1);
  fleet.nodes[4].last = FetchResult::kNoConnection;
  EXPECT_EQ(JudgeNodes(fleet, Instant() + kLimit, kLimit),
            (std::vector<NodeState>{NodeState::kOk, NodeState::kDuplicate, NodeState::kDegraded,
                                    NodeState::kUnresponsive, NodeState::kUnresponsive,
                                    NodeState::kStarting}));
  EXPECT_EQ(WhyDuplicate(fleet, JudgeNodes(fleet, Instant() + kLimit, kLimit), 1),
            "a and b both call themselves \"n1\", so only the first counts: set NODE_NAME "
            "from spec.nodeName in their pods");
}

// A report without GPUs is a valid report.
TEST(JudgeNodes, ANodeWithoutGpusIsOk) {
  Fleet fleet;
  fleet.nodes = {Node("a", "n1")};
  ASSERT_TRUE(fleet.nodes[0].report->gpus.empty());
  EXPECT_EQ(JudgeNodes(fleet, Instant(), kLimit), std::vector<NodeState>{NodeState::kOk});
}

TEST(JudgeNodes, CountsTheSecondOfOneNameOnceTheFirstIsWithdrawn) {
  Fleet fleet;
  fleet.nodes = {Node("a", "n1"), Node("b", "n1")};
  fleet.nodes[1].read_at = Instant() + kLimit;
  EXPECT_EQ(JudgeNodes(fleet, Instant() + kLimit + seconds(1), kLimit),
            (std::vector<NodeState>{NodeState::kUnresponsive, NodeState::kOk}));
}

TEST(NodeStates, HaveTheWordsOfTheNodeRole) {
  for (const auto& [state, word] : std::initializer_list<std::pair<NodeState, std::string_view>>{
           {NodeState::kStarting, "starting"},
           {NodeState::kOk, "ok"},
           {NodeState::kDegraded, "degraded"},
           {NodeState::kUnresponsive, "unresponsive"},
           {NodeState::kDuplicate, "degraded"}}) {
    EXPECT_EQ(NodeStateName(state), word);
    EXPECT_LT(NodeWordIndex(state), static_cast<size_t>(kNodeWordCount));
  }
}

// Equal rows become one, for any containers, replicas and instances.
TEST(ClusterMap, HasOneLineForEachPodAndGpu) {
  Fleet fleet;
  ReportedGpu split = Board("GPU-2", {});
  ReportedInstance instance;
  instance.use.owners = {Holder("b", "main")};
  split.instances = {instance, instance};
  fleet.nodes = {
      Node(
          "a", "n1",
          {Board("GPU-1", {Holder("b", "main"), Holder("b", "side"), Holder("a", "main")}), split}),
      Node("b", "n2", {Board("GPU-3", {})})};
  const ClusterMap map = MakeClusterMap(fleet, JudgeNodes(fleet, Instant(), kLimit));
  EXPECT_EQ(map.rows, (std::vector<PodMapRow>{{"n1", "GPU-1", "Tesla T4", "default", "a"},
                                              {"n1", "GPU-1", "Tesla T4", "default", "b"},
                                              {"n1", "GPU-2", "Tesla T4", "default", "b"}}));
  EXPECT_EQ(map.gpus.size(), 3U);
}

// A node that cannot be read has no rows.
TEST(ClusterMap, HasNoRowsOfNodesThatDoNotCount) {
  Fleet fleet;
  fleet.nodes = {Node("a", "n1", {Board("GPU-1", {Holder("p", "c")})}), {}};
  fleet.nodes[0].last = FetchResult::kNotUnderstood;
  const Instant late = Instant() + kLimit + seconds(1);
  const ClusterMap map = MakeClusterMap(fleet, JudgeNodes(fleet, late, kLimit));
  EXPECT_TRUE(map.rows.empty());
  EXPECT_TRUE(map.gpus.empty());
}

TEST(ClusterMap, LeavesOutAGpuThatAnotherNodeHas) {
  Fleet fleet;
  fleet.nodes = {Node("a", "n1", {Board("GPU-1", {Holder("p", "c")})}),
                 Node("b", "n2", {Board("GPU-1", {Holder("liar", "c")}), Board("GPU-2", {})})};
  fleet.nodes[1].report = [&] {
    auto report = std::make_shared<NodeReport>(*fleet.nodes[1].report);
    report->gpus[1].use.hidden_owners = 2;
    return report;
  }();
  const ClusterMap map = MakeClusterMap(fleet, JudgeNodes(fleet, Instant(), kLimit));
  EXPECT_EQ(map.rows, (std::vector<PodMapRow>{{"n1", "GPU-1", "Tesla T4", "default", "p"}}));
  EXPECT_EQ(map.repeated_gpus, 1U);
  EXPECT_EQ(map.hidden_owners, 2U);
}

TEST(Fleet, ComparesTheHoldersOfReports) {
  const NodeReport report = *Node("a", "n1", {Board("GPU-1", {Holder("p", "c")})}).report;
  NodeReport other = report;
  other.gpus[0].state = "lost";
  other.gpus[0].use.values[0] = UseValue{1, 2};
  EXPECT_TRUE(NameTheSameHolders(report, other));
  other.gpus[0].use.owners.clear();
  EXPECT_FALSE(NameTheSameHolders(report, other));
}

}  // namespace
}  // namespace podgpu
