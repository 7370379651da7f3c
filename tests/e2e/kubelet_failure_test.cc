// Each way in which kubelets fail: podgpu_pod_resources_up and the sentence on the status page give
// the reason, device values continue, and owners return afterwards.
#include <gtest/gtest.h>

#include "tests/e2e/failure_fixture.h"

namespace podgpu {
namespace {

constexpr std::string_view kUp = "\npodgpu_pod_resources_up 1\n";
constexpr std::string_view kDown = "\npodgpu_pod_resources_up 0\n";

class KubeletFailure : public FailureFixture {
 protected:
  KubeletFailure() : FailureFixture(kThreeGpus) {}

  void SetUp() override {
    StartExporter();
    owners_ = Owners();
    ASSERT_EQ(owners_.size(), 3U);
  }

  std::set<std::string> Owners() const { return Page().Series({"podgpu_allocation_info"}); }

  // Makes the kubelet fail in one way, checks the reported reason and that all else continues.
  void Fail(std::vector<std::string> fault, std::string_view reason) {
    fault.insert(fault.begin(), "fault");
    node_.Command(fault);
    ASSERT_TRUE(exporter_->Await("/metrics", kDown)) << exporter_->Get("/");
    ASSERT_TRUE(exporter_->Await("/", reason)) << exporter_->Get("/");
    ExpectDevicesGoOn();
    const MetricPage page = Page();
    EXPECT_GT(page.Value("podgpu_pod_resources_failures_total"), 0);
    EXPECT_TRUE(page.Has("podgpu_fact_age_seconds", {R"(fact="pod_resources")"}));
    EXPECT_EQ(Owners(), owners_) << "the last owners are kept for a while";
  }

  // Each GPU has new values, independent of the kubelet.
  void ExpectDevicesGoOn() const {
    const double ticks = Page().Value("podgpu_ticks_total").value_or(-1);
    EXPECT_TRUE(AwaitPage([&](const MetricPage& page) {
      return page.Value("podgpu_ticks_total") > ticks + 1 && page.Value("podgpu_ready") == 1 &&
             page.Has("DCGM_FI_DEV_GPU_TEMP", {Gpu("0")}) &&
             page.Has("DCGM_FI_DEV_GPU_TEMP", {Gpu("1")});
    }));
  }

  void Heal() const {
    node_.Command({"heal"});
    ExpectWell();
  }
  void ExpectWell() const {
    EXPECT_TRUE(exporter_->Await("/metrics", kUp)) << exporter_->Get("/");
    EXPECT_TRUE(AwaitPage([&](const MetricPage& page) {
      return page.Series({"podgpu_allocation_info"}) == owners_;
    }));
  }

