// The simulated kubelet, called by a real gRPC client over its socket.
#include "sim/kube/kubelet.h"

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include "base/testing/manual_clock.h"
#include "pod_resources_v1.grpc.pb.h"
#include "pod_resources_v1alpha1.grpc.pb.h"
#include "sim/testing/node.h"

namespace podgpu::sim {
namespace {

constexpr char kScenario[] = R"(format: 1
name: pods
seed: 42
gpus:
  - {count: 2, class: h100-sxm5-80gb}
  - {class: h100-sxm5-80gb, mig: [{profile: 3g.40gb}, {profile: 1g.10gb}]}
  - {class: h100-sxm5-80gb, sharing: {kind: time_slicing, replicas: 3}}
pods:
  - {name: train, namespace: ml, containers: [{name: main, gpus: [0, 1]}]}
  - {name: late, namespace: web, start: 10s, stop: 20s, containers: [
      {name: a, devices: [gpu2/mig1]}, {name: b, devices: ["gpu3::0", "gpu3::2"]}]}
)";

using Devices = std::vector<std::pair<std::string, std::string>>;  // Resource name and device id.

template <typename Holder>
Devices DevicesOf(const Holder& holder) {
  Devices devices;
  for (const auto& entry : holder.devices()) {
    EXPECT_EQ(entry.device_ids_size(), 1) << "one id per entry, as the kubelet sends them";
    devices.emplace_back(entry.resource_name(), entry.device_ids(0));
  }
  return devices;
}

class KubeletFixture : public testing::Test {
 protected:
  explicit KubeletFixture(std::string_view scenario) : node_(scenario) {
    std::string error;
    directory_ = RunDirectory::Open(node_.path(), error);
    EXPECT_NE(directory_, nullptr) << error;
    Restart();
  }

  void Restart() {
    StatusOr<std::unique_ptr<FakeKubelet>> kubelet =
        FakeKubelet::Start(*directory_, clock_, socket_path());
    ASSERT_TRUE(kubelet.ok()) << kubelet.status();
    kubelet_ = *std::move(kubelet);
    channel_ = grpc::CreateChannel("unix:" + socket_path(), grpc::InsecureChannelCredentials());
    v1_ = v1::PodResourcesLister::NewStub(channel_);
    v1alpha1_ = v1alpha1::PodResourcesLister::NewStub(channel_);
  }
  std::string socket_path() const { return node_.path() + "/kubelet/kubelet.sock"; }

  grpc::Status List(v1::ListPodResourcesResponse& response) {
    grpc::ClientContext context;
    return v1_->List(&context, {}, &response);
  }
  grpc::Status ListOld(v1alpha1::ListPodResourcesResponse& response) {
    grpc::ClientContext context;
    return v1alpha1_->List(&context, {}, &response);
  }
  grpc::Status Get(const std::string& name, const std::string& pod_namespace,
                   v1::GetPodResourcesResponse& response) {
    grpc::ClientContext context;
    v1::GetPodResourcesRequest request;
    request.set_pod_name(name);
    request.set_pod_namespace(pod_namespace);
    return v1_->Get(&context, request, &response);
  }

