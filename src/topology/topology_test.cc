#include "topology/topology.h"

#include <functional>
#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace podgpu {
namespace {

// Two GPUs; the second has two instances.
Topology TwoGpus() {
  Topology topology;
  topology.gpus.resize(2);
  topology.gpus[0].uuid = "GPU-a";
  topology.gpus[1].gpu_id = 1;
  topology.gpus[1].uuid = "GPU-b";
  topology.instances.resize(2);
  topology.instances[0] = {1, 3, 7, "3g.40gb", {{0, 70, "MIG-x"}}};
  topology.instances[1] = {1, 9, 8, "1g.10gb", {}};
  NumberEntities(topology);
  return topology;
}

TEST(Topology, NumbersEachGpuDirectlyFollowedByItsInstances) {
  const Topology topology = TwoGpus();
  ASSERT_EQ(topology.entities.size(), 4U);
  const struct {
    EntityKind kind;
    uint16_t gpu;
    std::optional<uint16_t> instance;
  } expected[] = {{EntityKind::kGpu, 0, {}},
                  {EntityKind::kGpu, 1, {}},
                  {EntityKind::kGpuInstance, 1, 0},
                  {EntityKind::kGpuInstance, 1, 1}};
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(topology.entities[i].kind, expected[i].kind) << i;
    EXPECT_EQ(topology.entities[i].gpu, expected[i].gpu) << i;
    EXPECT_EQ(topology.entities[i].instance, expected[i].instance) << i;
  }
  EXPECT_EQ(topology.GpuOf({3}).uuid, "GPU-b");
  EXPECT_EQ(topology.InstanceOf({3})->gpu_instance_id, 9U);
  EXPECT_EQ(topology.InstanceOf({1}), nullptr);
}

TEST(Topology, NumbersNothingOnAnEmptyNode) {
  Topology topology;
  NumberEntities(topology);
  EXPECT_TRUE(topology.entities.empty());
}

TEST(Topology, RenumbersFromScratch) {
  Topology topology = TwoGpus();
  topology.instances.clear();
  NumberEntities(topology);
  EXPECT_EQ(topology.entities.size(), 2U);
}

TEST(Topology, ComparesEqualDespiteEpochAndStates) {
  Topology other = TwoGpus();
  other.epoch = 5;
  other.gpus[0].state = DeviceState::kLost;
  EXPECT_TRUE(SameDevices(TwoGpus(), other));
  EXPECT_FALSE(SameStates(TwoGpus(), other));
  other.gpus[0].state = TwoGpus().gpus[0].state;
  EXPECT_TRUE(SameStates(TwoGpus(), other));
}

TEST(Topology, DiffersInEveryFactOfIdentity) {
  const struct {
    const char* label;
    std::function<void(Topology&)> change;
  } rows[] = {
      {"gpu id", [](Topology& t) { t.gpus[1].gpu_id = 5; }},
      {"minor number", [](Topology& t) { t.gpus[1].minor_number = 5; }},
      {"minor known", [](Topology& t) { t.gpus[1].minor_known = true; }},
      {"uuid", [](Topology& t) { t.gpus[1].uuid = "GPU-c"; }},
      {"bus id", [](Topology& t) { t.gpus[1].pci_bus_id = "x"; }},
      {"model", [](Topology& t) { t.gpus[1].model = "x"; }},
      {"serial", [](Topology& t) { t.gpus[1].serial = "x"; }},
      {"vbios", [](Topology& t) { t.gpus[1].vbios_version = "x"; }},
      {"mig mode", [](Topology& t) { t.gpus[1].mig_enabled = true; }},
      {"one GPU more", [](Topology& t) { t.gpus.emplace_back(); }},
      {"instance's GPU", [](Topology& t) { t.instances[0].gpu = 0; }},
      {"instance id", [](Topology& t) { t.instances[0].gpu_instance_id = 4; }},
      {"instance entity", [](Topology& t) { t.instances[0].entity_id = 4; }},
      {"profile", [](Topology& t) { t.instances[0].profile = "x"; }},
      {"one instance less", [](Topology& t) { t.instances.pop_back(); }},
      {"compute id",
       [](Topology& t) { t.instances[0].compute_instances[0].compute_instance_id = 1; }},
      {"compute entity", [](Topology& t) { t.instances[0].compute_instances[0].entity_id = 1; }},
      {"MIG UUID", [](Topology& t) { t.instances[0].compute_instances[0].mig_uuid = "MIG-y"; }},
      {"one compute instance less", [](Topology& t) { t.instances[0].compute_instances.clear(); }},
      {"driver", [](Topology& t) { t.driver_version = "580.1"; }},
      {"NVML", [](Topology& t) { t.nvml_absence = "gone"; }},
  };
  for (const auto& row : rows) {
    Topology other = TwoGpus();
    row.change(other);
    EXPECT_FALSE(SameDevices(TwoGpus(), other)) << row.label;
  }
}

TEST(Topology, NumbersTheColumnsOfPartsAfterThoseOfGpus) {
  Topology topology;
  topology.gpus.resize(2);
  NumberEntities(topology);
  EXPECT_EQ(topology.column_count(), 2U);
  EXPECT_EQ(topology.ColumnsOf(PartKind::kNvLink).count, 0U);
  topology.parts = {{.kind = PartKind::kNvSwitch, .id = 3},
                    {.kind = PartKind::kNvLink, .id = 0, .gpu = 1},
                    {.kind = PartKind::kNvLink, .id = 7, .parent = 3},
                    {.kind = PartKind::kCpuCore, .id = 0}};
  EXPECT_EQ(topology.column_count(), 6U);
  const ColumnRange links = topology.ColumnsOf(PartKind::kNvLink);
  EXPECT_EQ(links.first, 3U);
  EXPECT_EQ(links.count, 2U);
  EXPECT_TRUE(links.Contains(EntityId{4}));
  EXPECT_FALSE(links.Contains(EntityId{5}));
  EXPECT_EQ(topology.PartAt(EntityId{4}).id, 7U);
  EXPECT_EQ(topology.ColumnsOf(PartKind::kNvSwitch, PartKind::kNvLink).count, 3U);
  EXPECT_EQ(topology.ColumnsOf(PartKind::kCpu).count, 0U);
  EXPECT_EQ(topology.ColumnsOf(PartKind::kCpu, PartKind::kCpuCore).first, 5U);
}

TEST(Topology, DiffersWhenAPartAppearsOrDisappears) {
  Topology before;
  Topology after;
  after.parts = {{.kind = PartKind::kCpu, .id = 0}};
  EXPECT_TRUE(SameGpus(before, after));
  EXPECT_FALSE(SameDevices(before, after));
  EXPECT_TRUE(SameStates(before, after));
  after.parts_absence = "CPUs: the engine does not list its CPUs";
  EXPECT_FALSE(SameStates(before, after));
}

}  // namespace
}  // namespace podgpu
