#include "attribution/scheduler_choices.h"

#include <gtest/gtest.h>

#include "attribution/owner_facts.h"

namespace podgpu {
namespace {

constexpr char kFirstGpu[] = "GPU-11111111-0000-4000-8000-000000000001";
constexpr char kSecondGpu[] = "GPU-22222222-0000-4000-8000-000000000002";

// Two GPUs; the kubelet says that ml/train-0 has parts of the first.
class SchedulerChoicesTest : public testing::Test {
 protected:
  SchedulerChoicesTest() {
    for (const char* uuid : {kFirstGpu, kSecondGpu}) {
      Gpu gpu;
      gpu.gpu_id = static_cast<uint32_t>(topology_.gpus.size());
      gpu.uuid = uuid;
      topology_.gpus.push_back(gpu);
    }
    NumberEntities(topology_);
  }

  void Listed(const std::string& resource, std::vector<std::string> ids) {
    PodAllocations pods{"v1", 1, {}};
    for (const std::string& id : ids) {
      pods.allocations.push_back({"ml", "train-0", "main", resource, id});
    }
    facts_.pods = std::make_shared<const PodAllocations>(std::move(pods));
  }

  void Chosen(std::vector<std::string> gpus) {
    ApiObject pod;
    pod.name_space = "ml";
    pod.name = "train-0";
    pod.uid = "u-1";
    pod.containers = {{.name = "main", .id = {}, .requests = {}, .gpus = std::move(gpus)}};
    facts_.api_pods = std::make_shared<const ApiObjects>(ApiObjects{{"ml/train-0", pod}});
  }

  // "resource of the first GPU's owners | of the second's | unmatched ids".
  std::string Outcome(const JoinOptions& options = {}) const {
    const Owners owners = MakeOwners(topology_, facts_, options);
    std::string text;
    for (const std::vector<Owner>& of_gpu : owners.by_entity) {
      for (const Owner& owner : of_gpu) {
        text += owner.resource + (owner.pod_uid.empty() ? "? " : " ");
      }
      text += "| ";
    }
    for (const UnmatchedDevice& device : owners.unmatched) {
      text += device.device_id + " " + std::string(UnmatchedReasonName(device.reason));
    }
    return text;
  }

  Topology topology_;
  OwnerFacts facts_;
};

TEST_F(SchedulerChoicesTest, ReplaceTheKubeletsIdsOfEachPlugin) {
  struct Row {
    std::string resource;
    std::vector<std::string> ids;  // Of the kubelet.
    std::vector<std::string> gpus;
  };
  const std::string first = kFirstGpu;
  const Row rows[] = {
      {"aliyun.com/gpu-mem", {first + "-_-0", first + "-_-1", first + "-_-7"}, {"1"}},
      {"volcano.sh/vgpu-number", {first + "-3"}, {kSecondGpu}},
      {"volcano.sh/gpu-memory", {"volcano.sh/gpu-memory-5"}, {"1"}},
      {"tencent.com/vcuda-core", {"tencent.com/vcuda-core-5"}, {"1"}},
      {"nvidia.com/gpu", {first + "-2"}, {kSecondGpu}},
  };
  for (const Row& row : rows) {
    Listed(row.resource, row.ids);
    Chosen(row.gpus);
    EXPECT_EQ(Outcome(), "| " + row.resource + " | ");
    Chosen({"0", kSecondGpu});
    EXPECT_EQ(Outcome(), row.resource + " | " + row.resource + " | ") << "two GPUs";
  }
}

TEST_F(SchedulerChoicesTest, AreNamedByTheResourceThatCountsGpus) {
  const std::string id = std::string(kFirstGpu) + "-1";
  PodAllocations pods{"v1", 1, {}};
  for (const char* resource :
       {"volcano.sh/vgpu-memory", "volcano.sh/vgpu-number", "volcano.sh/vgpu-cores"}) {
    pods.allocations.push_back({"ml", "train-0", "main", resource, id});
  }
  facts_.pods = std::make_shared<const PodAllocations>(std::move(pods));
  Chosen({kSecondGpu});
  EXPECT_EQ(Outcome(), "| volcano.sh/vgpu-number | ");
}

TEST_F(SchedulerChoicesTest, AreNotGuessed) {
  const std::string id = std::string(kFirstGpu) + "-_-1";
  Listed("aliyun.com/gpu-mem", {id});
  Chosen({});
  EXPECT_EQ(Outcome(), "| | ") << "the kubelet's id may be of another GPU";
  EXPECT_EQ(Outcome({.extra_resource_names = {"aliyun.com/gpu-mem"}}), "aliyun.com/gpu-mem | | ")
      << "the operator trusts it";
  facts_.api_pods = nullptr;
  EXPECT_EQ(Outcome(), "| | ");
  Chosen({"9"});
  EXPECT_EQ(Outcome(), "| | 9 unknown_device") << "no such GPU";
  Chosen({"1"});
  facts_.younger_pods = {"ml/train-0"};
  EXPECT_EQ(Outcome(), "| | ") << "the annotation is that of another pod";
  facts_.younger_pods.clear();
  facts_.pods = nullptr;
  EXPECT_EQ(Outcome(), "| | ") << "the kubelet lists no holder";
}

TEST_F(SchedulerChoicesTest, AreSortedAmongTheKubeletsOwners) {
  PodAllocations pods{"v1", 2, {}};
  pods.allocations = {{"web", "chat-0", "main", "nvidia.com/gpu.shared", kSecondGpu},
                      {"ml", "train-0", "main", "volcano.sh/vgpu-number", kFirstGpu}};
  facts_.pods = std::make_shared<const PodAllocations>(std::move(pods));
  Chosen({kSecondGpu});
  EXPECT_EQ(Outcome(), "| volcano.sh/vgpu-number nvidia.com/gpu.shared? | ");
}

TEST_F(SchedulerChoicesTest, LeaveOtherResourcesAndInstancesAlone) {
  Listed("nvidia.com/gpu", {"MIG-0aaf"});
  Chosen({kSecondGpu});
  EXPECT_EQ(Outcome(), "| | MIG-0aaf unknown_mig_uuid");
  Listed("nvidia.com/gpu.shared", {std::string(kFirstGpu) + "::1"});
  EXPECT_EQ(Outcome(), "nvidia.com/gpu.shared | | ");
}

}  // namespace
}  // namespace podgpu