  std::set<std::string> owners_;
};

TEST_F(KubeletFailure, AMissingSocketIsReported) {
  Fail({"kubelet_down"}, "kubelet.sock does not exist. Mount the directory");
  Heal();
}

TEST_F(KubeletFailure, ARefusingSocketIsReported) {
  Fail({"kubelet_down", "how=refuses"}, "kubelet.sock refuses connections: no process listens");
  Heal();
}

TEST_F(KubeletFailure, ARestartedKubeletIsFoundOnItsNewSocket) {
  Fail({"kubelet_restart", "for=8s"}, "kubelet.sock refuses connections: no process listens");
  ExpectWell();
}

// It lists no pod, then the static ones; podgpu reports that and keeps the known owners.
TEST_F(KubeletFailure, AKubeletThatHasJustStartedDoesNotFreeADevice) {
  node_.Command({"fault", "kubelet_restart", "for=100ms", "sync=12s"});
  ASSERT_TRUE(exporter_->Await("/", "list is incomplete: it has 0 pods")) << exporter_->Get("/");
  EXPECT_EQ(Page().Value("podgpu_pod_resources_up"), 0);
  EXPECT_EQ(Owners(), owners_);
  EXPECT_EQ(exporter_->Get("/readyz").rfind("ready", 0), 0U)
      << "readiness does not depend on owners";
  const std::string explained = exporter_->Get("/explain?gpu=0");
  EXPECT_EQ(explained.find("free"), std::string::npos) << explained;
  EXPECT_NE(explained.find("train-0"), std::string::npos) << explained;
  ASSERT_TRUE(exporter_->process().AwaitLine("the kubelet's list is incomplete").has_value());
  ASSERT_TRUE(node_.AwaitLine("kubelet    well").has_value());
  ASSERT_TRUE(exporter_->process().AwaitLine("pod-resources v1 answers").has_value());
  const std::string& log = exporter_->process().output();
  const size_t line = log.find("the kubelet's list is incomplete");
  EXPECT_EQ(log.find("the kubelet's list is incomplete", line + 1), std::string::npos) << log;
  ExpectWell();
}

TEST_F(KubeletFailure, BytesThatAreNotHttp2AreRejected) {
  Fail({"kubelet_garbage"}, "kubelet.sock does not speak HTTP/2");
  Heal();
}

TEST_F(KubeletFailure, BytesThatAreNotAMessageAreRejected) {
  Fail({"kubelet_garbage", "form=message"}, "the answer is not a PodResources message");
  Heal();
}

TEST_F(KubeletFailure, ACallToASilentKubeletEndsAtTheDeadline) {
  Fail({"kubelet_slow", "ms=60000"}, "kubelet.sock has not answered for");
  Heal();
}

TEST_F(KubeletFailure, ADeniedSocketIsReported) {
  // Root may open the file; for root the kubelet itself answers PERMISSION_DENIED.
  Fail({"kubelet_denied"},
       ::geteuid() == 0 ? "answered PERMISSION_DENIED" : "may not be opened by");
  Heal();
}

TEST_F(KubeletFailure, AnExhaustedRateLimitIsReported) {
  Fail({"kubelet_rate_limited"}, "rejected by rate limit, which all clients of the socket share");
  Heal();
}

TEST_F(KubeletFailure, ALateAnswerBeforeTheDeadlineIsAccepted) {
  node_.Command({"fault", "kubelet_slow", "ms=300"});
  const double failures = Page().Value("podgpu_pod_resources_failures_total").value_or(-1);
  // After two more answers at least one of them was late.
  for (int answers = 0; answers < 2; ++answers) {
    ASSERT_TRUE(AwaitPage([](const MetricPage& page) {
      return page.Value("podgpu_fact_age_seconds", {R"(fact="pod_resources")"}) > 0.5;
    }));
    ASSERT_TRUE(AwaitPage([](const MetricPage& page) {
      return page.Value("podgpu_fact_age_seconds", {R"(fact="pod_resources")"}) < 0.4;
    }));
  }
  EXPECT_EQ(Page().Value("podgpu_pod_resources_failures_total"), failures);
  EXPECT_EQ(Owners(), owners_);
}

TEST_F(KubeletFailure, AnAnswerOfSixteenMebibytesIsRead) {
  node_.Command({"fault", "kubelet_huge", "size=16MiB"});
  ASSERT_TRUE(AwaitPage([](const MetricPage& page) {
    return page.Value("podgpu_pod_resources_pods") > 50'000;
  })) << exporter_->Get("/");
  EXPECT_EQ(Page().Value("podgpu_pod_resources_up"), 1);
  EXPECT_EQ(Owners(), owners_) << "the pods without GPUs are not counted";
  ExpectDevicesGoOn();
  node_.Command({"heal"});
  EXPECT_TRUE(AwaitPage(
      [](const MetricPage& page) { return page.Value("podgpu_pod_resources_pods") == 3; }));
}

TEST_F(KubeletFailure, AKubeletWithOnlyTheOldVersionIsSupported) {
  node_.Command({"fault", "kubelet_v1_missing"});
  ASSERT_TRUE(exporter_->Await("/", "pod-resources v1alpha1 answers")) << exporter_->Get("/");
  EXPECT_EQ(Page().Value("podgpu_pod_resources_up"), 1);
  EXPECT_EQ(Owners(), owners_);
  node_.Command({"heal"});
  ASSERT_TRUE(node_.AwaitLine("kubelet    well").has_value());
  // On real nodes a kubelet that serves v1 again has restarted.
  node_.Command({"fault", "kubelet_restart", "for=100ms"});
  EXPECT_TRUE(exporter_->Await("/", "pod-resources v1 answers")) << exporter_->Get("/");
}

// Each device has two NUMA nodes, so the kubelet lists it twice.
class TwoNumaNodes : public FailureFixture {
 protected:
  TwoNumaNodes() : FailureFixture(std::string(kThreeGpus) + "kubelet: {two_numa_nodes: true}\n") {}
};

TEST_F(TwoNumaNodes, ADeviceListedTwiceHasOneOwnerAndIsNotShared) {
  StartExporter();
  const MetricPage page = Page();
  EXPECT_EQ(page.Lines("podgpu_allocation_info").size(), 3U) << page.text();
  EXPECT_TRUE(page.Has("DCGM_FI_DEV_GPU_TEMP", {Gpu("0"), R"(pod="train-0")"}));
  EXPECT_EQ(page.Value("podgpu_devices_matched"), 3);
  for (const char* query : {"/explain?gpu=0", "/explain?gpu=1"}) {
    const std::string text = exporter_->Get(query);
    EXPECT_NE(text.find("train-"), std::string::npos) << text;
    EXPECT_EQ(text.find("shared"), std::string::npos) << text;
  }
}

}  // namespace
}  // namespace podgpu
