#include "usage/process_naming.h"

#include <gtest/gtest.h>

namespace podgpu {
namespace {

constexpr char kUid[] = "u-1";
constexpr char kContainerId[] = "c-1";

// A process of the container on device 0.
ProcessTable TableOfOne() {
  ProcessIdentity identity;
  identity.key = {.pid = 7, .start_ticks = 70};
  identity.name = "python";
  identity.place.pod_uid = kUid;
  identity.place.container_id = kContainerId;
  ProcessReading reading;
  reading.devices.push_back({});
  reading.devices.front().processes.push_back(
      {.pid = 7, .identity = std::make_shared<const ProcessIdentity>(identity)});
  ProcessTable table({});
  table.Take(reading);
  return table;
}

ApiObjects PodOf(std::vector<ApiContainer> containers) {
  ApiObject pod;
  pod.name_space = "ml";
  pod.name = "train-0";
  pod.uid = kUid;
  pod.containers = std::move(containers);
  return {{"ml/train-0", pod}};
}

Owners HeldBy(const std::vector<std::string>& containers) {
  Owners owners;
  for (const std::string& container : containers) {
    Owner owner;
    owner.pod_namespace = "ml";
    owner.pod = "train-0";
    owner.container = container;
    owners.by_entity.push_back({owner});
  }
  return owners;
}

class ProcessNamingTest : public ::testing::Test {
 protected:
  ProcessNamingTest() {
    Gpu gpu;
    gpu.gpu_id = 3;
    gpu.uuid = "GPU-a";
    topology_.gpus.push_back(gpu);
    devices_.uuids = {"GPU-a", "GPU-unknown"};
  }

  // Returns "namespace/pod/container" of the only process.
  std::string NameWith(const ApiObjects* pods, const Owners* owners,
                       const ProcessNames& before = {}) {
    names_ = NameProcesses(
        TableOfOne(),
        {.processes = devices_, .topology = topology_, .pods = pods, .owners = owners}, before);
    const auto pod = names_.pods.find(kUid);
    const auto container = names_.containers.find(kContainerId);
    return (pod == names_.pods.end() ? "-" : pod->second.name_space + "/" + pod->second.name) +
           "/" + (container == names_.containers.end() ? "-" : container->second);
  }

  Topology topology_;
  ProcessFacts devices_;
  ProcessNames names_;
};

TEST_F(ProcessNamingTest, NamesOfTheApiServerComeFirst) {
  const ApiObjects pods = PodOf({{"side", "c-0", {}}, {"main", kContainerId, {}}});
  const Owners owners = HeldBy({"other"});
  EXPECT_EQ(NameWith(&pods, &owners), "ml/train-0/main");
}

TEST_F(ProcessNamingTest, UsesTheOnlyContainerOfThePodWithADevice) {
  const ApiObjects pods = PodOf({});
  struct Row {
    std::vector<std::string> holders;
    std::string name;
  };
  const Row rows[] = {{{}, "-"}, {{"main"}, "main"}, {{"main", "main"}, "main"}, {{"a", "b"}, "-"}};
  for (const Row& row : rows) {
    const Owners owners = HeldBy(row.holders);
    EXPECT_EQ(NameWith(&pods, &owners), "ml/train-0/" + row.name);
  }
  EXPECT_EQ(NameWith(&pods, nullptr), "ml/train-0/-");
}

TEST_F(ProcessNamingTest, APodThatHasEndedKeepsItsNames) {
  const ApiObjects pods = PodOf({{"main", kContainerId, {}}});
  NameWith(&pods, nullptr);
  const ProcessNames before = names_;
  const ApiObjects gone;
  EXPECT_EQ(NameWith(&gone, nullptr, before), "ml/train-0/main");
  EXPECT_EQ(NameWith(nullptr, nullptr, before), "ml/train-0/main");
  EXPECT_EQ(NameWith(nullptr, nullptr), "-/-") << "no server has ever named it";
}

TEST_F(ProcessNamingTest, MissingDevicesHaveNoName) {
  NameWith(nullptr, nullptr);
  EXPECT_EQ(names_.gpus, (std::map<DeviceNumber, std::string>{{{0}, "3"}}));
  EXPECT_EQ(names_.uuids, (std::map<DeviceNumber, std::string>{{{0}, "GPU-a"}}));
}

}  // namespace
}  // namespace podgpu
