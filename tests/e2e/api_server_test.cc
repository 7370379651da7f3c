// The real program in a simulated cluster: engine, kubelet and API server.  First with the
// simulator's own API server, then with one in this process that fails on order.
#include "sim/kube/api_server.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "tests/e2e/failure_fixture.h"

namespace podgpu {
namespace {

// A node with the simulator's API server.
class ClusterNode : public FailureFixture {
 protected:
  explicit ClusterNode(const std::string& more = "")
      : FailureFixture(kThreeGpus + more, {"--api-server"}) {}

  // Starts podgpu with the variables of a pod on this node.
  void StartInPod(std::vector<std::string> flags, std::vector<std::string> variables = {}) {
    ASSERT_TRUE(node_.ready()) << node_.output();
    const std::vector<std::string> of_api = node_.LinesOf("api/env");
    variables.insert(variables.end(), of_api.begin(), of_api.end());
    flags.insert(flags.begin(), {"-c=200", "--stale-after=20s"});
    exporter_.emplace(node_, flags, variables);
    ASSERT_TRUE(exporter_->ready()) << exporter_->process().output();
  }
  std::string What() const { return exporter_->Get("/"); }
};

TEST_F(ClusterNode, RowsHaveTheUidAndTheLabelsOfTheirPod) {
  StartInPod({"--kubernetes-enable-pod-uid", "--kubernetes-enable-pod-labels",
              "--kubernetes-pod-label-allowlist-regex=pod-index$"});
  const std::vector<std::string> of_train = {R"(apps_kubernetes_io_pod_index="1")",
                                             R"(pod="train-1")"};
  ASSERT_TRUE(AwaitPage([&](const MetricPage& page) {
    return page.Has("DCGM_FI_DEV_GPU_TEMP", of_train);
  })) << What();
  const MetricPage page = Page();
  const std::string_view row = page.Lines("DCGM_FI_DEV_GPU_TEMP", of_train).at(0);
  EXPECT_EQ(MetricPage::Label(row, "pod_uid").size(), 36U) << row;
  EXPECT_EQ(row.find("app_kubernetes_io_name"), std::string_view::npos)
      << "the label is not on the allowlist";
  EXPECT_EQ(page.Value("podgpu_api_server_objects", {R"(collection="pods")"}), 3);
  EXPECT_TRUE(AwaitPage([](const MetricPage& later) {
    return later.Value("podgpu_api_server_requests_total", {R"(collection="pods")"}) == 2;
  })) << "one list and one watch are sent";
}

// The kubelet still lists a finished pod, as before Kubernetes 1.34.
constexpr char kFinishes[] = R"(format: 1
name: finishes
seed: 5
gpus: [{count: 2, class: h100-sxm5-80gb}]
kubelet: {keeps_finished: true}
pods:
  - {name: job-0, namespace: batch, stop: 20s, containers: [{name: main, gpus: [0]}]}
  - {name: proxy-node-a, namespace: kube-system, static: true, containers: [
      {name: main, gpus: [1], processes: [{pid: 71, load: {sm: 50%}, memory: 1GiB}]}]}
)";

class OldKubelet : public FailureFixture {
 protected:
  OldKubelet() : FailureFixture(kFinishes, {"--api-server"}) {}
  void Start(bool asks_api) {
    ASSERT_TRUE(node_.ready()) << node_.output();
    exporter_.emplace(node_,
                      std::vector<std::string>{"-c=200", "--source=nvml", "--process-metrics=on",
                                               "--process-interval=200ms",
                                               "--proc-root=" + node_.directory() + "/proc"},
                      asks_api ? node_.LinesOf("api/env") : std::vector<std::string>());
    ASSERT_TRUE(exporter_->ready()) << exporter_->process().output();
  }
  static bool HoldsGpu0(const MetricPage& page) {
    return page.Has("podgpu_allocation_info", {Gpu("0"), R"(pod="job-0")"});
  }
};

TEST_F(OldKubelet, AFinishedPodHoldsNoDeviceByTheApiServersWord) {
  Start(true);
  ASSERT_TRUE(AwaitPage(HoldsGpu0)) << exporter_->Get("/");
  ASSERT_TRUE(AwaitPage([](const MetricPage& page) { return !HoldsGpu0(page); }));
  EXPECT_EQ(Page().Value("podgpu_pod_resources_pods"), 2)
      << "the kubelet still lists the finished pod";
  EXPECT_TRUE(exporter_->Await("/explain?gpu=0", "free")) << exporter_->Get("/explain?gpu=0");
}

TEST_F(OldKubelet, WithoutTheApiServerExplainSaysThatFinishedPodsAreUnknown) {
  Start(false);
  ASSERT_TRUE(AwaitPage(HoldsGpu0)) << exporter_->Get("/");
  EXPECT_TRUE(exporter_->Await("/explain?gpu=0", "may have finished already"))
      << exporter_->Get("/explain?gpu=0");
}

TEST_F(OldKubelet, ProcessesOfAStaticPodGetTheUidOfItsMirror) {
  Start(true);
  // The mirror's uid is used; the hash in the cgroup is shorter.
  ASSERT_TRUE(AwaitPage([](const MetricPage& page) {
    constexpr size_t kUidCharacters = 36;
    const auto rows = page.Lines("my_gpu_process_active", {R"(pid="71")", R"(pod="proxy-node-a")"});
    return rows.size() == 1 && MetricPage::Label(rows[0], "pod_uid").size() == kUidCharacters &&
           page.Has("podgpu_pod_gpu_active_seconds_total", {R"(pod="proxy-node-a")"});
  })) << Page().text();
}

// The effect of `podgpu-sim fault api_*`: known labels stay, and after the fault all is normal.
class FaultyApi : public ClusterNode {
 protected:
  void StartWithLabels() { StartInPod({"--kubernetes-enable-pod-labels"}); }
  bool AwaitLabels() const {
    return AwaitPage([](const MetricPage& page) { return HasLabels(page); });
  }
  bool AwaitUp(double up) const {
    return AwaitPage([up](const MetricPage& page) {
      return page.Value("podgpu_api_server_up", {R"(collection="pods")"}) == up;
    });
  }
  static bool HasLabels(const MetricPage& page) {
    return page.Has("DCGM_FI_DEV_GPU_TEMP",
                    {R"(pod="train-1")", R"(apps_kubernetes_io_pod_index="1")"});
  }
  static double Requests(const MetricPage& page) {
    return page.Value("podgpu_api_server_requests_total", {R"(collection="pods")"}).value_or(0);
  }
};

TEST_F(FaultyApi, KeepsKnownLabelsInEachFailure) {
  StartWithLabels();
  ASSERT_TRUE(AwaitLabels()) << What();
  for (const char* fault : {"api_down", "api_garbage"}) {
    node_.Command({"fault", fault});
    ASSERT_TRUE(AwaitUp(0)) << fault << What();
    EXPECT_TRUE(HasLabels(Page())) << fault;
    node_.Command({"heal"});
    ASSERT_TRUE(AwaitUp(1)) << fault << What();
  }
}

TEST_F(FaultyApi, DoesNotDelayPagesWhileItIsSlow) {
  node_.Command({"fault", "api_slow", "ms=3600000"});
  ASSERT_TRUE(node_.AwaitLine("api_slow"));
  StartWithLabels();
  ASSERT_TRUE(AwaitPage([](const MetricPage& page) {
    return page.Has("DCGM_FI_DEV_GPU_TEMP", {R"(pod="train-1")"});
  })) << What();
  EXPECT_FALSE(HasLabels(Page()));
  node_.Command({"heal"});
  EXPECT_TRUE(AwaitLabels()) << What();
}

TEST_F(FaultyApi, ListsAgainAfterItDroppedItsHistory) {
  StartWithLabels();
  ASSERT_TRUE(AwaitPage([](const MetricPage& page) {
    return HasLabels(page) && Requests(page) == 2;
  })) << "a list and a watch: "
      << What();
  node_.Command({"fault", "api_gone"});
  ASSERT_TRUE(AwaitPage([](const MetricPage& page) {
    EXPECT_TRUE(HasLabels(page)) << "labels are on every page";
    return Requests(page) == 5;
  })) << "a watch that is answered 410, a list and a watch: "
      << What();
  EXPECT_TRUE(AwaitUp(1)) << What();
}

// Like a server that is starting and has not read its access rights yet.  Podgpu asks for a right
// that was always missing only once a minute.
TEST_F(FaultyApi, RecoversSoonFromAShortRefusal) {
  StartWithLabels();
  ASSERT_TRUE(AwaitLabels()) << What();
  node_.Command({"fault", "api_forbidden"});
  ASSERT_TRUE(AwaitUp(0)) << What();
  EXPECT_TRUE(exporter_->Await("/", "pods is forbidden")) << What();
  EXPECT_TRUE(HasLabels(Page()));
  const auto line = exporter_->process().AwaitLine("API server state changed");
  ASSERT_TRUE(line) << exporter_->process().output();
  EXPECT_EQ(exporter_->Fetch("/readyz").status, 200);
  node_.Command({"heal"});
  EXPECT_TRUE(AwaitUp(1)) << What();
}

TEST_F(FaultyApi, AnOutageWithExpiredVersionsNeedsOneList) {
  StartWithLabels();
  ASSERT_TRUE(AwaitPage([](const MetricPage& page) {
    return HasLabels(page) && Requests(page) == 2;
  })) << What();
  node_.Command({"fault", "api_down"});
  ASSERT_TRUE(AwaitUp(0)) << What();
  node_.Command({"fault", "api_gone"});
  const double asked = Requests(Page());
  node_.Command({"heal", "api_down"});
  ASSERT_TRUE(AwaitUp(1)) << What();
  EXPECT_TRUE(AwaitPage([&](const MetricPage& page) { return Requests(page) == asked + 3; }))
      << "a watch that is answered 410, a list and a watch: " << What();
}

class ClaimingNode : public ClusterNode {
 protected:
  ClaimingNode() : ClusterNode("kubelet: {allocator: dra}\n") {}
};

TEST_F(ClaimingNode, RowsOfGpusAndInstancesHaveTheirClaims) {
  StartInPod({"--kubernetes-enable-dra"});
  const std::string instance = R"(dra_mig_profile="3g.40gb")";
  ASSERT_TRUE(AwaitPage([&](const MetricPage& page) {
    return page.Has("DCGM_FI_DEV_FB_USED", {instance}) &&
           page.Has("DCGM_FI_DEV_FB_USED", {R"(dra_device_name="gpu-0")"});
  })) << What();
  const MetricPage page = Page();
  for (const std::string pod : {"train-0", "train-1"}) {
    const auto rows = page.Lines("DCGM_FI_DEV_FB_USED", {R"(pod=")" + pod + "\""});
    ASSERT_EQ(rows.size(), 1U) << pod;
    EXPECT_EQ(MetricPage::Label(rows[0], "dra_claim_name"), pod + "-main");
    EXPECT_EQ(MetricPage::Label(rows[0], "dra_pool_name"), "gpu-node-0");
    EXPECT_EQ(MetricPage::Label(rows[0], "gpu"), pod.substr(pod.size() - 1));
  }
  const auto claimed = page.Lines("DCGM_FI_DEV_FB_USED", {R"(pod="slice-0")"});
  ASSERT_EQ(claimed.size(), 1U) << "the claim is on the instance, not on its GPU";
  EXPECT_EQ(MetricPage::Label(claimed[0], "GPU_I_PROFILE"), "3g.40gb");
  EXPECT_TRUE(MetricPage::Label(claimed[0], "dra_mig_device_uuid").starts_with("MIG-"));
  EXPECT_EQ(page.Lines("podgpu_allocation_info").size(), 3U);
}

