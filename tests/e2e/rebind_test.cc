// GPUs that are unbound from their driver and bound again, by each way to an engine
// (docs/operations.md, "When something fails").
//
// The engine removes such a GPU from the groups of its clients and releases all GPUs for two
// seconds.  CYCLES is the number of rebinds (`./dev check rebind`: 12); a run prints how long the
// rows took to return.  A rebind writes at most three lines: all GPUs are released, one stays lost,
// it is back.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/clock.h"
#include "base/text.h"
#include "tests/e2e/failure_fixture.h"

namespace podgpu {
namespace {

constexpr char kFourGpus[] = R"(format: 1
name: four
seed: 5
gpus:
  - {count: 4, class: h100-sxm5-80gb}
loads: {train: {phases: [{for: 1s, sm: 60%, mem: 30%, tensor: 20%}]}}
pods:
  - name: train-1
    namespace: research
    containers: [{name: main, gpus: [1], processes: [{pid: 42, load: train, memory: 40GiB}]}]
)";

enum class Way : uint8_t { kEmbedded, kUnix, kTcp };

class Rebind : public FailureFixture, public testing::WithParamInterface<Way> {
 protected:
  explicit Rebind(std::string_view scenario = kFourGpus)
      : FailureFixture(scenario, {"--restart-engine=300ms"}) {}

  void SetUp() override {
    switch (GetParam()) {
      case Way::kEmbedded:
        return StartExporter({"--source=dcgm"});
      case Way::kUnix:
        return StartExporter({"-r=unix://" + node_.engine_socket()});
      case Way::kTcp:
        return StartExporter({"-r=" + node_.engine_address()});
    }
  }

  bool AwaitState(std::string_view gpu, std::string_view state) const {
    return AwaitPage([&](const MetricPage& page) {
      return page.Value("podgpu_gpu_state", {Gpu(gpu), std::string(state)}) == 1;
    });
  }

  // Unbinds GPUs and waits until podgpu says so and their values are gone.
  void Unbind(const std::vector<std::string>& gpus) {
    for (const std::string& gpu : gpus) {
      node_.Command({"fault", "gpu_detached", "gpu=" + gpu});
    }
    ASSERT_TRUE(AwaitPage([&](const MetricPage& page) {
      return std::ranges::all_of(gpus, [&](const std::string& gpu) {
        return page.Value("podgpu_gpu_state", {Gpu(gpu), kStateLost}) == 1 &&
               !page.Has("DCGM_FI_DEV_GPU_TEMP", {Gpu(gpu)});
      });
    })) << exporter_->Get("/");
  }

