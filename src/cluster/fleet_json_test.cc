#include "cluster/fleet_json.h"

#include <boost/json.hpp>
#include <gtest/gtest.h>

namespace podgpu {
namespace {

using std::chrono::seconds;

DeviceUse UsedBy(const std::string& pod_namespace, const std::string& pod, double percent) {
  DeviceUse use;
  use.owners = {{pod_namespace, pod, "main", "nvidia.com/gpu", ""},
                {pod_namespace, pod, "side", "nvidia.com/gpu", ""}};
  use.values[static_cast<size_t>(UseMeasure::kUtilization)] = UseValue{percent, 0};
  use.values[static_cast<size_t>(UseMeasure::kMemoryUsed)] = UseValue{1048576.0 * 512, 0};
  use.values[static_cast<size_t>(UseMeasure::kMemoryTotal)] = UseValue{1048576.0 * 1024, 0};
  return use;
}

ReportedGpu BoardWith(uint32_t index, const std::string& uuid, DeviceUse use) {
  ReportedGpu gpu;
  gpu.index = index;
  gpu.uuid = uuid;
  gpu.model = "NVIDIA H100";
  gpu.state = "ok";
  gpu.use = std::move(use);
  return gpu;
}

// Two nodes that count, one that is withdrawn, and one that never sent a report.
class FleetJsonTest : public testing::Test {
 protected:
  FleetJsonTest() {
    Add("node-1", NodeState::kOk,
        {BoardWith(0, "GPU-a", UsedBy("ml", "train-0", 0.4)), BoardWith(1, "GPU-b", DeviceUse())});
    fleet_.nodes[0].idle =
        std::make_shared<const IdleSpells>(IdleSpells{{"GPU-a", now_ - seconds(90)}});
    ReportedGpu lost = BoardWith(3, "GPU-c", DeviceUse());
    lost.state = "lost";
    lost.use.hidden_owners = 2;
    Add("node-2", NodeState::kFailing,
        {BoardWith(0, "GPU-a", UsedBy("ml", "twin", 0)), lost,
         BoardWith(4, "GPU-d", UsedBy("infer", "chat", 97.6))});
    fleet_.nodes[1].last = FetchResult::kTimeout;
    fleet_.nodes[1].detail = "not within 5 s";
    Add("node-3", NodeState::kWithdrawn, {BoardWith(0, "GPU-e", UsedBy("ml", "old", 50))});
    NodeEntry never;
    never.address.id = "node-4:9400";
    fleet_.nodes.push_back(never);
    states_.push_back(NodeState::kStarting);
  }

  void Add(const std::string& name, NodeState state, std::vector<ReportedGpu> gpus) {
    NodeReport report;
    report.node = name;
    report.verdict = "ready";
    report.owners_known = true;
    report.gpus = std::move(gpus);
    NodeEntry node;
    node.address.id = name + ":9400";
    node.last = FetchResult::kOk;
    node.report = std::make_shared<const NodeReport>(std::move(report));
    node.read_at = now_ - seconds(10);
    fleet_.nodes.push_back(node);
    states_.push_back(state);
  }

