#include "kube/pod_resources.h"

#include <gtest/gtest.h>

#include "pod_resources_v1.pb.h"

namespace podgpu {
namespace {

v1::PodResources* AddPod(v1::ListPodResourcesResponse& response, const std::string& pod_namespace,
                         const std::string& name) {
  v1::PodResources* pod = response.add_pod_resources();
  pod->set_namespace_(pod_namespace);
  pod->set_name(name);
  return pod;
}

v1::ContainerResources* AddContainer(v1::PodResources* pod, const std::string& name) {
  v1::ContainerResources* container = pod->add_containers();
  container->set_name(name);
  return container;
}

void AddDevices(v1::ContainerResources* container, const std::string& resource,
                std::initializer_list<std::string> ids) {
  v1::ContainerDevices* devices = container->add_devices();
  devices->set_resource_name(resource);
  for (const std::string& id : ids) {
    devices->add_device_ids(id);
  }
}

// A length-delimited field with a number below 16, in the wire format.
std::string Field(unsigned number, std::string_view bytes) {
  std::string field(1, static_cast<char>((number << 3U) | 2U));
  size_t length = bytes.size();
  for (; length >= 0x80; length >>= 7U) {
    field += static_cast<char>((length & 0x7FU) | 0x80U);
  }
  return field + static_cast<char>(length) + std::string(bytes);
}

PodAllocations Parse(const v1::ListPodResourcesResponse& response) {
  const StatusOr<PodAllocations> answer = ParsePodResources(response.SerializeAsString());
  EXPECT_TRUE(answer.ok()) << answer.status();
  return answer.value_or(PodAllocations());
}

TEST(ParsePodResources, ListsOneAllocationPerDeviceInTheKubeletsOrder) {
  v1::ListPodResourcesResponse response;
  v1::PodResources* train = AddPod(response, "ml", "train-0");
  v1::ContainerResources* worker = AddContainer(train, "worker");
  AddDevices(worker, "nvidia.com/gpu", {"GPU-b"});
  AddDevices(worker, "nvidia.com/gpu", {"GPU-a"});
  AddDevices(AddContainer(train, "side"), "rdma/hca", {"mlx5_0", "mlx5_1"});
  AddContainer(AddPod(response, "kube-system", "dns"), "dns");
  const PodAllocations answer = Parse(response);
  EXPECT_EQ(answer.api_version, "v1");
  EXPECT_EQ(answer.pod_count, 2U);
  const std::vector<Allocation> expected = {
      {"ml", "train-0", "worker", "nvidia.com/gpu", "GPU-b"},
      {"ml", "train-0", "worker", "nvidia.com/gpu", "GPU-a"},
      {"ml", "train-0", "side", "rdma/hca", "mlx5_0"},
      {"ml", "train-0", "side", "rdma/hca", "mlx5_1"},
  };
  EXPECT_EQ(answer.allocations, expected);
}

TEST(ParsePodResources, FindsTheOwnPodWithOrWithoutDevices) {
  v1::ListPodResourcesResponse response;
  AddPod(response, "gpu-operator", "podgpu-x7k2p");
  const std::string bytes = response.SerializeAsString();
  const auto lists = [&](const OwnPod& own) {
    return ParsePodResources(bytes, own)->lists_own_pod;
  };
  EXPECT_TRUE(lists({"podgpu-x7k2p", "gpu-operator"}));
  EXPECT_TRUE(lists({"podgpu-x7k2p", ""}));
  EXPECT_FALSE(lists({"podgpu-x7k2p", "monitoring"}));
  EXPECT_FALSE(lists({"podgpu-aaaaa", "gpu-operator"}));
  EXPECT_FALSE(lists({}));
}

// Each device of a claim is listed once, independent of its CDI names.
TEST(ParsePodResources, ListsEachDeviceOfAClaimOnce) {
  v1::ListPodResourcesResponse response;
  v1::ContainerResources* container = AddContainer(AddPod(response, "ml", "train-0"), "main");
  v1::DynamicResource* claim = container->add_dynamic_resources();
  claim->set_claim_namespace("ml");
  claim->set_claim_name("two-gpus");
  for (const char* const name : {"gpu-1", "gpu-0", "gpu-1", "gpu-\xff"}) {
    v1::ClaimResource* device = claim->add_claim_resources();
    device->set_driver_name("gpu.nvidia.com");
    device->set_pool_name("node-a");
    device->set_device_name(name);
  }
  const PodAllocations answer = Parse(response);
  EXPECT_TRUE(answer.allocations.empty());
  const auto device = [](const char* name) {
    return ClaimedDevice{"ml",       "train-0",        "main",   "ml",
                         "two-gpus", "gpu.nvidia.com", "node-a", name};
  };
  EXPECT_EQ(answer.claimed, (std::vector<ClaimedDevice>{device("gpu-1"), device("gpu-0"),
                                                        device("gpu-\xef\xbf\xbd")}));
}

TEST(ParsePodResources, CountsADeviceOncePerContainerAndResource) {
  v1::ListPodResourcesResponse response;
  v1::PodResources* pod = AddPod(response, "ml", "a");
  v1::ContainerResources* first = AddContainer(pod, "first");
  for (const int64_t node : {0, 1}) {  // One entry per NUMA node of the device.
    AddDevices(first, "nvidia.com/gpu", {"GPU-a"});
    first->mutable_devices()->rbegin()->mutable_topology()->add_nodes()->set_id(node);
  }
  AddDevices(first, "nvidia.com/gpu.shared", {"GPU-a"});
  AddDevices(AddContainer(pod, "second"), "nvidia.com/gpu", {"GPU-a"});
  const std::vector<Allocation> expected = {
      {"ml", "a", "first", "nvidia.com/gpu", "GPU-a"},
      {"ml", "a", "first", "nvidia.com/gpu.shared", "GPU-a"},
      {"ml", "a", "second", "nvidia.com/gpu", "GPU-a"},
  };
  EXPECT_EQ(Parse(response).allocations, expected);
}

TEST(ParsePodResources, CleansInvalidUtf8) {
  v1::ListPodResourcesResponse response;
  v1::ContainerResources* container = AddContainer(AddPod(response, "n\xFF", "p\xC0\x80"), "c\xED");
  AddDevices(container, "r\x80", {"d\xF5", "d\xF6"});
  v1::DynamicResource* claim = container->add_dynamic_resources();
  claim->set_claim_name("\xFE");
  const PodAllocations answer = Parse(response);
  ASSERT_EQ(answer.allocations.size(), 1U) << "both ids are equal after cleaning";
  EXPECT_EQ(answer.allocations[0],
            (Allocation{"n\uFFFD", "p\uFFFD\uFFFD", "c\uFFFD", "r\uFFFD", "d\uFFFD"}));
}

TEST(ParsePodResources, SkipsUnknownFields) {
  v1::ContainerResources container;
  container.set_name("c");
  AddDevices(&container, "r", {"d"});
  container.add_dynamic_resources()->add_claim_resources()->set_driver_name("gpu.nvidia.com");
  // Field 3 of a container is cpu_ids, packed here; 4 of a pod and 2 of the answer belong to a
  // future release.
  const std::string container_bytes = container.SerializeAsString() + Field(3, "\1\2");
  const std::string pod_bytes =
      Field(1, "p") + Field(2, "n") + Field(3, container_bytes) + Field(4, "z");
  const StatusOr<PodAllocations> answer =
      ParsePodResources("\x10\x07" + Field(1, pod_bytes) + Field(2, "new"));
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_EQ(answer->allocations, (std::vector<Allocation>{{"n", "p", "c", "r", "d"}}));
}

TEST(ParsePodResources, ReadsAnEmptyAnswer) {
  const StatusOr<PodAllocations> answer = ParsePodResources("");
  ASSERT_TRUE(answer.ok());
  EXPECT_EQ(answer->pod_count, 0U);
  EXPECT_TRUE(answer->allocations.empty());
}

TEST(ParsePodResources, RefusesInvalidMessages) {
  v1::ListPodResourcesResponse response;
  AddDevices(AddContainer(AddPod(response, "n", "p"), "c"), "r", {"d"});
  const std::string good = response.SerializeAsString();
  for (size_t size = 1; size < good.size(); ++size) {
    EXPECT_EQ(ParsePodResources(good.substr(0, size)).status().code(), absl::StatusCode::kDataLoss)
        << size;
  }
  for (const std::string_view bytes :
       {std::string_view("\x0A\xFF\xFF\xFF\xFF\x0F", 6), std::string_view("\0", 1),
        std::string_view("\x0A\x02\x0A\x05", 4), std::string_view("<html>"),
        std::string_view("\x0C")}) {
    EXPECT_EQ(ParsePodResources(bytes).status().code(), absl::StatusCode::kDataLoss) << bytes;
  }
}

TEST(ParsePodResources, ReadsAnAnswerOfSixteenMebibytes) {
  v1::PodResources pod;
  AddDevices(AddContainer(&pod, "c"), "nvidia.com/gpu", {"GPU-a"});
  const std::string one = Field(1, pod.SerializeAsString() + Field(5, std::string(33'600, 'm')));
  std::string bytes;
  for (int i = 0; i < 500; ++i) {
    bytes += one;
  }
  ASSERT_GT(bytes.size(), size_t{16} << 20);
  const StatusOr<PodAllocations> answer = ParsePodResources(bytes);
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_EQ(answer->pod_count, 500U);
  EXPECT_EQ(answer->allocations.size(), 500U);
}

}  // namespace
}  // namespace podgpu
