// The pages of the cluster role, byte for byte, on a virtual clock.
#include "cluster/cluster_tick.h"

#include <cstdlib>
#include <fstream>
#include <iterator>

#include <gtest/gtest.h>

#include "base/testing/manual_clock.h"
#include "tests/strict_parser.h"

namespace podgpu {
namespace {

using std::chrono::seconds;

std::shared_ptr<const NodeReport> Report(const std::string& node, const std::string& uuid,
                                         const std::string& model, const std::string& pod) {
  NodeReport report;
  report.node = node;
  ReportedGpu gpu;
  gpu.uuid = uuid;
  gpu.model = model;
  gpu.state = "ok";
  if (!pod.empty()) {
    gpu.use.owners = {{"default", pod, "main", "nvidia.com/gpu", ""},
                      {"default", pod, "side", "nvidia.com/gpu", ""}};
  }
  report.gpus = {gpu};
  return std::make_shared<const NodeReport>(std::move(report));
}

class ClusterTickTest : public testing::Test {
 protected:
  NodeEntry Entry(const std::string& address, std::shared_ptr<const NodeReport> report) const {
    NodeEntry node;
    node.address.id = address;
    node.last = FetchResult::kOk;
    node.report = std::move(report);
    node.read_at = clock_.Now();
    return node;
  }

  void SetFleet(std::vector<NodeEntry> nodes) {
    auto list = std::make_shared<NodeList>();
    list->is_found = true;
    list->is_ok = true;
    for (const NodeEntry& node : nodes) {
      list->addresses.push_back(node.address);
    }
    list_.Set(std::move(list));
    auto fleet = std::make_shared<Fleet>();
    fleet->nodes = std::move(nodes);
    fleet->fetches[0] = 7;
    fleet_.Set(std::move(fleet));
  }

  void SetThreeNodes() {
    NodeEntry silent = Entry("10.0.0.2:9400", Report("node-2", "GPU-2", "2080ti", "test2"));
    silent.last = FetchResult::kTimeout;
    silent.failures = 3;
    NodeEntry never = Entry("10.0.0.3:9400", nullptr);
    never.last = FetchResult::kNoConnection;
    never.failures = 9;
    SetFleet({Entry("10.0.0.1:9400", Report("gpu-node.1", "GPU-1", "Tesla T4", "test1")), silent,
              never, Entry("10.0.0.4:9400", Report("node-4", "GPU-4", "Tesla T4", ""))});
  }

  ManualClock clock_;
  Wakeup wakeup_;
  Published<Fleet> fleet_;
  Published<NodeList> list_;
};

// Compares with tests/golden/NAME, except for the version of podgpu.
void ExpectGolden(std::string page, const std::string& name) {
  EXPECT_TRUE(ParseTextStrictly(page).ok()) << page;
  constexpr std::string_view kVersionLabel = "podgpu_build_info{version=\"";
  if (const size_t at = page.find(kVersionLabel); at != std::string::npos) {
    const size_t begin = at + kVersionLabel.size();
    page.erase(begin, page.find('"', begin) - begin);
  }
  const std::string path = "tests/golden/" + name;
  if (std::getenv("PODGPU_UPDATE_GOLDEN") != nullptr) {
    std::ofstream(path) << page;
  }
  std::ifstream file(path);
  EXPECT_EQ(page, std::string(std::istreambuf_iterator<char>(file), {})) << path;
}

TEST_F(ClusterTickTest, MakesTheGoldenPages) {
  SetThreeNodes();
  clock_.Advance(seconds(5));
  ClusterTick tick({.deprecated_map = true}, {fleet_, list_}, clock_, wakeup_);
  tick.Once();
  ExpectGolden(std::string(tick.metrics().Get()->text()), "cluster-map.prom");
  ExpectGolden(std::string(tick.node_families().Get()->text()), "cluster-nodes.prom");
  EXPECT_TRUE(ParseOpenMetricsStrictly(tick.metrics().Get()->openmetrics()).ok());
}

TEST_F(ClusterTickTest, MakesNewLinesOnlyWhenSomethingHasChanged) {
  SetThreeNodes();
  ClusterTick tick({.withdraw_after = seconds(60)}, {fleet_, list_}, clock_, wakeup_);
  tick.Once();
  const auto first = tick.metrics().Get();
  const auto families = tick.node_families().Get();
  clock_.Advance(seconds(50));
  auto unchanged = std::make_shared<Fleet>(*fleet_.Get());
  unchanged->nodes[0].last = FetchResult::kUnchanged;
  fleet_.Set(unchanged);
  tick.Once();
  EXPECT_NE(tick.metrics().Get(), first);
  EXPECT_EQ(tick.metrics().Get()->parts().plan, first->parts().plan);
  EXPECT_EQ(tick.node_families().Get(), families);
  clock_.Advance(seconds(11));
  tick.Once();
  EXPECT_EQ(tick.metrics().Get()->text().find("pod_and_gpu_map_info"), std::string_view::npos);
  EXPECT_EQ(tick.node_families().Get()->text(), "");
}

TEST_F(ClusterTickTest, SaysWhatItWaitsFor) {
  ClusterTick tick({}, {fleet_, list_}, clock_, wakeup_);
  fleet_.Set(std::make_shared<const Fleet>());
  NodeList none;
  none.detail = "looking";
  list_.Set(std::make_shared<const NodeList>(none));
  tick.Once();
  EXPECT_EQ(tick.condition().Get()->verdict, "not ready: looking");
  SetThreeNodes();
  auto waiting = std::make_shared<Fleet>(*fleet_.Get());
  waiting->nodes[0].last = std::nullopt;
  waiting->nodes.pop_back();
  fleet_.Set(waiting);
  tick.Once();
  EXPECT_EQ(tick.condition().Get()->verdict, "not ready: 2 of 4 nodes have not been contacted yet");
  SetThreeNodes();
  tick.Once();
  EXPECT_TRUE(tick.condition().Get()->ready);
  EXPECT_EQ(tick.condition().Get()->verdict,
            "ready: 2 of 4 nodes answer, with 3 GPUs; 1 unresponsive; 1 degraded");
}

// Two pods without NODE_NAME on hosts with the same name: without this message half of the fleet
// would be missing unnoticed.
TEST_F(ClusterTickTest, SaysThatNodesShareAName) {
  SetThreeNodes();
  auto same = std::make_shared<Fleet>(*fleet_.Get());
  auto report = std::make_shared<NodeReport>(*same->nodes[1].report);
  report->node = same->nodes[0].report->node;
  same->nodes[1].report = report;
  fleet_.Set(same);
  ClusterTick tick({}, {fleet_, list_}, clock_, wakeup_);
  tick.Once();
  const std::string verdict = tick.condition().Get()->verdict;
  EXPECT_NE(verdict.find("; 1 degraded: " + same->nodes[0].address.id + " and " +
                         same->nodes[1].address.id + " both call themselves \"" + report->node +
                         "\", so only the first counts: set NODE_NAME from spec.nodeName"),
            std::string::npos)
      << verdict;
  EXPECT_NE(tick.metrics().Get()->text().find("reason=\"duplicate\"} 1\n"), std::string_view::npos);
}

// docs/cluster.md lists exactly these families.
TEST(ClusterFamilies, AreThoseOfTheDocument) {
  std::ifstream file("docs/cluster.md");
  const std::string document(std::istreambuf_iterator<char>(file), {});
  for (const Family& family : ClusterFamilyList()) {
    EXPECT_NE(document.find("`" + family.name), std::string::npos) << family.name;
  }
}

}  // namespace
}  // namespace podgpu