// Like the GPU Operator's exporter, whose own pod holds a claim on every GPU to observe it.
TEST_F(ClaimingNode, TheClaimOfPodgpusOwnPodIsNotAnOwner) {
  StartInPod({"--kubernetes-enable-dra"}, {"POD_NAME=train-0", "POD_NAMESPACE=research"});
  ASSERT_TRUE(AwaitPage([](const MetricPage& page) {
    return page.Has("podgpu_allocation_info", {R"(pod="train-1")"});
  })) << What();
  const MetricPage page = Page();
  EXPECT_FALSE(page.Has("podgpu_allocation_info", {R"(pod="train-0")"}));
  EXPECT_EQ(page.Lines("DCGM_FI_DEV_GPU_TEMP", {Gpu("0")}).size(), 1U)
      << "the GPU has one row, as a free GPU";
  EXPECT_FALSE(page.Has("DCGM_FI_DEV_GPU_TEMP", {R"(pod="train-0")"}));
}

TEST_F(ClaimingNode, AClaimOfARemovedInstanceHasAReason) {
  StartInPod({"--kubernetes-enable-dra"});
  ASSERT_TRUE(AwaitPage([](const MetricPage& page) {
    return page.Has("podgpu_allocation_info", {R"(pod="slice-0")"});
  })) << What();
  node_.Command({"mig", "--gpu=2", "off"});
  EXPECT_TRUE(AwaitPage([](const MetricPage& page) {
    return page.Value("podgpu_devices_unmatched", {R"(reason="no_resource_slice")"}) == 1;
  })) << What();
  EXPECT_FALSE(Page().Has("podgpu_allocation_info", {R"(pod="slice-0")"}));
  EXPECT_TRUE(Page().Has("podgpu_allocation_info", {R"(pod="train-0")"}));
}

