// The views on the page of a node, as the tick makes it: their cost, and what is told of their
// families.
#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "exporter/page_sections.h"
#include "tests/strict_parser.h"
#include "tests/views_node.h"

namespace podgpu {
namespace {

TEST(Views, TheDefaultPageHasAtMostTwoFifthsMoreSeriesThanDcgmExporter) {
  // dcgm-exporter's rows for 8 GPUs with its default list, on DCGM 4.6: 23 rows per GPU.
  constexpr size_t kUpstreamRows = 184;
  const ViewsNode node(8, 0, TickOptions().views);
  const size_t of_dcgm = node.CountOf("DCGM_");
  const size_t of_ours = node.CountOf("") - of_dcgm;
  EXPECT_GE(of_dcgm, kUpstreamRows);
  EXPECT_LE(of_ours * 10, kUpstreamRows * 4) << node.text();
  EXPECT_EQ(node.CountOf("podgpu_gpu_info{"), 8U);
  EXPECT_EQ(node.CountOf("podgpu_allocation_info{"), 8U);
  EXPECT_EQ(node.CountOf("podgpu_gpu_state{"), 8U);
}

TEST(Views, TheDcgmViewHasNoFamilyOfPodgpu) {
  const ViewsNode node(8, 0, {View::kDcgm});
  EXPECT_EQ(node.CountOf(""), node.CountOf("DCGM_"));
}

TEST(Views, HaveNoZeroLineForAReasonThatNeverOccurred) {
  const ViewsNode node(8, 0, TickOptions().views);
  for (const std::string_view line : Split(node.text(), '\n')) {
    const bool has_reason = line.find("reason=\"") != std::string_view::npos ||
                            line.find("state=\"") != std::string_view::npos ||
                            line.find("result=\"") != std::string_view::npos;
    EXPECT_FALSE(has_reason && line.ends_with(" 0")) << line;
  }
}

const std::vector<View> kAllViews = {View::kDcgm, View::kCore, View::kNative, View::kProcess,
                                     View::kSelf};

// The descriptions by name.
std::map<std::string, FamilyDoc> Descriptions() {
  std::map<std::string, FamilyDoc> all;
  for (const DescribedSection& section : DescribedSections()) {
    for (const FamilyDoc& doc : section.families) {
      EXPECT_TRUE(all.emplace(doc.family.name, doc).second) << doc.family.name << " twice";
    }
  }
  return all;
}

// The names of the labels in one of a plan's blocks.
std::vector<std::string> NamesIn(const std::string& block) {
  const auto page = ParseTextStrictly("# HELP x x\n# TYPE x gauge\nx" + block + "1\n");
  std::vector<std::string> names;
  for (const auto& [name, value] : page.value().at(0).samples.at(0).labels) {
    names.push_back(name);
  }
  return names;
}

// Adds the families of `plan`, with the labels that they have there, to `shown`.
using ShownFamilies = std::map<std::string, std::set<std::string>>;
void Compare(const SeriesPlan& plan, const std::map<std::string, FamilyDoc>& described,
             ShownFamilies& shown) {
  for (const SeriesPlan::FamilyLines& lines : plan.families()) {
    const Family& family = lines.family;
    const auto found = described.find(family.name);
    if (found == described.end()) {
      EXPECT_TRUE(family.name.starts_with("DCGM_")) << family.name << ": no section describes it";
      continue;
    }
    const FamilyDoc& doc = found->second;
    EXPECT_EQ(doc.family.type, family.type) << family.name;
    EXPECT_EQ(doc.family.unit, family.unit) << family.name;
    EXPECT_EQ(doc.family.help, family.help) << family.name;
    const std::vector<std::string_view> told = Split(doc.labels, ',');
    std::set<std::string>& labels = shown[family.name];
    for (uint32_t i = 0; i < lines.series_count; ++i) {
      auto from = told.begin();
      for (const std::string& name :
           NamesIn(plan.label_blocks()[plan.series()[lines.first_series + i].labels])) {
        from = std::find(from, told.end(), name);
        EXPECT_TRUE(from != told.end()) << family.name << ": " << name << " not in " << doc.labels;
        labels.insert(name);
      }
    }
  }
}

TEST(Views, HaveNoFamilyAndNoLabelThatIsNotDescribed) {
  const std::map<std::string, FamilyDoc> described = Descriptions();
  ShownFamilies shown;
  for (const size_t instances_per_gpu : {0U, 2U}) {
    const ViewsNode node(2, instances_per_gpu, kAllViews);
    Compare(node.plan(), described, shown);
    Compare(node.requests_plan(), described, shown);
  }
  // What this node has not: numbers of boards, claims, and pods on MIG instances.
  const std::set<std::pair<std::string_view, std::string_view>> rare = {
      {"podgpu_gpu_info", "serial"},
      {"podgpu_gpu_info", "vbios_version"},
      {"podgpu_allocation_info", "claim"},
      {"podgpu_allocation_info", "GPU_I_ID"}};
  for (const auto& [name, doc] : described) {
    EXPECT_TRUE(shown.contains(name)) << name << ": described, but on no page";
    for (const std::string_view label : Split(doc.labels, ',')) {
      EXPECT_TRUE(label.empty() || shown[name].empty() || rare.contains({name, label}) ||
                  shown[name].contains(std::string(label)))
          << name << ": no line has " << label;
    }
  }
}

TEST(Views, NameTheirFamiliesInOneWay) {
  for (const auto& [name, doc] : Descriptions()) {
    const Family& family = doc.family;
    EXPECT_FALSE(family.help.empty()) << name;
    EXPECT_TRUE(family.type == "gauge" || family.type == "counter") << name;
    if (name.starts_with("container_") || name == "my_gpu_process_energy_joules") {
      continue;  // Names and words of other exporters.
    }
    EXPECT_TRUE(family.help.ends_with('.')) << name;
    EXPECT_EQ(family.type == "counter", name.ends_with("_total")) << name;
    const std::string end =
        (family.unit.empty() ? "" : "_" + family.unit) + (family.type == "counter" ? "_total" : "");
    EXPECT_TRUE(name.ends_with(end)) << name;
  }
}

}  // namespace
}  // namespace podgpu
