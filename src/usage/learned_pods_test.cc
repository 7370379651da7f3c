#include "usage/learned_pods.h"

#include <memory>
#include <utility>

#include <gtest/gtest.h>

#include "source/testing/fake_source.h"
#include "usage/naming_note.h"

namespace podgpu {
namespace {

using std::chrono::seconds;

struct Runs {
  uint32_t pid;
  std::string uid;  // Empty: outside Kubernetes.
  std::string container_id;
  uint32_t gpu;
};

// Three GPUs; the test chooses their owners and processes.
class LearnedPodsTest : public ::testing::Test {
 protected:
  LearnedPodsTest() {
    owners_.by_entity.resize(3);
    for (uint32_t i = 0; i < 3; ++i) {
      uuids_.push_back(FakeDriver::Uuid(i));
    }
  }

  void Give(size_t gpu, const std::string& pod, const std::string& container = "main") {
    Owner owner;
    owner.pod_namespace = "ml";
    owner.pod = pod;
    owner.container = container;
    owners_.by_entity[gpu].push_back(owner);
  }
  // Makes a reading with these processes, a second after the previous one, and learns from it.
  bool See(const std::vector<Runs>& running) {
    now_ += seconds(1);
    ProcessReading reading;
    reading.at = now_;
    reading.devices.resize(3);
    for (uint32_t i = 0; i < 3; ++i) {
      reading.devices[i].device = {i};
      reading.devices[i].at = now_;
    }
    for (const Runs& process : running) {
      auto identity = std::make_shared<ProcessIdentity>();
      identity->key = {.pid = process.pid, .start_ticks = 1};
      identity->place = {.pod_uid = process.uid, .container_id = process.container_id};
      reading.devices[process.gpu].processes.push_back(
          {.pid = process.pid, .identity = std::move(identity)});
    }
    table_.Take(reading);
    return learned_.Learn(users());
  }
  DeviceUsers users() const { return {table_, uuids_, topology_, owners_}; }
  // Returns "namespace/name" of a uid.
  std::string PodOf(const std::string& uid) const {
    const ProcessNames::Pod* const pod = learned_.PodOf(uid);
    return pod == nullptr ? "-" : pod->name_space + "/" + pod->name;
  }
  std::string ContainerOf(const std::string& id) const {
    const std::string* const name = learned_.ContainerOf(id);
    return name == nullptr ? "-" : *name;
  }

