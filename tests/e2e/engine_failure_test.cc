// The host engine's process stops, dies and comes back: what the page, the probes and the status
// page say meanwhile (docs/operations.md, "When something fails").
#include <csignal>

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

TEST_F(EngineFailure, AStoppedEngineLeavesPagesComingAndTakesItsValuesOffThem) {
  const std::set<std::string> before = DeviceSeries();
  ::kill(node_.engine_pid(), SIGSTOP);
  ASSERT_TRUE(exporter_->Await("/metrics", kNotReady));
  const MetricPage page = Page();
  EXPECT_FALSE(page.Has("DCGM_FI_DEV_GPU_TEMP")) << "withdrawn, not repeated";
  for (const char* gpu : {"0", "1", "2"}) {
    EXPECT_EQ(page.Value("podgpu_gpu_state", {Gpu(gpu), kStateUnresponsive}), 1) << gpu;
  }
  EXPECT_EQ(exporter_->Get("/healthz"), "ok\n");
  const LoopbackResponse readiness = exporter_->Fetch("/readyz");
  EXPECT_EQ(readiness.status, 503);
  EXPECT_EQ(readiness.body.find("not ready: "), 0U) << readiness.body;
  // The watchdog frees the call after its deadline; when the engine runs again, data is back.
  ASSERT_TRUE(exporter_->Await("/metrics", "\npodgpu_source_interrupted_calls_total 1\n"));
  ASSERT_TRUE(exporter_->Await("/metrics", "\npodgpu_source_state{state=\"unresponsive\"} 1\n"));
  EXPECT_NE(exporter_->Get("/").find(">unresponsive</td>"), std::string::npos);
  ::kill(node_.engine_pid(), SIGCONT);
  ASSERT_TRUE(AwaitDeviceSeries(before));
  EXPECT_TRUE(exporter_->Await("/metrics", kReady));
}

TEST_F(EngineFailure, AStoppedEngineDoesNotKeepTheProgramFromEnding) {
  ::kill(node_.engine_pid(), SIGSTOP);
  ASSERT_TRUE(exporter_->Await("/metrics", kNotReady));
  exporter_->process().Signal(SIGTERM);
  EXPECT_EQ(exporter_->process().Wait(), 0) << exporter_->process().output();
  ::kill(node_.engine_pid(), SIGCONT);
}

TEST_F(EngineFailure, AKilledEngineIsSaidInPlainWords) {
  ::kill(node_.engine_pid(), SIGKILL);
  ASSERT_TRUE(exporter_->Await("/metrics", kNotReady));
  EXPECT_FALSE(Page().Has("DCGM_FI_DEV_GPU_TEMP"));
  EXPECT_NE(exporter_->Get("/").find(node_.engine_socket()), std::string::npos)
      << exporter_->Get("/");
  EXPECT_EQ(exporter_->Get("/healthz"), "ok\n");
}

class EmbeddedEngine : public FailureFixture {
 protected:
  EmbeddedEngine() : FailureFixture(kThreeGpus) {}

  void SetUp() override { StartExporter({"--source=dcgm"}); }
};

// DCGM takes 1.5 s for that, which the program waits for.
TEST_F(EmbeddedEngine, IsStoppedInOrderWhenTheProgramEnds) {
  exporter_->process().Signal(SIGTERM);
  EXPECT_EQ(exporter_->process().Wait(), 0);
  EXPECT_EQ(exporter_->process().output().find("does not return"), std::string::npos)
      << exporter_->process().output();
}

class EngineThatComesBack : public EngineFailure {
 protected:
  EngineThatComesBack() : EngineFailure({"--restart-engine=300ms"}) {}
};

TEST_F(EngineThatComesBack, AnEngineThatIsKilledAndStartedAgainIsWatchedAnew) {
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
  EXPECT_TRUE(exporter_->process().IsRunning()) << "no restart of ours";
}

}  // namespace
}  // namespace podgpu
