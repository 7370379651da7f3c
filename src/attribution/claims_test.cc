#include "attribution/claims.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "attribution/owner_facts.h"

namespace podgpu {
namespace {

const std::string kGpu0 = "GPU-00000000-0000-4000-8000-000000000000";
const std::string kGpu1 = "GPU-11111111-0000-4000-8000-000000000001";
const std::string kMig7 = "MIG-77777777-0000-5000-8000-000000000007";
const std::string kMigGone = "MIG-99999999-0000-5000-8000-000000000009";

// Columns 0 and 1 are GPUs; 2, 3 and 4 are the instances of GPU 1: 3g.40gb, 1g.10gb, 1g.10gb.
Topology NodeWithInstances() {
  Topology topology;
  for (const std::string& uuid : {kGpu0, kGpu1}) {
    Gpu gpu;
    gpu.gpu_id = static_cast<uint32_t>(topology.gpus.size());
    gpu.minor_number = gpu.gpu_id;
    gpu.uuid = uuid;
    gpu.mig_enabled = uuid == kGpu1;
    topology.gpus.push_back(gpu);
  }
  topology.instances = {{.gpu = 1,
                         .gpu_instance_id = 7,
                         .entity_id = 0,
                         .profile = "3g.40gb",
                         .compute_instances = {{0, 0, kMig7}}},
                        {.gpu = 1,
                         .gpu_instance_id = 1,
                         .entity_id = 1,
                         .profile = "1g.10gb",
                         .compute_instances = {}},
                        {.gpu = 1,
                         .gpu_instance_id = 2,
                         .entity_id = 2,
                         .profile = "1g.10gb",
                         .compute_instances = {}}};
  NumberEntities(topology);
  return topology;
}

ApiObject SliceOf(std::vector<SliceDevice> devices, int64_t generation = 1,
                  const std::string& pool = "node-a") {
  ApiObject slice;
  slice.driver = "gpu.nvidia.com";
  slice.pool = pool;
  slice.pool_generation = generation;
  slice.devices = std::move(devices);
  return slice;
}

ClaimedDevice ClaimOf(const std::string& device, const std::string& pod = "train") {
  return {"ml", pod, "main", "ml", "claim1", "gpu.nvidia.com", "node-a", device};
}

Owners OwnersOf(const Topology& topology, const ApiObjects* slices,
                const std::vector<ClaimedDevice>& claimed) {
  Owners owners;
  owners.by_entity.resize(topology.entities.size());
  JoinClaims(topology, claimed, slices, {}, owners);
  return owners;
}

// Returns "2" (columns), "no_resource_slice" or "passed over".
std::string WhereIs(const Topology& topology, const ApiObjects* slices,
                    const ClaimedDevice& claim) {
  const Owners owners = OwnersOf(topology, slices, {claim});
  std::string text;
  for (size_t column = 0; column < owners.by_entity.size(); ++column) {
    for (const Owner& owner : owners.by_entity[column]) {
      EXPECT_EQ(owner.pod, claim.pod);
      text += std::to_string(column);
    }
  }
  for (const UnmatchedDevice& device : owners.unmatched) {
    EXPECT_EQ(device.resource, "gpu.nvidia.com");
    EXPECT_EQ(device.device_id, claim.pool + "/" + claim.device);
    text += UnmatchedReasonName(device.reason);
  }
  return text.empty() ? "passed over" : text;
}

TEST(JoinClaims, FindsTheDeviceThatASliceDescribes) {
  struct Case {
    SliceDevice device;
    std::string with_nvml, without_nvml;
  };
  const Case cases[] = {
      {{"d", "gpu", kGpu0, "", ""}, "0", "0"},
      {{"d", "gpu", kGpu1, "", ""}, "1", "1"},
      {{"d", "gpu", "GPU-ffffffff-0000-4000-8000-000000000000", "", ""},
       "unknown_device",
       "unknown_device"},
      {{"d", "gpu", "", "", ""}, "unknown_id_form", "unknown_id_form"},
      {{"d", "mig", kMig7, kGpu1, "3g.40gb"}, "2", "2"},
      {{"d", "mig", kMigGone, kGpu1, "3g.40gb"}, "unknown_mig_uuid", "2"},
      {{"d", "mig", kMigGone, kGpu1, "1g.10gb"}, "unknown_mig_uuid", "nvml_missing"},
      {{"d", "mig", "", kGpu1, "3g.40gb"}, "2", "2"},  // Created on demand.
      {{"d", "mig", "", kGpu1, "1g.10gb"}, "unclear_instance", "unclear_instance"},
      {{"d", "mig", "", kGpu1, "7g.80gb"}, "unclear_instance", "unclear_instance"},
      {{"d", "mig", "", kGpu0, "3g.40gb"}, "unclear_instance", "unclear_instance"},
      {{"d", "mig", "", "", ""}, "unclear_instance", "unclear_instance"},
      {{"d", "vfio", kGpu0, "", ""}, "passed over", "passed over"},
      {{"d", "", kGpu0, "", ""}, "unknown_device", "unknown_device"},
  };
  Topology without_nvml = NodeWithInstances();
  without_nvml.nvml_absence = "libnvidia-ml.so.1 is in none of 6 paths";
  without_nvml.instances[0].compute_instances[0].mig_uuid.clear();
  for (const Case& row : cases) {
    const ApiObjects slices = {{"/slice", SliceOf({row.device})}};
    EXPECT_EQ(WhereIs(NodeWithInstances(), &slices, ClaimOf("d")), row.with_nvml)
        << row.device.type << ' ' << row.device.uuid << ' ' << row.device.profile;
    EXPECT_EQ(WhereIs(without_nvml, &slices, ClaimOf("d")), row.without_nvml)
        << row.device.type << ' ' << row.device.uuid << ' ' << row.device.profile;
  }
}

TEST(JoinClaims, ReportsADeviceWithoutSliceAsUnmatched) {
  const ApiObjects slices = {{"/slice", SliceOf({{"gpu-0", "gpu", kGpu0, "", ""}})}};
  const Topology topology = NodeWithInstances();
  EXPECT_EQ(WhereIs(topology, nullptr, ClaimOf("gpu-0")), "no_resource_slice");
  EXPECT_EQ(WhereIs(topology, &slices, ClaimOf("gpu-1")), "no_resource_slice");
  ClaimedDevice other_pool = ClaimOf("gpu-0");
  other_pool.pool = "node-b";
  EXPECT_EQ(WhereIs(topology, &slices, other_pool), "no_resource_slice");
  ClaimedDevice other_driver = ClaimOf("gpu-0");
  other_driver.driver = "compute-domain.nvidia.com";
  EXPECT_EQ(WhereIs(topology, &slices, other_driver), "passed over");
}

// A pool may span several slices; while its driver replaces them, the old ones still exist.
TEST(JoinClaims, UsesTheNewestGenerationOfAPool) {
  ApiObjects slices = {{"/a", SliceOf({{"gpu-0", "gpu", kGpu0, "", ""}}, 3)},
                       {"/b", SliceOf({{"gpu-1", "gpu", kGpu1, "", ""}}, 3)},
                       {"/c", SliceOf({{"gpu-5", "gpu", kGpu1, "", ""}}, 9, "another-pool")}};
  const Topology topology = NodeWithInstances();
  EXPECT_EQ(WhereIs(topology, &slices, ClaimOf("gpu-0")), "0");
  EXPECT_EQ(WhereIs(topology, &slices, ClaimOf("gpu-1")), "1");
  slices["/d"] = SliceOf({{"gpu-0", "gpu", kGpu1, "", ""}}, 4);
  EXPECT_EQ(WhereIs(topology, &slices, ClaimOf("gpu-0")), "1")
      << "the newer generation describes it";
  EXPECT_EQ(WhereIs(topology, &slices, ClaimOf("gpu-1")), "no_resource_slice") << "withdrawn";
}

TEST(JoinClaims, IgnoresSlicesOfOtherDrivers) {
  ApiObjects slices = {{"/a", SliceOf({{"gpu-0", "gpu", kGpu0, "", ""}})}};
  slices["/b"] = SliceOf({{"gpu-0", "gpu", kGpu1, "", ""}}, 7);
  slices["/b"].driver = "gpu.example.com";
  EXPECT_EQ(WhereIs(NodeWithInstances(), &slices, ClaimOf("gpu-0")), "0");
  slices["/a"].driver = "gpu.example.com";
  EXPECT_EQ(WhereIs(NodeWithInstances(), &slices, ClaimOf("gpu-0")), "no_resource_slice");
}

TEST(JoinClaims, ReportsTheWholeClaimAndSortsByPod) {
  const ApiObjects slices = {{"/a", SliceOf({{"mig-a", "mig", kMig7, kGpu1, "3g.40gb"}})}};
  const Owners owners =
      OwnersOf(NodeWithInstances(), &slices, {ClaimOf("mig-a", "z"), ClaimOf("mig-a", "b")});
  ASSERT_EQ(owners.by_entity[2].size(), 2U);
  EXPECT_EQ(owners.by_entity[2][1].pod, "z");
  const Owner& first = owners.by_entity[2][0];
  EXPECT_EQ(first.pod, "b");
  EXPECT_EQ(first.claim,
            (Claim{"claim1", "ml", "gpu.nvidia.com", "node-a", "mig-a", "3g.40gb", kMig7}));
  EXPECT_EQ(first.resource, "");
}

TEST(JoinClaims, JoinsClaimsOnlyWhenRequested) {
  const Topology topology = NodeWithInstances();
  OwnerFacts facts;
  PodAllocations answer;
  answer.allocations = {{"ml", "plugin", "main", "nvidia.com/gpu", kGpu1}};
  answer.claimed = {ClaimOf("gpu-0")};
  facts.pods = std::make_shared<const PodAllocations>(answer);
  facts.slices = std::make_shared<const ApiObjects>(
      ApiObjects{{"/a", SliceOf({{"gpu-0", "gpu", kGpu0, "", ""}})}});
  JoinOptions options;
  EXPECT_TRUE(MakeOwners(topology, facts, options).by_entity[0].empty());
  options.claims = true;
  const Owners owners = MakeOwners(topology, facts, options);
  EXPECT_EQ(owners.by_entity[0].size(), 1U);
  EXPECT_EQ(owners.by_entity[1].size(), 1U) << "the owner from the device plugin stays";
  facts.slices = nullptr;
  EXPECT_EQ(MakeOwners(topology, facts, options).unmatched.size(), 1U);
}

// The GPU Operator gives its exporter a claim with adminAccess for every GPU.
TEST(JoinClaims, IgnoresTheClaimsOfItsOwnPod) {
  OwnerFacts facts;
  PodAllocations answer;
  answer.claimed = {ClaimOf("gpu-0"), ClaimOf("gpu-0", "exporter-x7k2p"),
                    ClaimOf("gone", "exporter-x7k2p")};
  facts.pods = std::make_shared<const PodAllocations>(answer);
  facts.slices = std::make_shared<const ApiObjects>(
      ApiObjects{{"/a", SliceOf({{"gpu-0", "gpu", kGpu0, "", ""}})}});
  JoinOptions options;
  options.claims = true;
  struct Case {
    OwnPod own_pod;
    size_t owners, unmatched;
  };
  for (const Case& c :
       {Case{{}, 2, 1}, Case{{"exporter-x7k2p", "ml"}, 1, 0}, Case{{"exporter-x7k2p", ""}, 1, 0},
        Case{{"exporter-x7k2p", "gpu"}, 2, 1}, Case{{"", "ml"}, 2, 1}}) {
    options.ignored.own = c.own_pod;
    const Owners owners = MakeOwners(NodeWithInstances(), facts, options);
    EXPECT_EQ(owners.by_entity[0].size(), c.owners) << c.own_pod.name << c.own_pod.name_space;
    EXPECT_EQ(owners.by_entity[0].back().pod, "train");
    EXPECT_EQ(owners.unmatched.size(), c.unmatched);
  }
}

}  // namespace
}  // namespace podgpu
