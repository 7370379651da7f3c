// The cluster-wide map of pods and GPUs: its families, labels and rows.
#include "view/pod_map.h"

#include <vector>

#include <gtest/gtest.h>

#include "exposition/text.h"
#include "sample/value.h"
#include "tests/strict_parser.h"

namespace podgpu {
namespace {

const std::vector<PodMapRow> kTwoRows = {
    {"gpu-node.1", "GPU-1", "Tesla T4", "default", "test1"},
    {"gpu-node.1", "GPU-2", "Tesla T4", "default", "test2"},
};

using AddView = void (*)(std::span<const PodMapRow> rows, PlanBuilder& plan);

std::string PageOf(std::span<const PodMapRow> rows, AddView add) {
  PlanBuilder builder;
  add(rows, builder);
  const SeriesPlan plan = std::move(builder).Build();
  std::string page;
  const std::vector<Value> slots = {Value::OfInt64(0)};
  RenderText(plan, nullptr, slots, page);
  EXPECT_TRUE(ParseTextStrictly(page).ok()) << page;
  return page;
}

void AddDeprecated(std::span<const PodMapRow> rows, PlanBuilder& plan) {
  AddDeprecatedPodMap(rows, 0, plan);
}

// Two rows on one node are one family with two samples.  The model name is complete.
TEST(PodMapView, EqualsThePageOfTheReplacedExporter) {
  EXPECT_EQ(PageOf(kTwoRows, AddPodMapView),
            "# HELP pod_and_gpu_map_info Provide a mapping relationship between pod and gpu\n"
            "# TYPE pod_and_gpu_map_info gauge\n"
            "pod_and_gpu_map_info{gpu_id=\"GPU-1\",gpu_model=\"Tesla T4\",namespace=\"default\","
            "node=\"gpu-node.1\",pod_name=\"test1\"} 1.0\n"
            "pod_and_gpu_map_info{gpu_id=\"GPU-2\",gpu_model=\"Tesla T4\",namespace=\"default\","
            "node=\"gpu-node.1\",pod_name=\"test2\"} 1.0\n");
}

// There is a family for each node; a label keeps the unchanged name of the node.
TEST(PodMapView, HasAFamilyForEachNode) {
  std::vector<PodMapRow> rows = kTwoRows;
  rows.push_back({"7", "GPU-3", "A", "n", "p"});
  rows.push_back(
      {"gpu-node_1", "GPU-4", "A", "n", "p"});  // It gets the same family name as the first node.
  const std::string help = " Provide every node's pod and gpu mapping relationship\n";
  EXPECT_EQ(PageOf(rows, AddNodeFamilies),
            "# HELP gpu_node_1_info" + help +
                "# TYPE gpu_node_1_info gauge\n"
                "gpu_node_1_info{gpu_id=\"GPU-1\",gpu_model=\"Tesla T4\",namespace=\"default\","
                "node=\"gpu-node.1\",pod_name=\"test1\"} 1.0\n"
                "gpu_node_1_info{gpu_id=\"GPU-2\",gpu_model=\"Tesla T4\",namespace=\"default\","
                "node=\"gpu-node.1\",pod_name=\"test2\"} 1.0\n"
                "gpu_node_1_info{gpu_id=\"GPU-4\",gpu_model=\"A\",namespace=\"n\","
                "node=\"gpu-node_1\",pod_name=\"p\"} 1.0\n"
                "# HELP _7_info" +
                help +
                "# TYPE _7_info gauge\n"
                "_7_info{gpu_id=\"GPU-3\",gpu_model=\"A\",namespace=\"n\",node=\"7\","
                "pod_name=\"p\"} 1.0\n");
}

TEST(PodMapView, HasAFamilyForEachRowInTheDeprecatedForm) {
  const std::string help = " pod gpu map info - please use labels value to match pod and gpu\n";
  EXPECT_EQ(PageOf(kTwoRows, AddDeprecated),
            "# HELP POD_GPU_MAP_INFO_0" + help +
                "# TYPE POD_GPU_MAP_INFO_0 gauge\n"
                "POD_GPU_MAP_INFO_0{gpu_id=\"GPU-1\",gpu_model=\"Tesla T4\","
                "namespace=\"default\",node=\"gpu-node.1\",pod_name=\"test1\"} 0.0\n"
                "# HELP POD_GPU_MAP_INFO_1" +
                help +
                "# TYPE POD_GPU_MAP_INFO_1 gauge\n"
                "POD_GPU_MAP_INFO_1{gpu_id=\"GPU-2\",gpu_model=\"Tesla T4\","
                "namespace=\"default\",node=\"gpu-node.1\",pod_name=\"test2\"} 0.0\n");
}

TEST(PodMapView, HasNoFamilyWithoutRows) {
  EXPECT_EQ(PageOf({}, AddPodMapView), "");
  EXPECT_EQ(PageOf({}, AddNodeFamilies), "");
}

TEST(NodeFamilyName, ReplacesCharactersThatAMetricNameMustNotHave) {
  EXPECT_EQ(NodeFamilyName("gpu-node.1"), "gpu_node_1_info");
  EXPECT_EQ(NodeFamilyName("aB9_:"), "aB9_:_info");
  EXPECT_EQ(NodeFamilyName("10.0.0.7"), "_10_0_0_7_info");
}

}  // namespace
}  // namespace podgpu
