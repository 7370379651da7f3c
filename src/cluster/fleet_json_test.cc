#include "cluster/fleet_json.h"

#include <set>

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

// Two nodes that count, one that is silent, and one that never sent a report.
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
    Add("node-2", NodeState::kDegraded,
        {BoardWith(0, "GPU-a", UsedBy("ml", "twin", 0)), lost,
         BoardWith(4, "GPU-d", UsedBy("infer", "chat", 97.6))});
    fleet_.nodes[1].last = FetchResult::kTimeout;
    fleet_.nodes[1].detail = "not within 5 s";
    Add("node-3", NodeState::kUnresponsive, {BoardWith(0, "GPU-e", UsedBy("ml", "old", 50))});
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
    facts->labels = labels_;
    facts->states = states_;
    facts->map = MakeClusterMap(*facts->fleet, states_);
    return facts;
  }

  const Instant now_ = Instant() + seconds(1'000);
  Fleet fleet_;
  std::vector<NodeState> states_;
  std::shared_ptr<const Fleet> published_;
  std::shared_ptr<const NodeList> list_;
  std::shared_ptr<const NodeLabels> labels_;
};

TEST_F(FleetJsonTest, HasAColumnForEachFact) {
  const boost::json::value fleet = boost::json::parse(MakeFleetText(*Facts()).whole);
  EXPECT_EQ(fleet.at("schema"), 1);
  EXPECT_EQ(fleet.at("ready"), false);
  EXPECT_EQ(fleet.at("namespaces"), boost::json::parse(R"(["ml","infer"])"));
  EXPECT_EQ(fleet.at("pods"), boost::json::parse(R"([[0,"train-0"],[1,"chat"]])"));
  EXPECT_EQ(fleet.at("models"), boost::json::parse(R"(["NVIDIA H100"])"));
  EXPECT_EQ(fleet.at("states"), boost::json::parse(R"(["ok","lost","unresponsive"])"));
  EXPECT_EQ(fleet.at("nodes"), boost::json::parse(R"({
    "node": ["node-1", "node-2", "node-3", ""],
    "address": ["node-1:9400", "node-2:9400", "node-3:9400", "node-4:9400"],
    "state": ["ok", "degraded", "unresponsive", "starting"],
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
  const boost::json::value fleet = boost::json::parse(MakeFleetText(*Facts()).whole);
  EXPECT_EQ(fleet.at("nodes").at("state").at(4), "degraded");
  EXPECT_EQ(fleet.at("nodes").at("detail").at(4),
            "node-1:9400 and node-1:9400 both call themselves \"node-1\", so only the first "
            "counts: set NODE_NAME from spec.nodeName in their pods");
  EXPECT_EQ(fleet.at("nodes").at("devices").at(4), 0);
}

TEST_F(FleetJsonTest, HasOnlyTheGpusOfTheRequestedNamespace) {
  const boost::json::value fleet = boost::json::parse(MakeFleetText(*Facts(), "infer").whole);
  EXPECT_EQ(fleet.at("namespaces"), boost::json::parse(R"(["infer"])"));
  EXPECT_EQ(fleet.at("nodes").at("node"), boost::json::parse(R"(["node-2"])"));
  EXPECT_EQ(fleet.at("devices").at("gpu"), boost::json::parse("[4]"));
  const boost::json::value none = boost::json::parse(MakeFleetText(*Facts(), "unknown").whole);
  EXPECT_EQ(none.at("nodes").at("node"), boost::json::array());
}

TEST_F(FleetJsonTest, HasUuidsOnlyForADashboardThatNeedsThem) {
  const FleetLinks links{.dashboard_url = "https://grafana/d/gpu?uuid={uuid}"};
  const boost::json::value fleet = boost::json::parse(MakeFleetText(*Facts(), {}, links).whole);
  EXPECT_EQ(fleet.at("dashboard_url"), "https://grafana/d/gpu?uuid={uuid}");
  EXPECT_EQ(fleet.at("devices").at("uuid"),
            boost::json::parse(R"(["GPU-a","GPU-b","GPU-c","GPU-d","GPU-e"])"));
  const boost::json::value without = boost::json::parse(MakeFleetText(*Facts()).whole);
  EXPECT_FALSE(without.at("devices").as_object().contains("uuid"));
}

TEST_F(FleetJsonTest, HasATableOfGroupsForEachLabelOfNodes) {
  NodeLabels labels;
  labels.keys = {"pool", "rack"};
  labels.detail = "the API server has not been asked yet";
  labels_ = std::make_shared<const NodeLabels>(labels);
  const std::string before = MakeFleetText(*Facts()).epoch;
  boost::json::value fleet = boost::json::parse(MakeFleetText(*Facts()).whole);
  EXPECT_EQ(fleet.at("groups"), boost::json::array());
  EXPECT_EQ(fleet.at("groups_absent"), "the API server has not been asked yet");
  labels.is_known = true;
  labels.detail.clear();
  labels.of_node = {{"node-1", {"a", std::nullopt}},
                    {"node-2", {"b", "r1"}},
                    {"node-3", {"a", "r1"}},
                    {"node-without-gpus", {"c", "r9"}}};
  labels_ = std::make_shared<const NodeLabels>(labels);
  EXPECT_NE(MakeFleetText(*Facts()).epoch, before) << "groups are tables";
  fleet = boost::json::parse(MakeFleetText(*Facts()).whole);
  EXPECT_EQ(fleet.at("groups"), boost::json::parse(R"([
    {"label": "pool", "names": ["a", "b"], "node": [0, 1, 0, null]},
    {"label": "rack", "names": ["r1"], "node": [null, 0, 0, null]}])"));
  EXPECT_FALSE(fleet.as_object().contains("groups_absent"));
  fleet = boost::json::parse(MakeFleetText(*Facts(), "infer").whole);
  EXPECT_EQ(fleet.at("groups").at(0), boost::json::parse(R"(
    {"label": "pool", "names": ["b"], "node": [0]})"));
}

TEST_F(FleetJsonTest, HasInItsDeltaOnlyStatesAndValues) {
  const boost::json::value whole = boost::json::parse(MakeFleetText(*Facts()).whole);
  const boost::json::object delta = boost::json::parse(MakeFleetText(*Facts()).delta).as_object();
  EXPECT_EQ(delta.at("delta"), true);
  EXPECT_FALSE(whole.as_object().contains("delta"));
  for (const char* key : {"schema", "epoch", "ready", "verdict", "states"}) {
    EXPECT_EQ(delta.at(key), whole.at(key)) << key;
  }
  EXPECT_EQ(delta.size(), 8U) << "besides those: delta, nodes, devices";
  const auto expect_columns = [&](const char* part, std::set<std::string> columns) {
    for (const auto& [key, column] : delta.at(part).as_object()) {
      EXPECT_EQ(columns.erase(std::string(key)), 1U) << key;
      EXPECT_EQ(column, whole.at(part).at(key)) << key;
    }
    EXPECT_TRUE(columns.empty()) << *columns.begin();
  };
  expect_columns("nodes", {"state", "reason", "detail", "read_at_s", "owners_known"});
  expect_columns("devices", {"state", "activity_percent", "memory_used_mib", "idle_since_s"});
}

TEST_F(FleetJsonTest, HasANewEpochWhenNodesOrHoldersChange) {
  const std::string epoch = MakeFleetText(*Facts()).epoch;
  fleet_.nodes[0].read_at = now_;
  fleet_.nodes[1].detail = "not within 6 s";
  published_ = nullptr;
  EXPECT_EQ(MakeFleetText(*Facts()).epoch, epoch) << "times and details are no tables";
  Add("node-5", NodeState::kOk, {BoardWith(0, "GPU-f", DeviceUse())});
  published_ = nullptr;
  const std::string larger = MakeFleetText(*Facts()).epoch;
  EXPECT_NE(larger, epoch);
  Add("node-5", NodeState::kOk, {BoardWith(0, "GPU-f", UsedBy("ml", "train-0", 0))});
  fleet_.nodes.erase(fleet_.nodes.end() - 2);
  states_.pop_back();
  published_ = nullptr;
  EXPECT_NE(MakeFleetText(*Facts()).epoch, larger) << "a pod has got the GPU";
  EXPECT_NE(MakeFleetText(*Facts(), {}, {.node_url = "http://{node}/"}).epoch,
            MakeFleetText(*Facts()).epoch);
}

}  // namespace
}  // namespace podgpu
