// The host engine's process stops, dies and returns: the page, the probes and the status page
// (docs/operations.md, "When something fails").
#include <csignal>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/e2e/failure_fixture.h"

namespace podgpu {
namespace {

class EngineFailure : public FailureFixture {
 protected:
  explicit EngineFailure(const std::vector<std::string>& run_flags = {})
      : FailureFixture(kThreeGpus, run_flags) {}

  void SetUp() override { StartExporter({"-r=unix://" + node_.engine_socket()}); }
};

TEST_F(EngineFailure, AStoppedEngineRemovesItsValuesButPagesContinue) {
  const std::set<std::string> before = DeviceSeries();
  ::kill(node_.engine_pid(), SIGSTOP);
  ASSERT_TRUE(exporter_->Await("/metrics", kNotReady));
  const MetricPage page = Page();
  EXPECT_FALSE(page.Has("DCGM_FI_DEV_GPU_TEMP")) << "old values are removed, not repeated";
  for (const char* gpu : {"0", "1", "2"}) {
    EXPECT_EQ(page.Value("podgpu_gpu_state", {Gpu(gpu), kStateUnresponsive}), 1) << gpu;
  }
  EXPECT_EQ(exporter_->Get("/healthz"), "ok\n");
  const LoopbackResponse readiness = exporter_->Fetch("/readyz");
  EXPECT_EQ(readiness.status, 503);
  EXPECT_EQ(readiness.body.find("not ready: "), 0U) << readiness.body;
  // The watchdog releases the call after its deadline; when the engine runs again, values return.
  ASSERT_TRUE(exporter_->Await("/metrics", "\npodgpu_source_interrupted_calls_total 1\n"));
  ASSERT_TRUE(exporter_->Await("/metrics", "\npodgpu_source_state{state=\"unresponsive\"} 1\n"));
  EXPECT_NE(exporter_->Get("/").find(">unresponsive</td>"), std::string::npos);
  EXPECT_NE(AwaitLog({"level=WARN", "device source state changed\" state=unresponsive",
                      "the call \\\"", "remedy=\"the driver or the engine hangs"}),
            "");
  ::kill(node_.engine_pid(), SIGCONT);
  ASSERT_TRUE(AwaitDeviceSeries(before));
  EXPECT_TRUE(exporter_->Await("/metrics", kReady));
  EXPECT_NE(AwaitLog({"level=INFO", "device source state changed\" state=ok", "ready=yes"}), "");
  EXPECT_EQ(CountLog("device source state changed\" state=unresponsive"), 1)
      << exporter_->process().output();
  EXPECT_EQ(CountLog("device source state changed\" state=ok"), 2);
  EXPECT_EQ(CountLog("GPU state changed"), 0) << "only the source's line reports it";
}

TEST_F(EngineFailure, TheProgramEndsWhileTheEngineIsStopped) {
  ::kill(node_.engine_pid(), SIGSTOP);
  ASSERT_TRUE(exporter_->Await("/metrics", kNotReady));
  exporter_->process().Signal(SIGTERM);
  EXPECT_EQ(exporter_->process().Wait(), 0) << exporter_->process().output();
  ::kill(node_.engine_pid(), SIGCONT);
}

TEST_F(EngineFailure, AKilledEngineIsReportedInPlainWords) {
  ::kill(node_.engine_pid(), SIGKILL);
  ASSERT_TRUE(exporter_->Await("/metrics", kNotReady));
  EXPECT_FALSE(Page().Has("DCGM_FI_DEV_GPU_TEMP"));
  // A slow machine may still be in the call that was running.
  EXPECT_TRUE(exporter_->Await("/", node_.engine_socket())) << exporter_->Get("/");
  EXPECT_EQ(exporter_->Get("/healthz"), "ok\n");
  EXPECT_EQ(exporter_->Fetch("/readyz").status, 503);
  EXPECT_NE(AwaitLog({"level=WARN", "device source state changed\" state=unresponsive", "remedy="}),
            "");
  EXPECT_NE(AwaitLog({"level=WARN", "msg=\"readiness has changed\" ready=no"}), "");
  EXPECT_EQ(CountLog("state changed\" state=unresponsive"), 1) << exporter_->process().output();
}

class EmbeddedEngine : public FailureFixture {
 protected:
  EmbeddedEngine() : FailureFixture(kThreeGpus, {"--time-scale=3"}) {}