  std::shared_ptr<const ClusterFacts> Facts(seconds later = seconds(0)) {
    auto facts = std::make_shared<ClusterFacts>();
    facts->now = now_ + later;
    facts->wall_now = WallTime(seconds(1'700'000'000)) + later;
    if (published_ == nullptr) {
      published_ = std::make_shared<const Fleet>(fleet_);
      list_ = std::make_shared<const NodeList>();
    }
    facts->fleet = published_;
    facts->list = list_;
    facts->states = states_;
    facts->map = MakeClusterMap(*facts->fleet, states_);
    return facts;
  }

  const Instant now_ = Instant() + seconds(1'000);
  Fleet fleet_;
  std::vector<NodeState> states_;
  std::shared_ptr<const Fleet> published_;
  std::shared_ptr<const NodeList> list_;
};

TEST_F(FleetJsonTest, HasAColumnForEachFact) {
  const boost::json::value fleet = boost::json::parse(FleetJson(*Facts()));
  EXPECT_EQ(fleet.at("schema"), 1);
  EXPECT_EQ(fleet.at("ready"), false);
  EXPECT_EQ(fleet.at("namespaces"), boost::json::parse(R"(["ml","infer"])"));
  EXPECT_EQ(fleet.at("pods"), boost::json::parse(R"([[0,"train-0"],[1,"chat"]])"));
  EXPECT_EQ(fleet.at("models"), boost::json::parse(R"(["NVIDIA H100"])"));
  EXPECT_EQ(fleet.at("states"), boost::json::parse(R"(["ok","lost","unresponsive"])"));
  EXPECT_EQ(fleet.at("nodes"), boost::json::parse(R"({
    "node": ["node-1", "node-2", "node-3", ""],
    "address": ["node-1:9400", "node-2:9400", "node-3:9400", "node-4:9400"],
    "state": ["ok", "failing", "withdrawn", "starting"],
    "reason": ["", "timeout", "", ""],
    "detail": ["ready", "not within 5 s", "", ""],
    "read_at_s": [1699999990, 1699999990, 1699999990, null],
    "owners_known": [true, true, false, false],
    "devices": [2, 2, 1, 0]})"));
  // GPU-a is in two reports and once here; the report of node-3 is too old to count.
  EXPECT_EQ(fleet.at("devices"), boost::json::parse(R"({
    "gpu": [0, 1, 3, 4, 0],
    "model": [0, 0, 0, 0, 0],
    "state": [0, 0, 1, 0, 2],
    "activity_percent": [0, null, null, 98, null],
    "memory_used_mib": [512, null, null, 512, null],
    "memory_total_mib": [1024, null, null, 1024, null],
    "instances": [0, 0, 0, 0, 0],
    "pods": [[0], [], [], [1], []],
    "hidden_owners": [0, 0, 2, 0, 0],
    "idle_since_s": [1699999910, null, null, null, null]})"));
}

TEST_F(FleetJsonTest, HasTheRemedyForNodesWithTheSameName) {
  Add("node-1", NodeState::kDuplicate, {BoardWith(0, "GPU-z", DeviceUse())});
  const boost::json::value fleet = boost::json::parse(FleetJson(*Facts()));
  EXPECT_EQ(fleet.at("nodes").at("state").at(4), "duplicate");
  EXPECT_EQ(fleet.at("nodes").at("detail").at(4),
            "node-1:9400 and node-1:9400 both call themselves \"node-1\", so only the first "
            "counts: set NODE_NAME from spec.nodeName in their pods");
  EXPECT_EQ(fleet.at("nodes").at("devices").at(4), 0);
}

TEST_F(FleetJsonTest, HasOnlyTheGpusOfTheRequestedNamespace) {
  const boost::json::value fleet = boost::json::parse(FleetJson(*Facts(), "infer"));
  EXPECT_EQ(fleet.at("namespaces"), boost::json::parse(R"(["infer"])"));
  EXPECT_EQ(fleet.at("nodes").at("node"), boost::json::parse(R"(["node-2"])"));
  EXPECT_EQ(fleet.at("devices").at("gpu"), boost::json::parse("[4]"));
  const boost::json::value none = boost::json::parse(FleetJson(*Facts(), "unknown"));
  EXPECT_EQ(none.at("nodes").at("node"), boost::json::array());
}

TEST_F(FleetJsonTest, IsMadeOnceForEqualRequests) {
  FleetDocuments documents;
  const auto all = documents.Of(Facts(), "");
  const auto some = documents.Of(Facts(), "ml");
  EXPECT_NE(all->etag, some->etag);
  EXPECT_EQ(documents.Of(Facts(seconds(1)), ""), all) << "no node has been read since";
  EXPECT_EQ(documents.Of(Facts(seconds(1)), "ml"), some);
  states_[1] = NodeState::kWithdrawn;
  const auto later = documents.Of(Facts(seconds(2)), "");
  EXPECT_NE(later->etag, all->etag);
  for (int i = 0; i < 40; ++i) {
    documents.Of(Facts(seconds(2)), "n" + std::to_string(i));
  }
  EXPECT_EQ(documents.Of(Facts(seconds(2)), "")->etag, later->etag);
}

TEST(FleetQuery, IsANamespaceOrEmpty) {
  EXPECT_EQ(ParseFleetQuery("").value(), "");
  EXPECT_EQ(ParseFleetQuery("namespace=team-b").value(), "team-b");
  EXPECT_FALSE(ParseFleetQuery("namespace=a%20b").ok());
  EXPECT_FALSE(ParseFleetQuery("namespace=" + std::string(64, 'a')).ok());
  EXPECT_FALSE(ParseFleetQuery("pod=a").ok());
}

}  // namespace
}  // namespace podgpu
