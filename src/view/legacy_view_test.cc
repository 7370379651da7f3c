#include <cstdlib>
#include <fstream>
#include <iterator>

#include <gtest/gtest.h>

#include "exposition/text.h"
#include "tests/node_fixture.h"
#include "tests/strict_parser.h"
#include "view/view.h"

namespace podgpu {
namespace {

std::vector<uint16_t> LegacyIds() { return LegacyFieldIds(true); }

class LegacyNode {
 public:
  LegacyNode(size_t gpus, size_t instances, size_t pods, const std::vector<uint16_t>& ids)
      : grid(FilledGrid(MakeTopology(gpus, instances), FieldsOf({}, ids))),
        owners(OwnersFor(grid.topology(), pods)) {}

  std::string Page(bool with_pods = true) const {
    PlanBuilder builder;
    AddLegacyView({grid, owners, {}, {}}, with_pods, builder);
    const SeriesPlan plan = std::move(builder).Build();
    std::string text;
    RenderText(plan, &grid, {}, text);
    EXPECT_TRUE(ParseTextStrictly(text).ok()) << ParseTextStrictly(text).status();
    return text;
  }
  void Set(uint16_t field, uint16_t column, const Value& value) {
    grid.at(*grid.RowOf(field), EntityId{column}) = value;
  }

  Grid grid;
  Owners owners;
};

std::string LinesOf(const std::string& page, std::string_view name) {
  std::string lines;
  for (size_t at = 0; at < page.size();) {
    const size_t end = page.find('\n', at) + 1;
    const std::string line = page.substr(at, end - at);
    lines += line.starts_with(std::string(name) + "{") ? line : "";
    at = end;
  }
  return lines;
}

constexpr char kUuid0[] = "GPU-11111111-1111-1111-1111-111111111111";
constexpr char kUuid1[] = "GPU-22222222-2222-2222-2222-222222222222";

TEST(LegacyView, AnOwnedGpuCarriesFiveLabelsAndAFreeOneTwo) {
  LegacyNode node(2, 0, 0, LegacyIds());
  node.owners.by_entity[0] = {{"ml", "train-0", "main", "nvidia.com/gpu", "", {}, ""}};
  node.Set(150, 0, Value::OfInt64(34));
  node.Set(150, 1, Value::OfInt64(41));
  const std::string free_row = std::string("dcgm_gpu_temp{gpu=\"1\",uuid=\"") + kUuid1 + "\"} 41\n";
  EXPECT_EQ(LinesOf(node.Page(), "dcgm_gpu_temp"),
            std::string("dcgm_gpu_temp{container_name=\"main\",gpu=\"0\",pod_name=\"train-0\","
                        "pod_namespace=\"ml\",uuid=\"") +
                kUuid0 + "\"} 34\n" + free_row);
  EXPECT_EQ(LinesOf(node.Page(false), "dcgm_gpu_temp"),
            std::string("dcgm_gpu_temp{gpu=\"0\",uuid=\"") + kUuid0 + "\"} 34\n" + free_row);
}

TEST(LegacyView, AGpuOfSeveralContainersNamesNoContainer) {
  const LegacyNode node(1, 0, 2, LegacyIds());
  EXPECT_TRUE(LinesOf(node.Page(), "dcgm_gpu_temp").starts_with("dcgm_gpu_temp{gpu=\"0\",uuid="));
}

TEST(LegacyView, All39FamiliesAreInOrderWithTheirHelpTexts) {
  const LegacyNode node(1, 0, 0, LegacyIds());
  const auto families = ParseTextStrictly(node.Page());
  ASSERT_TRUE(families.ok());
  EXPECT_EQ(families->size(), 39U);
  EXPECT_EQ(families->front().name, "dcgm_sm_clock");
  EXPECT_EQ(families->back().name, "dcgm_fi_prof_dram_active");
  const std::string path = "tests/golden/legacy-one-gpu.prom";
  if (std::getenv("PODGPU_UPDATE_GOLDEN") != nullptr) {  // NOLINT(concurrency-mt-unsafe)
    std::ofstream(path) << node.Page();
  }
  std::ifstream file(path);
  EXPECT_EQ(node.Page(), std::string(std::istreambuf_iterator<char>(file), {}));
}

TEST(LegacyView, ThrottlingIsInMicroseconds) {
  LegacyNode node(1, 0, 0, LegacyIds());
  node.Set(240, 0, Value::OfInt64(1'500'000));
  EXPECT_TRUE(LinesOf(node.Page(), "dcgm_power_violation").ends_with("} 1500\n"));
}

TEST(LegacyView, ABlankValueLeavesNoLineAndABlankFamilyNoHeader) {
  LegacyNode node(2, 0, 0, LegacyIds());
  node.Set(140, 0, Value::OfAbsence(Absence::kNotSupported));
  EXPECT_TRUE(LinesOf(node.Page(), "dcgm_memory_temp").starts_with("dcgm_memory_temp{gpu=\"1\""));
  node.Set(140, 1, Value::OfAbsence(Absence::kNotSupported));
  EXPECT_EQ(node.Page().find("dcgm_memory_temp"), std::string::npos);
}

TEST(LegacyView, ProfilingRowsExistOnlyWhenTheirFieldsAreRead) {
  const LegacyNode node(1, 0, 0, LegacyFieldIds(false));
  EXPECT_EQ(node.Page().find("dcgm_fi_prof"), std::string::npos);
  EXPECT_EQ(ParseTextStrictly(node.Page())->size(), 34U);
}

TEST(LegacyView, APartitionedGpuKeepsOneRow) {
  const LegacyNode node(1, 3, 1, LegacyIds());
  EXPECT_EQ(LinesOf(node.Page(), "dcgm_gpu_temp").find("gpu=\"0\""),
            LinesOf(node.Page(), "dcgm_gpu_temp").rfind("gpu=\"0\""));
}

}  // namespace
}  // namespace podgpu