  const Topology topology_ = FakeDriver::Gpus(3);
  std::vector<std::string> uuids_;
  Owners owners_;
  ProcessTable table_{{.retention = seconds(60)}};
  LearnedPods learned_;
  Instant now_{seconds(1'000)};
};

TEST_F(LearnedPodsTest, AProcessOnADeviceOfOneContainerBelongsToThatContainer) {
  Give(0, "train-0");
  EXPECT_TRUE(See({{11, "u-1", "c-1", 0}, {12, "u-1", "c-1", 0}, {99, "", "", 0}}));
  EXPECT_EQ(PodOf("u-1"), "ml/train-0");
  EXPECT_EQ(ContainerOf("c-1"), "main");
  EXPECT_EQ(PodOf(""), "-") << "a process of the host has no pod";
  EXPECT_FALSE(See({{11, "u-1", "c-1", 0}})) << "nothing has changed";
}

TEST_F(LearnedPodsTest, LearnsNothingFromFreeOrSharedDevices) {
  Give(0, "a");
  Give(0, "b");
  EXPECT_FALSE(See({{11, "u-1", "c-1", 0}, {12, "u-2", "c-2", 0}, {13, "u-3", "c-3", 1}}));
}

TEST_F(LearnedPodsTest, APodKnownByItsOwnDeviceIsAlsoKnownOnASharedDevice) {
  Give(0, "a");
  Give(1, "a");
  Give(1, "b");
  See({{11, "u-1", "c-1", 0}, {12, "u-1", "c-1", 1}, {13, "u-2", "c-2", 1}});
  EXPECT_EQ(PodOf("u-1"), "ml/a");
  EXPECT_EQ(PodOf("u-2"), "-");
}

TEST_F(LearnedPodsTest, EachContainerOfAPodIsKnownByItsDevice) {
  Give(0, "duo", "left");
  Give(1, "duo", "right");
  See({{11, "u-1", "c-1", 0}, {12, "u-1", "c-2", 1}});
  EXPECT_EQ(PodOf("u-1"), "ml/duo");
  EXPECT_EQ(ContainerOf("c-1"), "left");
  EXPECT_EQ(ContainerOf("c-2"), "right");
}

// A monitoring pod that uses all devices, or a pod that uses devices that it does not hold.
TEST_F(LearnedPodsTest, AUidOnDevicesThatThePodDoesNotHoldBelongsToAnotherPod) {
  Give(0, "a");
  Give(1, "b");
  See({{11, "u-1", "c-1", 0}, {12, "u-9", "c-9", 0}, {13, "u-9", "c-9", 1}, {14, "u-9", "c-9", 2}});
  EXPECT_EQ(PodOf("u-1"), "ml/a");
  EXPECT_EQ(PodOf("u-9"), "-");
  EXPECT_EQ(learned_.UidOf("ml", "b"), nullptr);
}

TEST_F(LearnedPodsTest, NamesNeitherOfTwoUidsThatMayBeTheOwner) {
  Give(0, "a");
  EXPECT_FALSE(See({{11, "u-1", "c-1", 0}, {12, "u-2", "c-2", 0}}));
  EXPECT_TRUE(See({{11, "u-1", "c-1", 0}})) << "one of them has ended";
  EXPECT_EQ(PodOf("u-1"), "ml/a");
}

TEST_F(LearnedPodsTest, ASecondUidIsNotTheOwnerWhileTheFirstHasARow) {
  Give(0, "a");
  See({{11, "u-1", "c-1", 0}});
  See({{12, "u-2", "c-2", 0}});
  EXPECT_EQ(PodOf("u-1"), "ml/a") << "its last rows still need the name";
  EXPECT_EQ(PodOf("u-2"), "-");
  EXPECT_EQ(ContainerOf("c-2"), "-");
  now_ += seconds(61);
  See({{12, "u-2", "c-2", 0}});
  See({{12, "u-2", "c-2", 0}});
  EXPECT_EQ(PodOf("u-2"), "ml/a") << "a new pod of the same name replaced it";
  EXPECT_EQ(*learned_.UidOf("ml", "a"), "u-2");
  EXPECT_EQ(PodOf("u-1"), "-");
}

TEST_F(LearnedPodsTest, APodStaysKnownWhileItHoldsADevice) {
  Give(0, "a");
  See({{11, "u-1", "c-1", 0}});
  See({});
  now_ += seconds(61);
  See({});
  EXPECT_EQ(PodOf("u-1"), "ml/a");
  owners_.by_entity[0].clear();
  EXPECT_TRUE(See({}));
  EXPECT_EQ(PodOf("u-1"), "-");
}

TEST_F(LearnedPodsTest, ForgetsAllWhenTheApiServerListsPods) {
  Give(0, "a");
  EXPECT_FALSE(learned_.Forget());
  See({{11, "u-1", "c-1", 0}});
  EXPECT_TRUE(learned_.Forget());
  EXPECT_EQ(PodOf("u-1"), "-");
}

TEST_F(LearnedPodsTest, CountsProcessesWithoutANameOnHeldDevices) {
  Give(0, "a");
  Give(0, "b");
  See({{11, "u-1", "c-1", 0}, {12, "u-2", "c-2", 0}, {13, "u-3", "c-3", 1}, {99, "", "", 0}});
  ProcessNames names;
  names.pods["u-2"] = {.name_space = "ml", .name = "b"};
  const UnnamedProcesses unnamed = FindUnnamed(users(), names);
  EXPECT_EQ(unnamed.count, 1U) << "neither on a free device nor of the host";
  EXPECT_EQ(unnamed.pid, 11U);
  EXPECT_EQ(unnamed.uuid, FakeDriver::Uuid(0));
  EXPECT_EQ(NamingNote(unnamed, "NODE_NAME is not set"),
            "1 process has no namespace, pod and container on its rows, the first: pid 11 on "
            "GPU 0 (" +
                FakeDriver::Uuid(0) +
                "), which 2 containers hold. The kubelet's socket does not tell to which of them a "
                "process belongs, and podgpu has no list of pods: NODE_NAME is not set. Names need "
                "NODE_NAME and the right to list and watch pods, or --kubelet-pods-url and the "
                "right to get nodes/pods");
  EXPECT_EQ(NamingNote(unnamed, ""), "");
  EXPECT_EQ(NamingNote({}, "NODE_NAME is not set"), "");
}

TEST(WhyNotNamed, IsTheApiServersErrorUntilItListsPods) {
  ApiFacts api;
  api.detail = "the API server answers 403 to list pods";
  EXPECT_EQ(WhyNotNamed(nullptr, "NODE_NAME is not set"), "NODE_NAME is not set");
  EXPECT_EQ(WhyNotNamed(&api, ""), "the API server answers 403 to list pods");
  api.value = std::make_shared<const ApiObjects>();
  EXPECT_EQ(WhyNotNamed(&api, ""), "");
}

}  // namespace
}  // namespace podgpu