  TestNode node_;
  std::unique_ptr<RunDirectory> directory_;
  ManualClock clock_;
  std::unique_ptr<FakeKubelet> kubelet_;
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<v1::PodResourcesLister::Stub> v1_;
  std::unique_ptr<v1alpha1::PodResourcesLister::Stub> v1alpha1_;
};

class KubeletTest : public KubeletFixture {
 protected:
  KubeletTest() : KubeletFixture(kScenario) {}
};

TEST_F(KubeletTest, ListsThePodsOfThePresentWorldTime) {
  v1::ListPodResourcesResponse response;
  ASSERT_TRUE(List(response).ok());
  ASSERT_EQ(response.pod_resources_size(), 1);
  EXPECT_EQ(response.pod_resources(0).name(), "train");
  EXPECT_EQ(response.pod_resources(0).namespace_(), "ml");
  const World& world = directory_->world();
  EXPECT_EQ(DevicesOf(response.pod_resources(0).containers(0)),
            (Devices{{"nvidia.com/gpu", std::string(world.gpu(0).uuid)},
                     {"nvidia.com/gpu", std::string(world.gpu(1).uuid)}}));

  ASSERT_TRUE(node_.writer().Tick(12'000'000).ok());
  response.Clear();
  ASSERT_TRUE(List(response).ok());
  ASSERT_EQ(response.pod_resources_size(), 2);
  std::map<std::string, Devices> of_late;
  for (const v1::PodResources& pod : response.pod_resources()) {
    for (const v1::ContainerResources& container : pod.containers()) {
      if (pod.name() == "late") {
        of_late[container.name()] = DevicesOf(container);
      }
    }
  }
  EXPECT_EQ(of_late["a"],
            (Devices{{"nvidia.com/mig-1g.10gb", std::string(world.compute(2, 0, 0, 0).mig_uuid)}}))
      << "the second of the list; the hierarchy begins with the smaller one";
  const std::string shared(world.gpu(3).uuid);
  EXPECT_EQ(of_late["b"],
            (Devices{{"nvidia.com/gpu", shared + "::0"}, {"nvidia.com/gpu", shared + "::2"}}));

  ASSERT_TRUE(node_.writer().Tick(8'000'000).ok());
  response.Clear();
  ASSERT_TRUE(List(response).ok());
  EXPECT_EQ(response.pod_resources_size(), 1);
}

// The names of the listed pods, in order.
class ListedPodsTest : public KubeletFixture {
 protected:
  explicit ListedPodsTest(const std::string& head = "")
      : KubeletFixture("format: 1\nname: listed\nseed: 1\n" + head + R"(
gpus: [{count: 3, class: h100-sxm5-80gb}]
pods:
  - {name: proxy-node-a, static: true, containers: [{name: main, gpus: [0]}]}
  - {name: first, start: 1s, stop: 10s, containers: [{name: main, gpus: [1]}]}
  - {name: second, start: 20s, stop: 30s, containers: [{name: main, gpus: [2]}]}
)") {}
  std::set<std::string> Names() {
    v1::ListPodResourcesResponse response;
    EXPECT_TRUE(List(response).ok());
    std::set<std::string> names;
    for (const v1::PodResources& pod : response.pod_resources()) {
      EXPECT_EQ(DevicesOf(pod.containers(0)).size(), 1U) << pod.name();
      names.insert(pod.name());
    }
    return names;
  }
};

using PodNames = std::set<std::string>;

TEST_F(ListedPodsTest, AKubeletThatHasJustStartedListsNoneThenTheStaticOnes) {
  ASSERT_TRUE(node_.writer().Tick(5'000'000).ok());
  EXPECT_EQ(Names(), (PodNames{"first", "proxy-node-a"}));
  ASSERT_TRUE(kubelet_->Behave({.listing = KubeletBehaviour::Listing::kNoPods}).ok());
  EXPECT_EQ(Names(), PodNames());
  ASSERT_TRUE(kubelet_->Behave({.listing = KubeletBehaviour::Listing::kStaticPods}).ok());
  EXPECT_EQ(Names(), PodNames{"proxy-node-a"});
}

TEST_F(ListedPodsTest, AFinishedPodLeavesTheListOfANewKubelet) {
  ASSERT_TRUE(node_.writer().Tick(12'000'000).ok());
  EXPECT_EQ(Names(), PodNames{"proxy-node-a"});
}

// Kubelets before 1.34 keep finished pods.
class KeptPodsTest : public ListedPodsTest {
 protected:
  KeptPodsTest() : ListedPodsTest("kubelet: {keeps_finished: true}") {}
};

TEST_F(KeptPodsTest, AFinishedPodStaysUntilAnotherIsAdmitted) {
  ASSERT_TRUE(node_.writer().Tick(12'000'000).ok());
  EXPECT_EQ(Names(), (PodNames{"first", "proxy-node-a"}));
  ASSERT_TRUE(node_.writer().Tick(8'000'000).ok());
  EXPECT_EQ(Names(), (PodNames{"proxy-node-a", "second"}));
  ASSERT_TRUE(node_.writer().Tick(20'000'000).ok());
  EXPECT_EQ(Names(), (PodNames{"proxy-node-a", "second"})) << "the last one stays";
}

struct TwoNumaNodesTest : ListedPodsTest {
  TwoNumaNodesTest() : ListedPodsTest("kubelet: {two_numa_nodes: true}") {}
};
TEST_F(TwoNumaNodesTest, ADeviceIsListedOncePerNumaNode) {
  v1::ListPodResourcesResponse response;
  ASSERT_TRUE(List(response).ok());
  const auto& devices = response.pod_resources(0).containers(0).devices();
  ASSERT_EQ(devices.size(), 2);
  EXPECT_EQ(devices[1].topology().nodes(0).id(), 1);
}
TEST_F(KubeletTest, TheSocketIsWritableForItsOwnerOnly) {
  struct stat facts {};
  ASSERT_EQ(stat(socket_path().c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 07777, 0755U) << "connecting needs write access";
}

TEST_F(KubeletTest, TheOldVersionListsTheSame) {
  ASSERT_TRUE(node_.writer().Tick(12'000'000).ok());
  v1::ListPodResourcesResponse response;
  v1alpha1::ListPodResourcesResponse old;
  ASSERT_TRUE(List(response).ok());
  ASSERT_TRUE(ListOld(old).ok());
  EXPECT_EQ(response.SerializeAsString(), old.SerializeAsString());
}

TEST_F(KubeletTest, ListsEveryAllocatableId) {
  grpc::ClientContext context;
  v1::AllocatableResourcesResponse response;
  ASSERT_TRUE(v1_->GetAllocatableResources(&context, {}, &response).ok());
  const Devices devices = DevicesOf(response);
  EXPECT_EQ(devices.size(), 2U + 2U + 3U);
  EXPECT_EQ(std::set(devices.begin(), devices.end()).size(), devices.size());
  v1::ListPodResourcesResponse pods;
  ASSERT_TRUE(List(pods).ok());
  for (const auto& device : DevicesOf(pods.pod_resources(0).containers(0))) {
    EXPECT_EQ(std::count(devices.begin(), devices.end(), device), 1) << device.second;
  }
}

TEST_F(KubeletTest, GetsOnePodOrNamesTheUnknownOne) {
  v1::GetPodResourcesResponse response;
  ASSERT_TRUE(Get("train", "ml", response).ok());
  EXPECT_EQ(response.pod_resources().name(), "train");
  EXPECT_EQ(response.pod_resources().containers_size(), 1);
  const grpc::Status unknown = Get("late", "web", response);
  EXPECT_EQ(unknown.error_code(), grpc::StatusCode::UNKNOWN);
  EXPECT_EQ(unknown.error_message(), "pod late in namespace web not found");
}

TEST_F(KubeletTest, RejectsMoreThanABurstOfCalls) {
  v1::ListPodResourcesResponse response;
  v1alpha1::ListPodResourcesResponse old;
  for (int i = 0; i < 5; ++i) {
    EXPECT_TRUE(List(response).ok());
    EXPECT_TRUE(ListOld(old).ok()) << "both versions share one bucket";
  }
  const grpc::Status rejected = List(response);
  EXPECT_EQ(rejected.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(rejected.error_message(), "rejected by rate limit");
  clock_.Advance(std::chrono::milliseconds(20));  // Refills two calls.
  EXPECT_TRUE(List(response).ok());
  EXPECT_TRUE(List(response).ok());
  EXPECT_FALSE(List(response).ok());
}

TEST_F(KubeletTest, GetsANewInodeWhenItRestarts) {
  struct stat before {};
  struct stat after {};
  ASSERT_EQ(stat(socket_path().c_str(), &before), 0);
  kubelet_.reset();
  EXPECT_NE(stat(socket_path().c_str(), &after), 0) << "the socket is removed with the server";
  node_.folder().Write("kubelet/kubelet.sock", "left over");
  Restart();
  ASSERT_EQ(stat(socket_path().c_str(), &after), 0);
  EXPECT_TRUE(S_ISSOCK(after.st_mode));
  v1::ListPodResourcesResponse response;
  EXPECT_TRUE(List(response).ok());
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(node_.path() + "/kubelet"), {}), 1)
      << "no temporary name stays";
}

class OldKubeletTest : public KubeletFixture {
 protected:
  OldKubeletTest()
      : KubeletFixture(
            "format: 1\nname: old\nseed: 1\ngpus: [{class: h100-sxm5-80gb}]\n"
            "kubelet: {allocator: nvidia, versions: [v1alpha1]}\n") {}
};

class KubeletWithoutInventoryTest : public KubeletFixture {
 protected:
  KubeletWithoutInventoryTest()
      : KubeletFixture(
            "format: 1\nname: old\nseed: 1\ngpus: [{class: h100-sxm5-80gb}]\n"
            "kubelet: {allocator: nvidia, versions: [v1], inventory: false}\n") {}
};

class ClaimingKubeletTest : public KubeletFixture {
 protected:
  ClaimingKubeletTest() : KubeletFixture(std::string(kScenario) + "kubelet: {allocator: dra}\n") {}
};

TEST_F(ClaimingKubeletTest, ListsClaimsInsteadOfDevices) {
  ASSERT_TRUE(node_.writer().Tick(12'000'000).ok());
  v1::ListPodResourcesResponse response;
  ASSERT_TRUE(List(response).ok());
  std::string told;
  for (const v1::PodResources& pod : response.pod_resources()) {
    for (const v1::ContainerResources& container : pod.containers()) {
      EXPECT_EQ(container.devices_size(), 0);
      ASSERT_EQ(container.dynamic_resources_size(), 1);
      const v1::DynamicResource& claim = container.dynamic_resources(0);
      told += claim.claim_namespace() + "/" + claim.claim_name() + ":";
      for (const v1::ClaimResource& device : claim.claim_resources()) {
        EXPECT_EQ(device.driver_name(), "gpu.nvidia.com");
        EXPECT_EQ(device.pool_name(), "gpu-node-0");
        told += " " + device.device_name();
      }
      told += "\n";
    }
  }
  EXPECT_EQ(told,
            "ml/train-main: gpu-0 gpu-1\n"
            "web/late-a: gpu-2-mig-1g10gb-19-4\n"
            "web/late-b: gpu-3 gpu-3\n");
  v1alpha1::ListPodResourcesResponse old;
  ASSERT_TRUE(ListOld(old).ok());
  EXPECT_EQ(old.pod_resources_size(), 2) << "v1alpha1 has no claims";
  grpc::ClientContext context;
  v1::AllocatableResourcesResponse offered;
  ASSERT_TRUE(v1_->GetAllocatableResources(&context, {}, &offered).ok());
  EXPECT_EQ(offered.devices_size(), 0);
}

TEST_F(KubeletWithoutInventoryTest, ReportsThatItsInventoryIsDisabled) {
  grpc::ClientContext context;
  v1::AllocatableResourcesResponse response;
  const grpc::Status status = v1_->GetAllocatableResources(&context, {}, &response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::UNKNOWN);
  EXPECT_TRUE(status.error_message().ends_with("disabled")) << status.error_message();
}

TEST_F(OldKubeletTest, LacksTheVersionThatTheScenarioLeavesOut) {
  v1::ListPodResourcesResponse response;
  const grpc::Status status = List(response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::UNIMPLEMENTED);
  EXPECT_EQ(status.error_message(), "unknown service v1.PodResourcesLister");
  v1alpha1::ListPodResourcesResponse old;
  EXPECT_TRUE(ListOld(old).ok());
}

using Socket = KubeletBehaviour::Socket;

constexpr char kOneOwner[] =
    "format: 1\nname: one\nseed: 1\ngpus: [{class: h100-sxm5-80gb}]\n"
    "pods: [{name: train, namespace: ml, containers: [{name: main, gpus: [0]}]}]\n";

// Every misbehaviour of the kubelet as a real client sees it, and the return to normal.
class KubeletBehaviourTest : public KubeletFixture {
 protected:
  KubeletBehaviourTest() : KubeletFixture(kOneOwner) {}

