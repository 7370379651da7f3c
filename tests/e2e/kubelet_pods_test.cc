// Names of processes on a shared GPU from the kubelet's own list of pods, without an API server;
// the effects of a refusal and an outage of that list, and where podgpu reports them.
#include <array>
#include <fstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/e2e/failure_fixture.h"

namespace podgpu {
namespace {

constexpr char kTwoSharers[] = R"(format: 1
name: two-sharers
seed: 9
gpus: [{class: h100-sxm5-80gb, sharing: {kind: time_slicing, replicas: 4}}]
pods:
  - name: chat-0
    namespace: ml
    containers:
      - {name: main, devices: ["gpu0::0"], processes: [{pid: 51, load: {sm: 10%}, memory: 1GiB}]}
  - name: proxy-node-a
    namespace: kube-system
    static: true
    containers:
      - {name: web, devices: ["gpu0::1"], processes: [{pid: 52, load: {sm: 20%}, memory: 1GiB}]}
)";

constexpr char kEnergyRows[] = "my_gpu_process_energy_joules_total";
constexpr char kNoNames[] = "2 processes have no namespace, pod and container";

class KubeletPodsNode : public FailureFixture {
 protected:
  KubeletPodsNode() : FailureFixture(kTwoSharers, {"--kubelet-https"}) {}

  void Start(const std::vector<std::string>& more_flags = {}) {
    ASSERT_TRUE(node_.ready()) << node_.output();
    std::vector<std::string> flags = {"-c=200",
                                      "--source=nvml",
                                      "--process-metrics=on",
                                      "--process-interval=200ms",
                                      "--kubernetes-enable-pod-uid",
                                      "--proc-root=" + node_.directory() + "/proc"};
    flags.insert(flags.end(), more_flags.begin(), more_flags.end());
    exporter_.emplace(node_, flags, node_.LinesOf("kubelet/https/env"));
    ASSERT_TRUE(exporter_->ready()) << exporter_->process().output();
  }

  static bool HasNames(const MetricPage& page) {
    return page.Has(kEnergyRows, {R"(pid="51")", R"(namespace="ml")", R"(pod="chat-0")",
                                  R"(container="main")"}) &&
           page.Has(kEnergyRows, {R"(pid="52")", R"(namespace="kube-system")",
                                  R"(pod="proxy-node-a")", R"(container="web")"});
  }
  bool AwaitNames() const { return AwaitPage(HasNames); }
  bool AwaitUp(double up) const {
    return AwaitPage(
        [up](const MetricPage& page) { return page.Value("podgpu_kubelet_pods_up") == up; });
  }
  // The remedy is in the log, on `/` and in /explain; device values continue.
  void ExpectNoNames(const std::string& why) {
    ASSERT_TRUE(AwaitUp(0)) << What();
    for (const char* path : {"/", "/explain?gpu=0"}) {
      EXPECT_TRUE(exporter_->Await(path, kNoNames)) << exporter_->Get(path);
      EXPECT_TRUE(exporter_->Await(path, why)) << exporter_->Get(path);
      EXPECT_TRUE(exporter_->Await(path, "--kubelet-pods-url and the right to get nodes/pods"))
          << exporter_->Get(path);
    }
    EXPECT_NE(AwaitLog({"kubelet pod list state changed", why}), "");
    EXPECT_NE(AwaitLog({"processes of pods have no names", why}), "");
    EXPECT_TRUE(AwaitPage([](const MetricPage& page) {
      return page.Value("podgpu_config_warnings") == 1 &&
             page.Value("podgpu_kubelet_pods_failures_total") >= 1 &&
             page.Has(kEnergyRows, {R"(pid="51")", R"(pod="")"}) &&
             page.Has("DCGM_FI_DEV_GPU_TEMP", {Gpu("0")});
    })) << Page().text();
    EXPECT_TRUE(exporter_->Get("/readyz").starts_with("ready")) << exporter_->Get("/readyz");
  }
  std::string What() const { return exporter_->Get("/"); }
};

TEST_F(KubeletPodsNode, ProcessesOnASharedGpuAreNamedWithoutAnApiServer) {
  Start();
  ASSERT_TRUE(AwaitNames()) << What() << Page().text();
  ASSERT_TRUE(AwaitUp(1)) << What();
  EXPECT_TRUE(exporter_->Await("/", "the kubelet lists 2 pods")) << What();
  const MetricPage page = Page();
  EXPECT_EQ(page.Value("podgpu_config_warnings"), 0);
  EXPECT_FALSE(page.Has("podgpu_api_server_up")) << "the API server is not used";
  EXPECT_TRUE(page.Has("podgpu_pod_gpu_energy_joules_total", {R"(pod="chat-0")"}));
  EXPECT_EQ(exporter_->Get("/explain?gpu=0").find(kNoNames), std::string::npos);
}

TEST_F(KubeletPodsNode, AMissingRightIsReportedEverywhere) {
  node_.Command({"fault", "kubelet_https_forbidden"});
  ASSERT_TRUE(node_.AwaitLine("kubelet_https_forbidden"));
  Start();
  ExpectNoNames("Grant get of nodes/pods by a ClusterRole");
}

TEST_F(KubeletPodsNode, ARefusalIsReportedEverywhereAndEnds) {
  for (const auto& [fault, line, why] :
       {std::array{"kubelet_https_unauthorized", "kubelet_https_unauthorized",
                   "authentication.webhook.enabled"},
        {"kubelet_https_down", "down", "the kubelet at 127.0.0.1:"}}) {
    SCOPED_TRACE(fault);
    node_.Command({"fault", fault});
    ASSERT_TRUE(node_.AwaitLine(line));
    Start();
    ExpectNoNames(why);
    node_.Command({"heal"});
    EXPECT_TRUE(AwaitNames()) << What();
    EXPECT_TRUE(AwaitUp(1)) << What();
    EXPECT_TRUE(exporter_->AwaitWithout("/", kNoNames)) << What();
    EXPECT_NE(AwaitLog({"kubelet pod list state changed", "state=ok"}), "");
  }
}

// Uids and labels stay, as after the loss of the API server.
TEST_F(KubeletPodsNode, AnOutageKeepsKnownNames) {
  Start();
  ASSERT_TRUE(AwaitNames()) << What();
  ASSERT_TRUE(AwaitUp(1)) << What();
  node_.Command({"fault", "kubelet_https_forbidden"});
  ASSERT_TRUE(AwaitUp(0)) << What();
  EXPECT_TRUE(HasNames(Page()));
  EXPECT_TRUE(exporter_->Await("/", "the kubelet answers 403 to GET /pods")) << What();
  node_.Command({"heal"});
  EXPECT_TRUE(AwaitUp(1)) << What();
}

TEST_F(KubeletPodsNode, AnUnverifiableCertificateIsRefusedUnlessAllowed) {
  ASSERT_TRUE(node_.ready()) << node_.output();
  std::ofstream(node_.directory() + "/kubelet/https/ca.crt", std::ios::trunc) << R"(nothing)";
  Start();
  ExpectNoNames("ca.crt contains no certificate");
  exporter_.reset();
  Start({"--kubelet-pods-insecure-skip-tls-verify"});
  EXPECT_TRUE(AwaitNames()) << What();
  EXPECT_NE(AwaitLog({"--kubelet-pods-insecure-skip-tls-verify", "gets the token"}), "");
}

}  // namespace
}  // namespace podgpu
