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

// The query for all GPUs, with `matchers` in each selector.
std::string AllGpus(const std::string& matchers) {
  const auto per_gpu = [](const std::string& series) {
    return "max by (UUID) (label_replace(label_join(" + series +
           R"(, "UUID", ";", "UUID", "uuid", "instance", "gpu"), "UUID", "$1$2", "UUID", )"
           R"(";;(.+)|;?([^;]+);.*")))";
  };
  const auto per_name = [](const std::string& series) {
    return "max by (UUID, uuid, instance, gpu) (" + series + ")";
  };
  const auto in = [&](const std::string& instances) {
    return "{" + instances + (instances.empty() || matchers.empty() ? "" : ",") + matchers + "}";
  };
  const auto either = [&](const std::string& one, const std::string& other) {
    return per_gpu(per_name(one) + " or " + per_name(other));
  };
  const std::string own = "100 * podgpu_gpu_sm_active_ratio";
  const std::string parts = "GPU_I_ID!=\"\"";
  return "avg(" + per_gpu(per_name(own + in("GPU_I_ID=\"\""))) + " or (" +
         either("100 * DCGM_FI_PROF_SM_ACTIVE" + in(""),
                "100 * DCGM_FI_PROF_SM_UTIL_RATIO" + in("")) +
         " or (" +
         either("DCGM_FI_DEV_GPU_UTIL" + in(""), "100 * DCGM_FI_DEV_GPU_UTIL_RATIO" + in("")) +
         " or (" + per_gpu(per_name(own + in(parts))) + " or (" +
         either("100 * DCGM_FI_PROF_GR_ENGINE_ACTIVE" + in(parts),
                "100 * DCGM_FI_PROF_GR_ENGINE_UTIL_RATIO" + in(parts)) +
         ")))))";
}

size_t CountOf(const std::string& text, const std::string& part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != text.npos; at = text.find(part, at + part.size())) {
    ++count;
  }
  return count;
}

TEST(HistoryQuery, SelectsAllGpus) {
  EXPECT_EQ(PromqlOf(""), AllGpus(""));
  EXPECT_EQ(PromqlOf("", "job=\"gpu\""), AllGpus("job=\"gpu\""));
}

TEST(HistoryQuery, SelectsOneGpuByBothSpellingsOfItsUuid) {
  const std::string promql = PromqlOf("node=gpu-node-2&gpu=3", "job=\"gpu\"");
  EXPECT_EQ(
      promql.find("max(100 * podgpu_gpu_sm_active_ratio{UUID=\"GPU-gpu-node-2\",GPU_I_ID="
                  "\"\",job=\"gpu\"}) or (max(100 * DCGM_FI_PROF_SM_ACTIVE{UUID="
                  "\"GPU-gpu-node-2\",job=\"gpu\"} or 100 * DCGM_FI_PROF_SM_ACTIVE{uuid="
                  "\"GPU-gpu-node-2\",job=\"gpu\"} or 100 * DCGM_FI_PROF_SM_UTIL_RATIO{UUID="),
      0U)
      << promql;
  EXPECT_EQ(CountOf(promql, "{UUID=\"GPU-gpu-node-2\","), 8U) << promql;
  EXPECT_EQ(CountOf(promql, "{uuid=\"GPU-gpu-node-2\","), 6U) << promql;
  EXPECT_EQ(CountOf(promql, "job=\"gpu\"}"), 14U) << promql;
}

// The series of podgpu's own family have no name of a node.
TEST(HistoryQuery, SelectsTheNodesOfAGroupByBothSpellingsOfTheirLabel) {
  const std::string promql = PromqlOf("group=pool&value=a");
  EXPECT_NE(promql.find(R"(100 * podgpu_gpu_sm_active_ratio{GPU_I_ID=""} and on (UUID) )"
                        R"(podgpu_gpu_info{hostname=~"gpu-node-2|gpu-node\\.1"})"),
            promql.npos)
      << promql;
  EXPECT_EQ(CountOf(promql, R"({Hostname=~"gpu-node-2|gpu-node\\.1")"), 6U) << promql;
  EXPECT_EQ(CountOf(promql, R"({hostname=~"gpu-node-2|gpu-node\\.1")"), 8U)
      << "without cpu-node, which reports no GPUs: " << promql;
  EXPECT_EQ(CountOf(PromqlOf("value=r1&group=r%61ck"), "ostname=~\"gpu-node-2\""), 14U);
}

TEST(HistoryQuery, NamesWhatDoesNotExist) {
  EXPECT_EQ(PromqlOf("node=other&gpu=3"), "there is no node \"other\"");
  EXPECT_EQ(PromqlOf("node=gpu-node-2&gpu=0"), "node \"gpu-node-2\" has no GPU 0");
  EXPECT_EQ(PromqlOf("group=zone&value=a"), "the label \"zone\" is not one of --group-labels");
  EXPECT_EQ(PromqlOf("group=pool&value=b"), "no node has the label \"pool\"=\"b\"");
}

TEST(HistoryQuery, IsRefusedWhereItIsTooLongForAForm) {
  ClusterFacts facts = FactsOfTwoNodes();
  auto report = std::make_shared<NodeReport>(*facts.fleet->nodes[0].report);
  report->gpus[0].uuid = std::string(size_t{300} << 10, 'x');
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
  const std::string promql = HistoryPromql(query, facts, "").value();
  EXPECT_EQ(CountOf(promql, R"(UUID="a\"} or b\\ ")"), 8U) << promql;
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