  void Behave(const KubeletBehaviour& next) {
    const Status status = kubelet_->Behave(next);
    ASSERT_TRUE(status.ok()) << status;
  }
  // Uses a new connection: gRPC would wait before it retries a socket that failed.
  grpc::Status ListOnce(v1::ListPodResourcesResponse& response) {
    grpc::ChannelArguments apart;
    apart.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    apart.SetMaxReceiveMessageSize(-1);
    const auto channel = grpc::CreateCustomChannel("unix:" + socket_path(),
                                                   grpc::InsecureChannelCredentials(), apart);
    grpc::ClientContext context;
    return v1::PodResourcesLister::NewStub(channel)->List(&context, {}, &response);
  }
  grpc::Status ListOnce() {
    v1::ListPodResourcesResponse response;
    return ListOnce(response);
  }
  // The result of connect on the socket: 0, or errno.
  int ConnectError() const {
    const int client = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    socket_path().copy(address.sun_path, sizeof(address.sun_path) - 1);
    const bool connected =
        connect(client, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
    const int error = connected ? 0 : errno;
    close(client);
    return error;
  }
  ino_t inode() const {
    struct stat facts {};
    return stat(socket_path().c_str(), &facts) == 0 ? facts.st_ino : 0;
  }
};

TEST_F(KubeletBehaviourTest, DisappearsAndReturns) {
  Behave({.socket = Socket::kGone});
  EXPECT_EQ(ConnectError(), ENOENT);
  Behave({});
  EXPECT_TRUE(ListOnce().ok());
}

TEST_F(KubeletBehaviourTest, RefusesLikeAKilledKubelet) {
  Behave({.socket = Socket::kRefusing});
  EXPECT_EQ(ConnectError(), ECONNREFUSED);
  Behave({});
  EXPECT_TRUE(ListOnce().ok());
}

TEST_F(KubeletBehaviourTest, RestartsBehindANewFile) {
  v1::ListPodResourcesResponse response;
  ASSERT_TRUE(List(response).ok());
  const ino_t before = inode();
  Behave({.start = 1});
  EXPECT_NE(inode(), before);
  EXPECT_TRUE(ListOnce().ok());
}

TEST_F(KubeletBehaviourTest, AnswersBytesThatAreNotHttp2) {
  Behave({.socket = Socket::kNoHttp2});
  EXPECT_EQ(ConnectError(), 0);
  EXPECT_EQ(ListOnce().error_code(), grpc::StatusCode::UNAVAILABLE);
  Behave({});
  EXPECT_TRUE(ListOnce().ok());
}

TEST_F(KubeletBehaviourTest, AnswersBytesThatAreNotAMessage) {
  Behave({.is_garbled = true});
  EXPECT_FALSE(ListOnce().ok());
  Behave({});
  EXPECT_TRUE(ListOnce().ok());
}

TEST_F(KubeletBehaviourTest, AnswersWithManyPods) {
  constexpr int64_t kBytes = 16 * 1024 * 1024;
  Behave({.reply_bytes = kBytes});
  v1::ListPodResourcesResponse response;
  const grpc::Status status = ListOnce(response);
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_GE(static_cast<int64_t>(response.ByteSizeLong()), kBytes);
  EXPECT_LT(static_cast<int64_t>(response.ByteSizeLong()), kBytes + 1024);
  EXPECT_GT(response.pod_resources_size(), 50'000);
  EXPECT_EQ(std::ranges::count_if(response.pod_resources(),
                                  [](const auto& pod) { return pod.name() == "train"; }),
            1)
      << "the node's own pods are among them";
}

TEST_F(KubeletBehaviourTest, AnswersLate) {
  Behave({.delay = std::chrono::seconds(7)});
  std::thread client([&] { EXPECT_TRUE(ListOnce().ok()); });
  clock_.AwaitSleepers(1);
  clock_.Advance(std::chrono::seconds(7));
  client.join();
}

TEST_F(KubeletBehaviourTest, StopsWhileAnAnswerIsDelayed) {
  Behave({.delay = std::chrono::hours(1)});
  std::thread client([&] { EXPECT_FALSE(ListOnce().ok()); });
  clock_.AwaitSleepers(1);
  kubelet_.reset();
  client.join();
}

TEST_F(KubeletBehaviourTest, ServesTheOldVersionOnly) {
  Behave({.is_without_v1 = true});
  EXPECT_EQ(ListOnce().error_code(), grpc::StatusCode::UNIMPLEMENTED);
  v1alpha1::ListPodResourcesResponse old;
  EXPECT_TRUE(ListOld(old).ok());
  EXPECT_EQ(old.pod_resources_size(), 1);
}

TEST_F(KubeletBehaviourTest, DeniesByFileRightsAndByStatus) {
  Behave({.is_denied = true});
  struct stat facts {};
  ASSERT_EQ(stat(socket_path().c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 0777, 0U);
  // Root ignores the file's rights.
  EXPECT_EQ(ListOnce().error_code(),
            geteuid() == 0 ? grpc::StatusCode::PERMISSION_DENIED : grpc::StatusCode::UNAVAILABLE);
  Behave({});
  ASSERT_EQ(stat(socket_path().c_str(), &facts), 0);
  EXPECT_NE(facts.st_mode & 0700, 0U);
  EXPECT_TRUE(ListOnce().ok());
}

TEST_F(KubeletBehaviourTest, RejectsEveryCallAtItsLimit) {
  Behave({.is_rate_limited = true});
  const grpc::Status status = ListOnce();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(status.error_message(), "rejected by rate limit");
  Behave({});
  EXPECT_TRUE(ListOnce().ok());
}

TEST_F(KubeletBehaviourTest, StaysDeniedAfterARestart) {
  Behave({.is_denied = true});
  Behave({.start = 1, .is_denied = true});
  struct stat facts {};
  ASSERT_EQ(stat(socket_path().c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 0777, 0U);
}

}  // namespace
}  // namespace podgpu::sim