  void BindAll() { node_.Command({"heal"}); }
};

std::string WayName(const testing::TestParamInfo<Way>& way) {
  constexpr const char* kNames[] = {"Embedded", "Unix", "Tcp"};
  return kNames[static_cast<size_t>(way.param)];
}

INSTANTIATE_TEST_SUITE_P(Ways, Rebind, testing::Values(Way::kEmbedded, Way::kUnix, Way::kTcp),
                         WayName);

uint64_t Cycles() {
  constexpr uint64_t kByDefault = 2;
  const char* const text = std::getenv("CYCLES");
  return text == nullptr ? kByDefault : ParseDecimal(text).value_or(kByDefault);
}

TEST_P(Rebind, RowsReturnInEachCycle) {
  const std::set<std::string> before = DeviceSeries();
  const std::set<std::string> identity = Page().Series({"podgpu_gpu_info"});
  const std::string uuid =
      MetricPage::Label(Page().Lines("podgpu_gpu_info", {Gpu("1")}).at(0), "UUID");
  exporter_->process().ReadAvailable();
  const size_t log_before = exporter_->process().output().size();
  SystemClock clock;
  for (uint64_t cycle = 1; cycle <= Cycles(); ++cycle) {
    ASSERT_NO_FATAL_FAILURE(Unbind({"1"})) << cycle;
    EXPECT_EQ(Page().Series({"podgpu_gpu_info"}), identity);
    // The GPU is bound again while the engine has released all GPUs, or afterwards.
    ASSERT_TRUE(cycle % 2 == 0 || exporter_->Await("/readyz", "ready: 3 of 4 GPUs served, 1 lost"))
        << cycle;
    BindAll();
    const Instant bound = clock.Now();
    ASSERT_TRUE(AwaitDeviceSeries(before)) << cycle << exporter_->Get("/");
    std::printf("rebind_test: cycle %d: all rows %.1f s after the GPU was bound again\n",
                static_cast<int>(cycle),
                std::chrono::duration<double>(clock.Now() - bound).count());
  }
  EXPECT_TRUE(AwaitState("1", kStateOk));
  EXPECT_TRUE(exporter_->Await("/metrics", kReady));
  EXPECT_EQ(exporter_->Fetch("/readyz").status, 200);
  const std::string gpu = "gpu=1 uuid=" + uuid + " pod=research/train-1 ";
  EXPECT_NE(AwaitLog({"level=WARN", "GPU state changed\" state=lost " + gpu,
                      "cause=\"the driver no longer reaches it: it fell off the bus or was unbound",
                      "remedy=\"read the kernel log for NVRM: Xid"}),
            "");
  EXPECT_NE(AwaitLog({"level=INFO", "GPU state changed\" state=ok " + gpu,
                      "cause=\"the driver reaches it again, and it gives values\"",
                      "remedy=\"none is needed\""}),
            "");
  exporter_->process().ReadAvailable();
  const std::string log = exporter_->process().output().substr(log_before);
  EXPECT_LE(std::ranges::count(log, '\n'), 3 * static_cast<int64_t>(Cycles())) << log;
}

TEST_P(Rebind, RowsOfTwoGpusReturn) {
  const std::set<std::string> before = DeviceSeries();
  ASSERT_NO_FATAL_FAILURE(Unbind({"1", "2"}));
  BindAll();
  EXPECT_TRUE(AwaitDeviceSeries(before)) << exporter_->Get("/");
}

class RebindAndRestart : public Rebind {};

INSTANTIATE_TEST_SUITE_P(Ways, RebindAndRestart, testing::Values(Way::kUnix, Way::kTcp), WayName);

TEST_P(RebindAndRestart, RowsReturnWhenTheGpuIsBoundWhileTheEngineRestarts) {
  const std::set<std::string> before = DeviceSeries();
  ASSERT_NO_FATAL_FAILURE(Unbind({"1"}));
  ::kill(node_.engine_pid(), SIGKILL);
  BindAll();
  EXPECT_TRUE(AwaitDeviceSeries(before)) << exporter_->Get("/");
}

TEST_P(RebindAndRestart, RowsReturnWhenTheGpuIsBoundAfterTheReconnect) {
  const std::set<std::string> before = DeviceSeries();
  ASSERT_NO_FATAL_FAILURE(Unbind({"1"}));
  const double connections = Page().Value("podgpu_source_connections_total").value_or(-1);
  ::kill(node_.engine_pid(), SIGKILL);
  ASSERT_TRUE(AwaitPage([&](const MetricPage& page) {
    return page.Value("podgpu_source_connections_total") > connections;
  }));
  BindAll();
  EXPECT_TRUE(AwaitDeviceSeries(before)) << exporter_->Get("/");
  EXPECT_TRUE(AwaitState("1", kStateOk));
}

class RebindOnMig : public Rebind {
 protected:
  RebindOnMig() : Rebind(kThreeGpus) {}
};

INSTANTIATE_TEST_SUITE_P(Ways, RebindOnMig, testing::Values(Way::kEmbedded, Way::kUnix), WayName);

// podgpu restarts an embedded engine by itself; another one the operator must restart.
TEST_P(RebindOnMig, InstancesThatTheEngineConfusesAreWithdrawnUntilItRestarts) {
  const std::set<std::string> before = DeviceSeries();
  const std::set<std::string> identity = Page().Series({"podgpu_gpu_info"});
  ASSERT_NO_FATAL_FAILURE(Unbind({"1"}));
  BindAll();
  ASSERT_TRUE(AwaitPage([&](const MetricPage& page) {
    return page.Value("podgpu_absent_samples", {R"(reason="another_gpu")"}) > 0 &&
           page.Value("podgpu_ready") == 0 && page.Has("DCGM_FI_DEV_GPU_TEMP", {Gpu("1")}) &&
           !page.Has("DCGM_FI_DEV_FB_USED", {Gpu("2"), "GPU_I_ID="}) &&
           page.Value("podgpu_source_state", {R"(state="degraded")"}) == 1;
  })) << exporter_->Get("/");
  EXPECT_EQ(Page().Series({"podgpu_gpu_info"}), identity);
  const std::string restart = GetParam() == Way::kEmbedded
                                  ? "podgpu restarts the embedded engine by itself"
                                  : "Restart the engine";
  EXPECT_NE(AwaitLog({"level=WARN", "device source state changed\" state=degraded",
                      "the engine has given new numbers to those of GPU 2 (GPU-", restart,
                      "ready=no verdict=\"not ready: the MIG instances of GPU 2 have no fresh"}),
            "");
  if (GetParam() != Way::kEmbedded) {
    ExpectReadiness(false, "not ready: the MIG instances of GPU 2 have no fresh value");
    ::kill(node_.engine_pid(), SIGKILL);
  }
  EXPECT_TRUE(AwaitDeviceSeries(before)) << exporter_->Get("/");
  ExpectReadiness(true, "ready: 3 GPUs have fresh samples");
}

}  // namespace
}  // namespace podgpu