  void SetUp() override { StartExporter({"--source=dcgm"}); }
};

// DCGM takes 1.5 s to stop, here a third of it, and the program waits for it: 1.9 s at most.
TEST_F(EmbeddedEngine, IsStoppedInOrderWhenTheProgramEnds) {
  exporter_->process().Signal(SIGTERM);
  EXPECT_EQ(exporter_->process().Wait(), 0);
  EXPECT_EQ(exporter_->process().output().find("did not end in time"), std::string::npos)
      << exporter_->process().output();
}

class EngineThatComesBack : public EngineFailure {
 protected:
  EngineThatComesBack() : EngineFailure({"--restart-engine=300ms"}) {}
};

TEST_F(EngineThatComesBack, WatchesReturnAfterTheEngineRestarts) {
  const std::set<std::string> before = DeviceSeries();
  for (int kills = 1; kills <= 3; ++kills) {
    const double connections = Page().Value("podgpu_source_connections_total").value_or(-1);
    ::kill(node_.engine_pid(), SIGKILL);
    ASSERT_TRUE(AwaitPage([&](const MetricPage& page) {
      return page.Value("podgpu_source_connections_total") > connections &&
             page.Value("podgpu_ready") == 1 && page.Series(kDeviceFamilies) == before;
    })) << "after "
        << kills << " kills: " << exporter_->Get("/readyz");
  }
  EXPECT_TRUE(exporter_->process().IsRunning()) << "podgpu was not restarted";
}

// The UUIDs on a page, one for each row of the family with GPU identities.
std::multiset<std::string> UuidsOn(const MetricPage& page) {
  std::multiset<std::string> uuids;
  for (const std::string_view line : page.Lines("podgpu_gpu_info")) {
    uuids.insert(MetricPage::Label(line, "UUID"));
  }
  return uuids;
}

TEST_F(EngineThatComesBack, UnboundGpusAreNotListedTwiceAfterAReconnect) {
  const std::multiset<std::string> identity = UuidsOn(Page());
  ASSERT_EQ(identity.size(), 3U);
  // All GPUs together, one GPU, and one GPU whose identity cannot be read.
  const std::vector<std::vector<std::string>> faults = {
      {"bind_unbind"}, {"gpu_detached", "gpu=1"}, {"gpu_lost", "gpu=1"}};
  for (const std::vector<std::string>& words : faults) {
    const std::string& fault = words.front();
    const double connections = Page().Value("podgpu_source_connections_total").value_or(-1);
    std::vector<std::string> command = {"fault"};
    command.insert(command.end(), words.begin(), words.end());
    node_.Command(command);
    ASSERT_TRUE(AwaitPage([&](const MetricPage& page) {
      return page.Value("podgpu_gpu_state", {Gpu("1"), kStateLost}) == 1;
    })) << fault;
    ::kill(node_.engine_pid(), SIGKILL);
    ASSERT_TRUE(AwaitPage([&](const MetricPage& page) {
      EXPECT_EQ(UuidsOn(page), identity) << fault << ": no page has another row";
      return page.Value("podgpu_source_connections_total") > connections;
    })) << fault;
    EXPECT_EQ(Page().Value("podgpu_gpus_expected"), 3) << fault;
    node_.Command({"heal"});
    ASSERT_TRUE(AwaitPage([&](const MetricPage& page) {
      EXPECT_EQ(UuidsOn(page), identity) << fault;
      return page.Value("podgpu_gpu_state", {Gpu("1"), kStateOk}) == 1 &&
             page.Has("DCGM_FI_PROF_DRAM_ACTIVE", {Gpu("1")});
    })) << fault
        << exporter_->Get("/");
  }
}

}  // namespace
}  // namespace podgpu
