#include "usage/gpu_request.h"

#include <span>

#include <gtest/gtest.h>

#include "source/testing/fake_source.h"

namespace podgpu {
namespace {

constexpr uint64_t kVolcanoUnitMib = 10;
constexpr EntityId kCard0{0};
constexpr EntityId kCard1{1};
constexpr EntityId kInstance3g{3};
constexpr EntityId kInstance1g{4};

// Two whole GPUs, and a third that is cut into two instances.
Topology CutBoards() {
  Topology topology = FakeDriver::Gpus(3);
  topology.gpus[2].mig_enabled = true;
  topology.instances = {
      {.gpu = 2, .gpu_instance_id = 1, .profile = "3g.40gb", .compute_instances = {}},
      {.gpu = 2, .gpu_instance_id = 9, .profile = "1g.10gb", .compute_instances = {}}};
  NumberEntities(topology);
  return topology;
}

struct RequestRow {
  std::string label;
  std::vector<std::pair<std::string, uint64_t>> requests;
  GivenDevices given;
  std::optional<double> cards, memory_mib;
  std::vector<EntityId> memory_of;
  double memory_share = 1;
  uint64_t gpu_memory_units = 0;
};

void CheckRequests(std::span<const RequestRow> rows) {
  const std::vector<std::string> more = {"example.com/gpu"};
  for (const RequestRow& row : rows) {
    const GpuRequest request = RequestOf({.name = "main",
                                          .id = {},
                                          .requests = row.requests,
                                          .gpu_memory_units = row.gpu_memory_units},
                                         more);
    const CardsAsked asked = AskedBy(request, row.given, CutBoards(), kVolcanoUnitMib);
    EXPECT_EQ(asked.cards.has_value(), row.cards.has_value()) << row.label;
    EXPECT_NEAR(asked.cards.value_or(0), row.cards.value_or(0), 1e-12) << row.label;
    EXPECT_EQ(asked.memory_mib, row.memory_mib) << row.label;
    EXPECT_EQ(asked.memory_of, row.memory_of) << row.label;
    EXPECT_EQ(asked.memory_share, row.memory_share) << row.label;
    const bool nothing = row.label.starts_with("nothing") || row.label == "a claim";
    EXPECT_EQ(request.asks(), !nothing) << row.label;
  }
}

TEST(GpuRequest, IsReadFromTheResourcesOfEachPlugin) {
  const std::string core = "tencent.com/vcuda-core";
  const std::string memory = "tencent.com/vcuda-memory";
  const std::string gpu = "nvidia.com/gpu";
  const RequestRow rows[] = {
      {"half a card", {{core, 50}, {memory, 30}}, {}, 0.5, 7'680, {}},
      {"two cards", {{core, 200}, {memory, 30}}, {}, 2, 7'680, {}},
      {"a card, all of its memory", {{core, 100}}, {{kCard1}, {kCard0}}, 1, {}, {kCard1}},
      {"the card where it runs", {{core, 100}}, {{}, {kCard0}}, 1, {}, {kCard0}},
      {"a card that is unknown", {{core, 100}}, {}, 1, {}, {}},
      {"cards", {{gpu, 2}}, {{kCard0, kCard1}, {}}, 2, {}, {kCard0, kCard1}},
      {"cards, without the kubelet", {{gpu, 2}}, {}, 2, {}, {}},
      {"two replicas of one card", {{gpu, 2}}, {{kCard0}, {}}, 1, {}, {kCard0}},
      {"a card that is an instance", {{gpu, 1}}, {{kInstance3g}, {}}, 3.0 / 7, {}, {kInstance3g}},
      {"instances",
       {{"nvidia.com/mig-3g.40gb", 1}, {"nvidia.com/mig-1g.10gb", 1}},
       {{kInstance3g, kInstance1g}, {}},
       4.0 / 7,
       {},
       {kInstance3g, kInstance1g}},
      {"instances by name", {{"nvidia.com/mig-1g.10gb", 2}}, {}, 2.0 / 7, {}, {}},
      {"a share", {{"nvidia.com/gpu.shared", 3}}, {{kCard0}, {}}, 1, {}, {kCard0}},
      {"a share of an unknown device", {{"nvidia.com/gpu.shared", 3}}, {}, {}, {}, {}},
      {"a share of an instance",
       {{"nvidia.com/mig-1g.10gb.shared", 1}},
       {{}, {kInstance1g}},
       1.0 / 7,
       {},
       {kInstance1g}},
      {"HAMi",
       {{gpu, 2}, {"nvidia.com/gpumem", 3'000}, {"nvidia.com/gpucores", 30}},
       {{kCard0, kCard1}, {}},
       0.6,
       6'000,
       {}},
      {"HAMi, a part of the memory",
       {{gpu, 1}, {"nvidia.com/gpumem-percentage", 25}},
       {{kCard1}, {}},
       1,
       {},
       {kCard1},
       0.25},
      {"HAMi, one card by default", {{"nvidia.com/gpumem", 500}}, {{kCard0}, {}}, 1, 500, {}},
      {"cards under another resource name", {{"example.com/gpu", 2}}, {}, 2, {}, {}},
      {"nothing", {{"example.com/other", 2}}, {}, 0, 0, {}},
      {"nothing requested, a process on a card", {}, {{}, {kCard0}}, 0, {}, {kCard0}},
      {"a claim", {}, {{kInstance1g}, {}}, 1.0 / 7, {}, {kInstance1g}},
  };
  CheckRequests(rows);
}

TEST(GpuRequest, OfVolcanoAndGpushareIsInTheirUnits) {
  const RequestRow rows[] = {
      {"Volcano",
       {{"volcano.sh/vgpu-number", 2},
        {"volcano.sh/vgpu-cores", 50},
        {"volcano.sh/vgpu-memory", 30}},
       {{kCard0, kCard1}, {}},
       1,
       600,
       {}},
      {"Volcano, a part of the memory",
       {{"volcano.sh/vgpu-number", 1}, {"volcano.sh/vgpu-memory-percentage", 25}},
       {{kCard1}, {}},
       1,
       {},
       {kCard1},
       0.25},
      {"Volcano, whole cards", {{"volcano.sh/vgpu-number", 1}}, {{kCard1}, {}}, 1, {}, {kCard1}},
      {"Volcano, older", {{"volcano.sh/gpu-memory", 300}}, {{kCard1}, {}}, 1, 3'000, {}},
      {"gpushare, in GiB", {{"aliyun.com/gpu-mem", 4}}, {{kCard1}, {}}, 1, 4'096, {}, 1, 79},
      {"gpushare, in MiB",
       {{"aliyun.com/gpu-mem", 4'000}},
       {{}, {kCard0}},
       1,
       4'000,
       {},
       1,
       81'559},
      {"gpushare without a card", {{"aliyun.com/gpu-mem", 4}}, {}, {}, {}, {}},
  };
  CheckRequests(rows);
}

// The unit is a setting of Volcano's plugin, which no pod tells.
TEST(GpuRequest, OfVolcanosMemoryIsUnknownWithoutItsUnit) {
  const GpuRequest request =
      RequestOf({.name = "main", .id = {}, .requests = {{"volcano.sh/vgpu-memory", 3'000}}}, {});
  const CardsAsked asked = AskedBy(request, {{kCard0}, {}}, CutBoards());
  EXPECT_FALSE(asked.memory_mib.has_value());
  EXPECT_TRUE(asked.memory_of.empty());
  EXPECT_EQ(asked.cards, 1);
}

}  // namespace
}  // namespace podgpu
