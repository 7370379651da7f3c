#include "topology/mig.h"

#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace podgpu {
namespace {

MigNode Instance(uint32_t entity, uint32_t gpu, uint32_t id) {
  return {
      .is_compute_instance = false, .entity_id = entity, .parent_id = gpu, .gpu_instance_id = id};
}

MigNode Compute(uint32_t entity, uint32_t parent, uint32_t gpu_instance, uint32_t id) {
  return {true, entity, parent, gpu_instance, id};
}

Topology Gpus(const std::vector<uint32_t>& ids) {
  Topology topology;
  for (const uint32_t id : ids) {
    topology.gpus.emplace_back().gpu_id = id;
  }
  return topology;
}

TEST(Mig, OrdersInstancesByGpuThenInTheVendorsOrder) {
  Topology topology = Gpus({0, 2});
  const MigNode nodes[] = {Instance(16, 2, 9),     Compute(100, 16, 9, 0), Instance(14, 2, 1),
                           Compute(101, 14, 1, 0), Instance(0, 0, 7),      Compute(102, 0, 7, 0),
                           Compute(103, 0, 7, 1)};
  EXPECT_EQ(AddInstances(nodes, topology), 0U);
  NumberEntities(topology);
  ASSERT_EQ(topology.instances.size(), 3U);
  EXPECT_EQ(topology.instances[0].gpu, 0);
  EXPECT_EQ(topology.instances[0].gpu_instance_id, 7U);
  ASSERT_EQ(topology.instances[0].compute_instances.size(), 2U);
  EXPECT_EQ(topology.instances[0].compute_instances[1].compute_instance_id, 1U);
  EXPECT_EQ(topology.instances[0].compute_instances[1].entity_id, 103U);
  EXPECT_EQ(topology.instances[1].gpu, 1);
  EXPECT_EQ(topology.instances[1].entity_id, 16U);
  EXPECT_EQ(topology.instances[2].entity_id, 14U);
  EXPECT_EQ(topology.entities.size(), 5U);
}

TEST(Mig, AcceptsComputeInstancesBeforeTheirParent) {
  Topology topology = Gpus({0});
  const MigNode nodes[] = {Compute(9, 1, 7, 0), Instance(1, 0, 7)};
  EXPECT_EQ(AddInstances(nodes, topology), 0U);
  ASSERT_EQ(topology.instances.size(), 1U);
  EXPECT_EQ(topology.instances[0].compute_instances.size(), 1U);
}

TEST(Mig, LeavesOutAndCountsNodesWithoutParent) {
  Topology topology = Gpus({0});
  const MigNode nodes[] = {Instance(1, 5, 7), Compute(9, 1, 7, 0), Compute(10, 77, 7, 0),
                           Instance(2, 0, 3)};
  EXPECT_EQ(AddInstances(nodes, topology), 3U);
  ASSERT_EQ(topology.instances.size(), 1U);
  EXPECT_EQ(topology.instances[0].gpu_instance_id, 3U);
}

TEST(Mig, LeavesOutAndCountsNodesThatRepeatAnId) {
  Topology topology = Gpus({0, 1});
  const MigNode nodes[] = {Instance(1, 0, 7),   Instance(1, 1, 8),   Instance(2, 0, 7),
                           Instance(3, 1, 7),   Compute(9, 1, 7, 0), Compute(9, 1, 7, 1),
                           Compute(10, 1, 7, 0)};
  EXPECT_EQ(AddInstances(nodes, topology), 4U);
  ASSERT_EQ(topology.instances.size(), 2U);
  EXPECT_EQ(topology.instances[0].entity_id, 1U);
  EXPECT_EQ(topology.instances[0].compute_instances.size(), 1U);
  EXPECT_EQ(topology.instances[1].entity_id, 3U);
}

TEST(Mig, ReplacesThePreviousInstances) {
  Topology topology = Gpus({0});
  const MigNode nodes[] = {Instance(1, 0, 7)};
  AddInstances(nodes, topology);
  EXPECT_EQ(AddInstances({}, topology), 0U);
  EXPECT_TRUE(topology.instances.empty());
}

TEST(Mig, ParsesTheOldNameOfADevice) {
  const struct {
    std::string name;
    std::optional<OldMigName> expected;
  } rows[] = {
      {"MIG-GPU-5c89852c/7/0", OldMigName{"GPU-5c89852c", 7, 0}},
      {"MIG-GPU-a/13/4294967295", OldMigName{"GPU-a", 13, 4294967295}},
      {"MIG-GPU-a/13/4294967296", std::nullopt},
      {"MIG-GPU-a/13", std::nullopt},
      {"MIG-GPU-a/13/0/1", std::nullopt},
      {"MIG-GPU-a//0", std::nullopt},
      {"MIG-GPU-a/-1/0", std::nullopt},
      {"MIG-GPU-a/1/x", std::nullopt},
      {"MIG-GPU-/1/0", std::nullopt},
      {"MIG-a/1/0", std::nullopt},
      {"GPU-a/1/0", std::nullopt},
      {"MIG-4f2ab4e3-0000-5000-8000-000000000000", std::nullopt},
      {"", std::nullopt},
  };
  for (const auto& row : rows) {
    EXPECT_EQ(ParseOldMigName(row.name), row.expected) << row.name;
  }
}

}  // namespace
}  // namespace podgpu
