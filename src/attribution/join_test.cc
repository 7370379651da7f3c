#include "attribution/join.h"

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace podgpu {
namespace {

using enum UnmatchedReason;

const std::string kUuid0 = "GPU-00000000-0000-4000-8000-000000000000";
const std::string kUuid1 = "GPU-11111111-0000-4000-8000-000000000001";
const std::string kUuid2 = "GPU-22222222-0000-4000-8000-000000000002";
const std::string kMigA = "MIG-aaaaaaaa-0000-5000-8000-00000000000a";
const std::string kMigB = "MIG-bbbbbbbb-0000-5000-8000-00000000000b";
const std::string kMigC = "MIG-cccccccc-0000-5000-8000-00000000000c";

// Three GPUs whose minor numbers run in reverse; the last one has two MIG instances, the first of
// them with two compute instances. Columns 0, 1, 2 are GPUs; 3 and 4 are the instances.
Topology Node() {
  Topology topology;
  const std::string uuids[] = {kUuid0, kUuid1, kUuid2};
  for (uint32_t id = 0; id < 3; ++id) {
    Gpu gpu;
    gpu.gpu_id = id;
    gpu.minor_number = 2 - id;
    gpu.minor_known = true;
    gpu.uuid = uuids[id];
    gpu.mig_enabled = id == 2;
    topology.gpus.push_back(gpu);
  }
  topology.instances = {{.gpu = 2,
                         .gpu_instance_id = 7,
                         .entity_id = 0,
                         .profile = "3g.40gb",
                         .compute_instances = {{0, 0, kMigA}, {1, 1, kMigB}}},
                        {.gpu = 2,
                         .gpu_instance_id = 1,
                         .entity_id = 1,
                         .profile = "1g.10gb",
                         .compute_instances = {{0, 2, kMigC}}}};
  NumberEntities(topology);
  return topology;
}

Topology NodeWithoutNvml() {
  Topology topology = Node();
  topology.nvml_absence = "libnvidia-ml.so.1 is in none of 6 paths";
  for (Gpu& gpu : topology.gpus) {
    gpu.minor_known = false;
    gpu.minor_number = gpu.gpu_id;
  }
  for (GpuInstance& instance : topology.instances) {
    for (ComputeInstance& compute : instance.compute_instances) {
      compute.mig_uuid.clear();
    }
  }
  return topology;
}

Allocation Held(std::string device_id, std::string resource = "nvidia.com/gpu") {
  return {.pod_namespace = "ml",
          .pod = "train",
          .container = "main",
          .resource = std::move(resource),
          .device_id = std::move(device_id)};
}

// Returns "0 2#3" (columns, with replicas), "unknown_device" or "passed over".
std::string Outcome(const Topology& topology, const Allocation& allocation,
                    const JoinOptions& options = {}) {
  const Owners owners = Join(topology, std::vector{allocation}, options);
  EXPECT_EQ(owners.by_entity.size(), topology.entities.size());
  std::string text;
  for (size_t column = 0; column < owners.by_entity.size(); ++column) {
    for (const Owner& owner : owners.by_entity[column]) {
      text += (text.empty() ? "" : " ") + std::to_string(column);
      text += owner.replica.empty() ? "" : "#" + owner.replica;
      EXPECT_EQ(owner.pod_namespace, "ml");
      EXPECT_EQ(owner.pod, "train");
      EXPECT_EQ(owner.container, "main");
      EXPECT_EQ(owner.resource, allocation.resource);
    }
  }
  for (const UnmatchedDevice& device : owners.unmatched) {
    EXPECT_EQ(device.device_id, allocation.device_id);
    EXPECT_EQ(device.resource, allocation.resource);
    text += (text.empty() ? "" : " ") + std::string(UnmatchedReasonName(device.reason));
  }
  return text.empty() ? "passed over" : text;
}

TEST(Join, FindsTheDeviceOfEveryIdForm) {
  struct Row {
    std::string device_id;
    std::string with_nvml;
    std::string without_nvml;
  };
  const Row rows[] = {
      {kUuid1, "1", "1"},
      {kUuid1 + "::3", "1#3", "1#3"},
      {kUuid1 + "::", "1", "1"},
      {kUuid1.substr(4), "1", "1"},
      {kUuid1 + "-4", "1#4", "1#4"},
      {kUuid1 + "-_-12", "1#12", "1#12"},
      {kUuid2, "2", "2"},
      {kMigA, "3", "nvml_missing"},
      {kMigB, "3", "nvml_missing"},
      {kMigC + "::0", "4#0", "nvml_missing"},
      {kMigC + "-1", "4#1", "nvml_missing"},
      {"MIG-" + kUuid2 + "/7/1", "3", "3"},
      {"MIG-" + kUuid2 + "/1/0::5", "4#5", "4#5"},
      {"MIG-" + kUuid2, "2", "2"},
      {"MIG-" + kUuid0.substr(4), "0", "0"},
      {"nvidia0", "2", "0"},  // By minor number if known, otherwise by index.
      {"nvidia2", "0", "2"},
      {"nvidia0/vgpu1", "2#1", "0#1"},
      {"nvidia0/gi7", "3", "unknown_device"},
      {"nvidia2/gi7", "unknown_device", "3"},
      {"nvidia0/gi1/vgpu3", "4#3", "unknown_device"},
      {"0", "0", "0"},
      {"0/vgpu", "0", "0"},
      {"2::1", "2#1", "2#1"},
      {"all", "0 1 2", "0 1 2"},
      {"all::2", "0#2 1#2 2#2", "0#2 1#2 2#2"},
      {"tegra", "0 1 2", "0 1 2"},
      // A device of another node, or one that is gone.
      {"GPU-99999999-0000-4000-8000-000000000009", "unknown_device", "unknown_device"},
      {"GPU-99999999-0000-4000-8000-000000000009::1", "unknown_device", "unknown_device"},
      {"GPU-11111111-0000-4000-8000", "unknown_device", "unknown_device"},
      {"MIG-99999999-0000-5000-8000-000000000009", "unknown_mig_uuid", "nvml_missing"},
      {"MIG-" + kUuid2 + "/9/0", "unknown_device", "unknown_device"},
      {"MIG-" + kUuid2 + "/7/2", "unknown_device", "unknown_device"},
      {"MIG-" + kUuid0 + "/7/0", "unknown_device", "unknown_device"},
      {"nvidia9", "unknown_device", "unknown_device"},
      {"nvidia9/gi7", "unknown_device", "unknown_device"},
      {"8", "unknown_device", "unknown_device"},
      {"4294967296", "unknown_device", "unknown_device"},
      // A form that no plugin uses.
      {"vendor-7", "unknown_id_form", "unknown_id_form"},
      {"", "unknown_id_form", "unknown_id_form"},
      {"nvidia0/gi7/ci0", "unknown_id_form", "unknown_id_form"},
      {"MIG-" + kUuid2 + "/7", "unknown_id_form", "unknown_id_form"},
  };
  const Topology with_nvml = Node();
  const Topology without_nvml = NodeWithoutNvml();
  for (const Row& row : rows) {
    EXPECT_EQ(Outcome(with_nvml, Held(row.device_id)), row.with_nvml) << row.device_id;
    EXPECT_EQ(Outcome(without_nvml, Held(row.device_id)), row.without_nvml) << row.device_id;
  }
}

TEST(Join, RecognizesGpuResources) {
  struct Row {
    std::string resource;
    std::string of_known_uuid;
    std::string of_unknown_uuid;
    std::string of_index;
  };
  const Row rows[] = {
      {"nvidia.com/gpu", "1", "unknown_device", "1"},
      {"nvidia.com/gpu.shared", "1", "unknown_device", "1"},
      {"nvidia.com/mig-1g.10gb", "1", "unknown_device", "1"},
      {"nvidia.com/mig-1g.10gb.me", "1", "unknown_device", "1"},
      {"nvidia.com/mig-3g.40gb.shared", "1", "unknown_device", "1"},
      {"acme.com/gpu", "1", "unknown_device", "1"},
      // A renamed resource: matched by UUID only, and never reported as unmatched.
      {"nvidia.com/a100", "1", "passed over", "passed over"},
      {"nvidia.com/a100.shared", "1", "passed over", "passed over"},
      {"nvidia.com/gpumem", "1", "passed over", "passed over"},
      // Not GPU resources, or ignored unless configured.
      {"acme.com/gpu.shared", "passed over", "passed over", "passed over"},
      {"aliyun.com/gpu-mem", "passed over", "passed over", "passed over"},
      {"rdma/hca", "passed over", "passed over", "passed over"},
      {"notnvidia.com/gpu", "passed over", "passed over", "passed over"},
      {"", "passed over", "passed over", "passed over"},
  };
  const JoinOptions options{.extra_resource_names = {"acme.com/gpu"}};
  const Topology topology = Node();
  const std::string unknown = "GPU-99999999-0000-4000-8000-000000000009";
  for (const Row& row : rows) {
    EXPECT_EQ(Outcome(topology, Held(kUuid1, row.resource), options), row.of_known_uuid)
        << row.resource;
    EXPECT_EQ(Outcome(topology, Held(unknown, row.resource), options), row.of_unknown_uuid)
        << row.resource;
    EXPECT_EQ(Outcome(topology, Held("1", row.resource), options), row.of_index) << row.resource;
  }
}

TEST(Join, MatchesTheRecordedAnswersOfSixPluginFamilies) {
  struct Row {
    std::string family;
    std::string resource;
    std::string device_id;
  };
  const Row rows[] = {
      {"NVIDIA", "nvidia.com/gpu", kUuid0},
      {"NVIDIA, time-slicing", "nvidia.com/gpu.shared", kUuid0 + "::1"},
      {"NVIDIA, MIG mixed", "nvidia.com/mig-3g.40gb", kMigA},
      {"NVIDIA, renamed", "nvidia.com/h100", kUuid0},
      {"GKE", "nvidia.com/gpu", "nvidia1"},
      {"GKE, MIG shared", "nvidia.com/gpu", "nvidia0/gi7/vgpu0"},
      {"AWS virtual GPU", "k8s.amazonaws.com/vgpu", kUuid0 + "-9"},
      {"HAMi", "nvidia.com/gpu", kUuid0 + "-0"},
      {"gpushare", "aliyun.com/gpu-mem", kUuid0 + "-_-31"},
      {"WSL", "nvidia.com/gpu", "all"},
  };
  const JoinOptions options{
      .extra_resource_names = {"k8s.amazonaws.com/vgpu", "aliyun.com/gpu-mem"}};
  for (const Row& row : rows) {
    const Owners owners = Join(Node(), std::vector{Held(row.device_id, row.resource)}, options);
    EXPECT_TRUE(owners.unmatched.empty()) << row.family;
    EXPECT_FALSE(std::ranges::all_of(owners.by_entity, &std::vector<Owner>::empty)) << row.family;
  }
}

TEST(Join, ReportsTencentsCountersOnlyWhenTheyAreConfigured) {
  const Allocation core = Held("tencent.com/vcuda-core-5", "tencent.com/vcuda-core");
  EXPECT_EQ(Outcome(Node(), core), "passed over");
  EXPECT_EQ(Outcome(Node(), core, {.extra_resource_names = {"tencent.com/vcuda-core"}}),
            "unknown_id_form");
}

TEST(Join, CountsEachReplicaOfOneContainerAsAnOwner) {
  const Owners owners = Join(
      Node(), std::vector{Held(kUuid0 + "::10"), Held(kUuid0 + "::2"), Held(kUuid0 + "::10")}, {});
  ASSERT_EQ(owners.by_entity[0].size(), 2U);
  EXPECT_EQ(owners.by_entity[0][0].replica, "2");
  EXPECT_EQ(owners.by_entity[0][1].replica, "10");
}

TEST(Join, CountsTwoComputeInstancesOfOneInstanceOnce) {
  const Owners owners = Join(Node(), std::vector{Held(kMigA), Held(kMigB)}, {});
  EXPECT_EQ(owners.by_entity[3].size(), 1U);
  EXPECT_TRUE(owners.unmatched.empty());
}

TEST(Join, SortsOwnersByNamespacePodContainerAndReplica) {
  std::vector<Allocation> allocations;
  for (const std::string_view name : {"b", "a"}) {
    for (const std::string_view device : {"::1", "::0"}) {
      Allocation allocation = Held(kUuid0 + std::string(device));
      allocation.container = name;
      for (const std::string_view pod : {"z", "y"}) {
        allocation.pod = pod;
        allocations.push_back(allocation);
      }
    }
  }
  allocations.push_back(Held(kUuid0));
  allocations.back().pod_namespace = "aa";
  const Owners owners = Join(Node(), allocations, {});
  std::string order;
  for (const Owner& owner : owners.by_entity[0]) {
    order += owner.pod_namespace + "/" + owner.pod + "/" + owner.container + owner.replica + " ";
  }
  EXPECT_EQ(order,
            "aa/train/main ml/y/a0 ml/y/a1 ml/y/b0 ml/y/b1 ml/z/a0 ml/z/a1 ml/z/b0 ml/z/b1 ");
}

TEST(Join, AcceptsNoDevicesAndNoAllocations) {
  EXPECT_EQ(Join(Topology(), {}, {}), Owners());
  EXPECT_EQ(Outcome(Topology(), Held("all")), "unknown_device");
  EXPECT_EQ(Outcome(Topology(), Held(kMigA)), "unknown_mig_uuid");
  EXPECT_EQ(Join(Node(), {}, {}).by_entity.size(), 5U);
}

TEST(Join, NamesEachUnmatchedReason) {
  EXPECT_EQ(UnmatchedReasonName(kUnknownIdForm), "unknown_id_form");
  EXPECT_EQ(UnmatchedReasonName(kUnknownDevice), "unknown_device");
  EXPECT_EQ(UnmatchedReasonName(kNvmlMissing), "nvml_missing");
  EXPECT_EQ(UnmatchedReasonName(kUnknownMigUuid), "unknown_mig_uuid");
}

// Ids made of parts of real ones, whole and broken.
std::string RandomId(std::mt19937& random) {
  static const std::vector<std::string> kPieces = {
      kUuid0,   kUuid1, kUuid2, kMigA,  kMigC,  "MIG-", "GPU-", "nvidia",  "/gi7",
      "/vgpu1", "::2",  "::",   "-_-3", "-4",   "0",    "1",    "7",       "all",
      "tegra",  "/",    "x",    "",     "/7/0", "/1/0", "vgpu", "99999999"};
  std::uniform_int_distribution<size_t> piece(0, kPieces.size() - 1);
  std::uniform_int_distribution<int> count(1, 3);
  std::string id;
  for (int i = count(random); i > 0; --i) {
    id += kPieces[piece(random)];
  }
  return id;
}

// A container runtime may give GPUs only to pods that ask for one, so podgpu holds a share itself.
TEST(Join, LeavesOutThePodsThatHoldDevicesWithoutUsingThem) {
  std::vector<Allocation> allocations;
  for (const std::string pod : {"exporter-x1", "llm-0", "reserve-1"}) {
    Allocation allocation = Held(kUuid0 + "::" + std::to_string(allocations.size()));
    allocation.pod_namespace = "gpu";
    allocation.pod = pod;
    allocations.push_back(allocation);
  }
  JoinOptions options;
  options.ignored = {{"exporter-x1", "gpu"}, PodPatterns::Compile({"gpu/reserve-.*"}).value()};
  const Owners owners = Join(Node(), allocations, options);
  ASSERT_EQ(owners.by_entity[0].size(), 1U);
  EXPECT_EQ(owners.by_entity[0][0].pod, "llm-0");
  allocations.back().device_id = "GPU-gone";
  EXPECT_TRUE(Join(Node(), allocations, options).unmatched.empty());
}

TEST(Join, FindsResourcesWhoseIdsNameADeviceOfThisNode) {
  struct Row {
    std::string resource, id;
    bool is_found;
  };
  for (const Row& row :
       {Row{"example.com/gpu", kUuid0, true},
        Row{"example.com/gpu", "share-1/" + kUuid0.substr(4), true},
        Row{"example.com/gpu", kMigA + "-0", true}, Row{"nvidia.com/half", "0-" + kUuid0, true},
        Row{"nvidia.com/half", kUuid0, false}, Row{"nvidia.com/gpu", "0-" + kUuid0, false},
        Row{"example.com/gpu", "GPU-33333333-0000-4000-8000-000000000003", false},
        Row{"example.com/fpga", "f0", false}}) {
    Allocation allocation = Held(row.id);
    allocation.resource = row.resource;
    const Owners owners = Join(Node(), std::vector{allocation, allocation}, {});
    EXPECT_EQ(owners.unnamed_resources,
              row.is_found ? std::vector{row.resource} : std::vector<std::string>())
        << row.id;
  }
}

TEST(Join, MatchesOrReportsEachGpuButNeverBoth) {
  constexpr unsigned kSeed = 20'260'801;
  std::mt19937 random(kSeed);
  const Topology topologies[] = {Node(), NodeWithoutNvml(), Topology()};
  for (int round = 0; round < 5'000; ++round) {
    const Allocation allocation = Held(RandomId(random));
    for (const Topology& topology : topologies) {
      const Owners owners = Join(topology, std::vector{allocation}, {});
      size_t matches = 0;
      for (const std::vector<Owner>& of_entity : owners.by_entity) {
        matches += of_entity.size();
      }
      EXPECT_NE(matches > 0, owners.unmatched.size() == 1)
          << allocation.device_id << ", seed " << kSeed;
      EXPECT_LE(owners.unmatched.size(), 1U);
    }
  }
}

TEST(Join, DoesNotDependOnTheOrderOfTheAllocations) {
  constexpr unsigned kSeed = 7;
  std::mt19937 random(kSeed);
  std::vector<Allocation> allocations;
  for (int i = 0; i < 300; ++i) {
    Allocation allocation = Held(RandomId(random));
    allocation.pod = "pod-" + std::to_string(i % 17);
    allocation.container = "c" + std::to_string(i % 3);
    allocations.push_back(allocation);
  }
  const Owners first = Join(Node(), allocations, {});
  for (int round = 0; round < 20; ++round) {
    std::ranges::shuffle(allocations, random);
    EXPECT_EQ(Join(Node(), allocations, {}), first) << "seed " << kSeed << ", round " << round;
  }
}

}  // namespace
}  // namespace podgpu