// A node with an API server in this process.
class TroubledCluster : public FailureFixture {
 protected:
  TroubledCluster() : FailureFixture(kThreeGpus) { SetLabel("first"); }

  void SetLabel(const std::string& team) {
    server_.Put(
        sim::kPodsPath, "research/train-0",
        R"("namespace":"research","name":"train-0","uid":"u","labels":{"team":")" + team + "\"}");
  }
  void StartWithLabels() {
    const std::string folder = credentials_.path();
    ASSERT_TRUE(server_.WriteCredentials(folder));
    ASSERT_TRUE(node_.ready()) << node_.output();
    exporter_.emplace(
        node_,
        std::vector<std::string>{"-c=200", "--stale-after=20s", "--kubernetes-enable-pod-labels",
                                 "--service-account-dir=" + folder},
        std::vector<std::string>{"KUBERNETES_SERVICE_HOST=127.0.0.1",
                                 "KUBERNETES_SERVICE_PORT=" + std::to_string(server_.port())});
    ASSERT_TRUE(exporter_->ready()) << exporter_->process().output();
  }
  bool AwaitLabel(const std::string& team) const {
    return AwaitPage([&](const MetricPage& page) {
      return page.Has("DCGM_FI_DEV_GPU_TEMP", {"team=\"" + team + "\"", R"(pod="train-0")"});
    });
  }
  size_t Lists() const {
    const std::vector<std::string> requests = server_.requests();
    return static_cast<size_t>(std::ranges::count_if(
        requests, [](const std::string& r) { return r.find("watch=1") == std::string::npos; }));
  }

  sim::FakeApi server_;
  const TemporaryFolder credentials_;
};

