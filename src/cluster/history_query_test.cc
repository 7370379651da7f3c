#include "cluster/history_query.h"

#include <gtest/gtest.h>

namespace podgpu {
namespace {

// Two nodes with a GPU each; the labels of three.
ClusterFacts FactsOfTwoNodes() {
  auto fleet = std::make_shared<Fleet>();
  ClusterFacts facts;
  for (const char* name : {"gpu-node.1", "gpu-node-2"}) {
    NodeReport report;
    report.node = name;
    report.gpus.resize(1);
    report.gpus[0].index = 3;
    report.gpus[0].uuid = std::string("GPU-") + name;
    NodeEntry node;
    node.report = std::make_shared<const NodeReport>(std::move(report));
    fleet->nodes.push_back(std::move(node));
    facts.states.push_back(NodeState::kOk);
  }
  facts.fleet = std::move(fleet);
  NodeLabels labels;
  labels.keys = {"rack", "pool"};
  labels.of_node = {
      {"gpu-node.1", {std::nullopt, "a"}}, {"gpu-node-2", {"r1", "a"}}, {"cpu-node", {"r1", "a"}}};
  facts.labels = std::make_shared<const NodeLabels>(std::move(labels));
  return facts;
}

std::string PromqlOf(std::string_view query, std::string_view matchers = "") {
  const StatusOr<HistoryQuery> parsed = ParseHistoryQuery(query);
  EXPECT_TRUE(parsed.ok()) << query << ": " << parsed.status();
  const StatusOr<std::string> promql = HistoryPromql(*parsed, FactsOfTwoNodes(), matchers);
  return promql.ok() ? *promql : std::string(promql.status().message());
}

// The query with the series of each family that match one of `selectors`.  Families have the names
// of dcgm-exporter up to 4.8.4 and of 4.9.
std::string Activity(const std::vector<std::string>& selectors) {
  const auto of = [&](const std::string& family) {
    std::string all;
    for (const std::string& selector : selectors) {
      all.append(all.empty() ? "" : " or ").append(family).append("{" + selector + "}");
    }
    return all;
  };
  return "100 * avg(max by (UUID) (" + of("DCGM_FI_PROF_SM_ACTIVE") + " or " +
         of("DCGM_FI_PROF_SM_UTIL_RATIO") + ")) or avg(max by (UUID) (" +
         of("DCGM_FI_DEV_GPU_UTIL") + " or " + of("100 * DCGM_FI_DEV_GPU_UTIL_RATIO") + "))";
}

std::string Single(const std::string& selector) { return Activity({selector}); }

// A group is found by both spellings of the label.
std::string Group(const std::string& names) {
  return Activity({"Hostname=~" + names, "hostname=~" + names});
}

TEST(HistoryQuery, SelectsOneGpuTheNodesOfAGroupOrAll) {
  EXPECT_EQ(PromqlOf(""), Single(""));
  EXPECT_EQ(PromqlOf("", "job=\"gpu\""), Single("job=\"gpu\""));
  EXPECT_EQ(PromqlOf("node=gpu-node-2&gpu=3", "job=\"gpu\""),
            Single("UUID=\"GPU-gpu-node-2\",job=\"gpu\""));
  EXPECT_EQ(PromqlOf("group=pool&value=a"), Group(R"("gpu-node-2|gpu-node\\.1")"))
      << "without cpu-node, which reports no GPUs";
  EXPECT_EQ(PromqlOf("value=r1&group=r%61ck"), Group("\"gpu-node-2\""));
}

TEST(HistoryQuery, NamesWhatDoesNotExist) {
  EXPECT_EQ(PromqlOf("node=other&gpu=3"), "there is no node \"other\"");
  EXPECT_EQ(PromqlOf("node=gpu-node-2&gpu=0"), "node \"gpu-node-2\" has no GPU 0");
  EXPECT_EQ(PromqlOf("group=zone&value=a"), "the label \"zone\" is not one of --group-labels");
  EXPECT_EQ(PromqlOf("group=pool&value=b"), "no node has the label \"pool\"=\"b\"");
}

TEST(HistoryQuery, IsRefusedWhereItIsTooLongForAUrl) {
  ClusterFacts facts = FactsOfTwoNodes();
  auto report = std::make_shared<NodeReport>(*facts.fleet->nodes[0].report);
  report->gpus[0].uuid = std::string(size_t{200} << 10, 'x');
  auto fleet = std::make_shared<Fleet>(*facts.fleet);
  fleet->nodes[0].report = report;
  facts.fleet = fleet;
  const HistoryQuery query{.node = "gpu-node.1", .gpu = 3, .label = {}, .value = {}};
  EXPECT_EQ(HistoryPromql(query, facts, "").status().code(), absl::StatusCode::kResourceExhausted);
}

TEST(HistoryQuery, QuotesNamesForPromql) {
  ClusterFacts facts = FactsOfTwoNodes();
  auto fleet = std::make_shared<Fleet>(*facts.fleet);
  auto report = std::make_shared<NodeReport>(*fleet->nodes[0].report);
  report->gpus[0].uuid = "a\"} or b\\\n";
  fleet->nodes[0].report = report;
  facts.fleet = fleet;
  const HistoryQuery query{.node = "gpu-node.1", .gpu = 3, .label = {}, .value = {}};
  EXPECT_EQ(HistoryPromql(query, facts, "").value(), Single(R"(UUID="a\"} or b\\ ")"));
}

TEST(HistoryQuery, IsTheSameTextForEqualQueries) {
  EXPECT_EQ(ParseHistoryQuery("gpu=3&node=a%2Db")->key(),
            ParseHistoryQuery("node=a-b&gpu=3")->key());
  EXPECT_EQ(ParseHistoryQuery("")->key(), "");
  EXPECT_EQ(ParseHistoryQuery("group=a/b&value=c+d")->key(), "group=a%2Fb&value=c%20d");
  EXPECT_EQ(ParseHistoryQuery("group=a/b&value=c%2Bd")->value, "c+d");
}

TEST(HistoryQuery, IsRefusedWithTheParametersThatExist) {
  for (const char* query :
       {"node=a", "gpu=3", "group=pool", "value=a", "pod=a", "node=a&gpu=3&group=pool&value=a"}) {
    const auto parsed = ParseHistoryQuery(query);
    ASSERT_FALSE(parsed.ok()) << query;
    EXPECT_EQ(
        parsed.status().message(),
        "the parameters are \"node\" and \"gpu\", or \"group\" and \"value\", or none for all "
        "GPUs");
  }
  EXPECT_EQ(ParseHistoryQuery("node=a&gpu=x").status().message(),
            "\"gpu\" is the number of a GPU, such as 3");
  EXPECT_EQ(ParseHistoryQuery("node=&gpu=1").status().message(),
            "\"node\" needs a value of at most 1024 bytes");
  EXPECT_EQ(ParseHistoryQuery("node=" + std::string(2'000, 'a')).status().message(),
            "\"node\" needs a value of at most 1024 bytes");
}

}  // namespace
}  // namespace podgpu
