// Kubernetes' own Go clients (tests/peer/metricsapi) ask the metrics APIs of the cluster role, as
// the API server's aggregator, the autoscaler and other callers do.  Two simulated nodes, the real
// programs, and a simulated API server.
#include <fstream>
#include <iterator>

#include <gtest/gtest.h>

#include "sim/kube/api_server.h"
#include "tests/e2e/sim_node.h"

namespace podgpu {
namespace {

constexpr char kGo[] = "build/metricsapi/metricsapi";
constexpr char kExternal[] = "v1beta1.external.metrics.k8s.io";
constexpr char kCustom[] = "v1beta2.custom.metrics.k8s.io";

std::string TextOf(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

// A pod that holds one GPU under a constant load.
std::string PodOn(int gpu, const std::string& pod_namespace, const std::string& pod,
                  const std::string& load) {
  return "  - name: " + pod + "\n    namespace: " + pod_namespace +
         "\n    containers:\n      - {name: main, gpus: [" + std::to_string(gpu) +
         "], processes: [{pid: " + std::to_string(4101 + gpu) + ", load: {" + load +
         "}, memory: 40GiB}]}\n";
}

std::string ScenarioOf(int seed, const std::string& pods) {
  return "format: 1\nname: steady\nseed: " + std::to_string(seed) +
         "\nnoise_mw: 0\ngpus:\n  - {class: h100-sxm5-80gb}\n  - {class: h100-sxm5-80gb}\npods:\n" +
         pods;
}

class MetricsClientsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    Child certificates({kGo, "certificates", folder_.path()});
    ASSERT_EQ(certificates.Wait(), 0) << certificates.output();
    FillCluster();
    StartNode("gpu-node-1", PodOn(0, "serving", "llm-0", "sm: 80%, mem: 40%") +
                                PodOn(1, "serving", "llm-1", "sm: 60%, mem: 20%"));
    StartNode("gpu-node-2", PodOn(0, "research", "train-0", "sm: 50%, mem: 60%"));
    ASSERT_FALSE(HasFatalFailure());
  }

  // What the API server knows: authorities, users and their rights, pods and nodes.
  void FillCluster() {
    ASSERT_TRUE(server_.WriteCredentials(folder_.path()));
    server_.PutTrust({TextOf(folder_.path() + "/client-ca.crt"),
                      TextOf(folder_.path() + "/front-proxy-ca.crt"),
                      {"front-proxy-client"}});
    server_.PutApiService(kExternal, "gpu", "podgpu-cluster");
    server_.PutApiService(kCustom, "gpu", "podgpu-cluster");
    // Everyone may read the lists of groups and versions, as in every cluster.
    const std::string everyone = "system:authenticated";
    const std::string autoscaler = "system:serviceaccount:kube-system:horizontal-pod-autoscaler";
    server_.AcceptUser("alice", {"alice", {"serving-team", everyone}});
    server_.AcceptUser("bob", {"bob", {everyone}});
    server_.Permit({{autoscaler, "", "", "external.metrics.k8s.io"},
                    {autoscaler, "", "", "custom.metrics.k8s.io"},
                    {"alice", "", "serving"},
                    {.user = "", .group = everyone, .verb = "get", .path = "/api*"},
                    {.user = "", .group = everyone, .verb = "get", .path = "/openapi*"}});
    server_.PutPod("serving", "llm-0", "uid-0", R"({"app":"llm"})");
    server_.PutPod("serving", "llm-1", "uid-1", R"({"app":"llm","tier":"canary"})");
    server_.PutPod("research", "train-0", "uid-2", R"({"app":"train"})");
    for (const char* const node : {"gpu-node-1", "gpu-node-2"}) {
      const std::string zone = std::string(node) == "gpu-node-1" ? "a" : "b";
      server_.Put("/api/v1/nodes", node,
                  "\"name\":\"" + std::string(node) +
                      R"(","labels":{"topology.kubernetes.io/zone":")" + zone + "\"}");
    }
  }

  void StartNode(const std::string& name, const std::string& pods) {
    const int seed = 71 + static_cast<int>(nodes_.size());
    const std::string path = folder_.Write(name, ScenarioOf(seed, pods));
    nodes_.push_back(std::make_unique<SimNode>(path, SimNode::Pace::kReal));
    ASSERT_TRUE(nodes_.back()->ready()) << nodes_.back()->output();
    exporters_.push_back(std::make_unique<ExporterProcess>(
        *nodes_.back(),
        std::vector<std::string>{"-c=500", "--process-metrics=on", "--process-interval=500ms",
                                 "--proc-root=" + nodes_.back()->directory() + "/proc",
                                 "--metrics-views=dcgm,native"},
        std::vector<std::string>{"NODE_NAME=" + name}));
    ASSERT_TRUE(exporters_.back()->ready());
    node_lines_ += "127.0.0.1:" + std::to_string(exporters_.back()->port()) + "\n";
  }

  // The variables of a pod in the cluster.
  std::vector<std::string> InPod() const {
    return {"KUBERNETES_SERVICE_HOST=127.0.0.1",
            "KUBERNETES_SERVICE_PORT=" + std::to_string(server_.port()),
            "PODGPU_SERVICE_ACCOUNT_DIR=" + folder_.path()};
  }

  // A replica of the cluster role that serves the metrics APIs at an address of its own.
  void StartReplica() {
    addresses_.push_back("127.0.0.1:" + std::to_string(FreePort()));
    replicas_.push_back(std::make_unique<Child>(
        std::vector<std::string>{
            PODGPU_BINARY_DIR "/bin/podgpu", "cluster", "-a=127.0.0.1:0",
            "--nodes=file:" + folder_.Write("nodes", node_lines_), "--node-interval=1s",
            "--node-withdraw-after=3s", "--metrics-api-listen=" + addresses_.back(),
            "--metrics-api-window=10s", "--metrics-api-service=podgpu-cluster.gpu",
            "--metrics-api-node-labels=topology.kubernetes.io/zone"},
        InPod()));
    ASSERT_NE(ServedPort(*replicas_.back()), 0) << replicas_.back()->output();
  }

  const TemporaryFolder folder_;
  sim::FakeApi server_;
  std::vector<std::unique_ptr<SimNode>> nodes_;
  std::vector<std::unique_ptr<ExporterProcess>> exporters_;
  std::string node_lines_;
  std::vector<std::string> addresses_;
  std::vector<std::unique_ptr<Child>> replicas_;
};

TEST_F(MetricsClientsTest, AnswersTheClientsOfKubernetesAndRefusesOthers) {
  server_.DisturbPatches(1);  // Two replicas also disturb each other.
  StartReplica();
  StartReplica();
  ASSERT_FALSE(HasFatalFailure());
  Child client({kGo, "check", folder_.path(), addresses_[0], addresses_[1]}, InPod());
  EXPECT_EQ(client.Wait(), 0) << client.output() << replicas_[0]->output();
  EXPECT_NE(client.output().find("metricsapi: all checks passed"), std::string::npos);

  exporters_.clear();
  Child after({kGo, "gone", folder_.path(), addresses_[0]}, InPod());
  EXPECT_EQ(after.Wait(), 0) << after.output() << replicas_[0]->output();
}

}  // namespace
}  // namespace podgpu
