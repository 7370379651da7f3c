// The kubelet client against a real gRPC server: podgpu-sim's kubelet, in its own process.
#include "kube/kubelet_client.h"

#include <chrono>
#include <csignal>
#include <spawn.h>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include <gtest/gtest.h>

#include "base/testing/temporary_folder.h"

namespace podgpu {
namespace {

constexpr char kProgram[] = PODGPU_BINARY_DIR "/bin/podgpu-sim";
constexpr char kScenario[] = R"(format: 1
name: owners
seed: 1
gpus:
  - {class: h100-sxm5-80gb, uuid: GPU-11111111-0000-4000-8000-000000000001}
  - class: h100-sxm5-80gb
    uuid: GPU-22222222-0000-4000-8000-000000000002
    sharing: {kind: time_slicing, replicas: 2}
pods:
  - {name: train, namespace: research, containers: [{name: main, gpus: [0]}]}
  - {name: chat, namespace: serving, containers: [{name: server, devices: ["gpu1::1"]}]}
)";

const std::vector<Allocation> kExpected = {
    {"research", "train", "main", "nvidia.com/gpu", "GPU-11111111-0000-4000-8000-000000000001"},
    {"serving", "chat", "server", "nvidia.com/gpu", "GPU-22222222-0000-4000-8000-000000000002::1"},
};

// A simulated node that runs while the object lives.
class SimulatedNode {
 public:
  explicit SimulatedNode(const std::string& scenario) {
    const std::string file = folder_.Write("owners.yaml", scenario);
    std::vector<std::string> words = {kProgram,        "run",      file,           "--dir",
                                      folder_ / "run", "--manual", "--engine-tcp", "127.0.0.1:0"};
    std::vector<char*> arguments;
    for (std::string& word : words) {
      arguments.push_back(word.data());
    }
    arguments.push_back(nullptr);
    EXPECT_EQ(::posix_spawn(&pid_, kProgram, nullptr, nullptr, arguments.data(), environ), 0);
  }
  SimulatedNode(const SimulatedNode&) = delete;
  SimulatedNode& operator=(const SimulatedNode&) = delete;
  ~SimulatedNode() {
    ::kill(pid_, SIGTERM);
    ::waitpid(pid_, nullptr, 0);
  }

  bool is_running() const { return ::waitpid(pid_, nullptr, WNOHANG) == 0; }
  std::string socket() const { return folder_ / "run/kubelet/kubelet.sock"; }

 private:
  const TemporaryFolder folder_;
  pid_t pid_ = 0;
};

// The first answer; the client fails until the socket exists.
StatusOr<std::shared_ptr<const PodAllocations>> AwaitList(const SimulatedNode& node,
                                                          PodResources& client) {
  while (true) {
    StatusOr<std::shared_ptr<const PodAllocations>> answer = client.List();
    const absl::StatusCode code = answer.status().code();
    const bool is_early =
        code == absl::StatusCode::kNotFound || code == absl::StatusCode::kUnavailable;
    if (!is_early || !node.is_running()) {
      return answer;
    }
    std::this_thread::yield();
  }
}

void ExpectOwners(const std::string& scenario, const std::string& api_version) {
  const SimulatedNode node(scenario);
  const auto client =
      MakeKubeletClient({.socket = node.socket(), .timeout = std::chrono::seconds(60)});
  for (int i = 0; i < 3; ++i) {
    const StatusOr<std::shared_ptr<const PodAllocations>> answer = AwaitList(node, *client);
    ASSERT_TRUE(answer.ok()) << answer.status();
    EXPECT_EQ((*answer)->api_version, api_version);
    EXPECT_EQ((*answer)->pod_count, 2U);
    EXPECT_EQ((*answer)->allocations, kExpected);
  }
}

TEST(KubeletClientOverGrpc, ListsTheOwnersOfASimulatedNode) { ExpectOwners(kScenario, "v1"); }

TEST(KubeletClientOverGrpc, FallsBackToV1Alpha1) {
  ExpectOwners(std::string(kScenario) + "kubelet: {versions: [v1alpha1]}\n", "v1alpha1");
}

}  // namespace
}  // namespace podgpu