TEST_F(TroubledCluster, ABusyServerIsNotAskedBeforeItsRetryAfter) {
  server_.Refuse(1, 429, "Retry-After: 1\r\n");
  StartWithLabels();
  EXPECT_TRUE(AwaitPage([](const MetricPage& page) {
    return page.Has("DCGM_FI_DEV_GPU_TEMP", {R"(pod="train-0")"});
  })) << "the kubelet's pod is on the page";
  EXPECT_TRUE(AwaitLabel("first")) << exporter_->Get("/");
  EXPECT_EQ(Lists(), 2U) << "one refused list and one more";
}

TEST_F(TroubledCluster, AWatchThatIsCutInTheMiddleOfALineContinues) {
  StartWithLabels();
  server_.AwaitWatches(1);
  server_.SendToWatches(R"({"type":"MODIFIED","object":{"metadata":{"name":"tra)");
  server_.CutWatches();
  SetLabel("second");
  EXPECT_TRUE(AwaitLabel("second")) << exporter_->Get("/");
  EXPECT_EQ(Lists(), 1U) << "the watch continues from the last version";
}

TEST_F(TroubledCluster, AnExpiredTokenIsReadAgain) {
  StartWithLabels();
  ASSERT_TRUE(AwaitLabel("first")) << exporter_->Get("/");
  server_.AcceptToken("the next one");
  server_.CutWatches();
  EXPECT_TRUE(exporter_->Await("/", "401")) << exporter_->Get("/");
  EXPECT_TRUE(AwaitLabel("first")) << "known labels stay";
  SetLabel("second");
  credentials_.Write("token", "the next one\n");  // As the kubelet renews it.
  EXPECT_TRUE(AwaitLabel("second")) << exporter_->Get("/");
  EXPECT_EQ(exporter_->process().output().find("the next one"), std::string::npos);
}

}  // namespace
}  // namespace podgpu
