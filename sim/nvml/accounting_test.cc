// Process accounting in the simulated driver: which processes it records, and when it forgets them.
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "abi/nvml_processes.h"
#include "sim/testing/node.h"
#include "sim/testing/nvml_client.h"

namespace podgpu::sim {
namespace {

using namespace podgpu::abi;

constexpr unsigned long long kGibHeld = 1ULL << 30U;
constexpr unsigned long long kEpochUs = 1'767'225'600'000'000;
// Pid 41 lives for 4 s, pid 42 never ends, pid 43 runs on a GPU in MIG mode; a new job every 4 s.
constexpr char kTail[] = R"(
epoch: 2026-01-01T00:00:00Z
gpus:
  - {count: 2, class: h100-sxm5-80gb}
  - {class: h100-sxm5-80gb, mig: [{profile: 3g.40gb}]}
loads:
  swell: {phases: [{for: 1s, sm: 60%, mem: 30%, memory: 2GiB}, {for: 1s, memory: 6GiB}]}
pods:
  - {name: a, start: 1s, stop: 5s, containers: [{name: main, gpus: [0],
       processes: [{pid: 41, load: swell}]}]}
  - {name: b, start: 2s, containers: [{name: main, gpus: [0],
       processes: [{pid: 42, load: {sm: 20%, mem: 10%}, memory: 1GiB}]}]}
  - {name: c, containers: [{name: main, devices: [gpu2/mig0],
       processes: [{pid: 43, load: swell}]}]}
churn:
  - {template: job, every: 4s, life: 3s, gpus: [1], load: {sm: 10%}, memory: 1GiB}
faults:
  - {at: 100s, kind: driver_reload, for: 1s}
)";

class NvmlAccounting : public testing::Test {
 protected:
  void Start(const std::string& head) {
    node_.emplace("format: 1\nname: lives\nseed: 3\n" + head + kTail);
    setenv("PODGPU_SIM_DIR", node_->path().c_str(), 1);
    ASSERT_EQ(nvml_.Call("nvmlInit_v2"), 0);
  }
  void StartAccounting() { Start("driver: {accounting: true}"); }
  ~NvmlAccounting() override {
    EXPECT_EQ(nvml_.Call("nvmlShutdown"), 0);
    unsetenv("PODGPU_SIM_DIR");
  }
  void TickTo(TimeUs t) {
    ASSERT_TRUE(node_->writer().Tick(t - now_).ok());
    now_ = t;
  }
  int Mode(unsigned gpu) {
    int mode = -1;
    EXPECT_EQ(nvml_.Call("nvmlDeviceGetAccountingMode", nvml_.ByIndex(gpu), &mode), 0);
    return mode;
  }
  int Set(unsigned gpu, int mode) {
    return nvml_.Call("nvmlDeviceSetAccountingMode", nvml_.ByIndex(gpu), mode);
  }
  std::vector<unsigned> Known(unsigned gpu) {
    std::vector<unsigned> pids(5'000);
    unsigned count = 5'000;
    EXPECT_EQ(nvml_.Call("nvmlDeviceGetAccountingPids", nvml_.ByIndex(gpu), &count, pids.data()),
              0);
    pids.resize(count);
    return pids;
  }
  int Stats(unsigned gpu, unsigned pid, nvmlAccountingStats_t& stats) {
    return nvml_.Call("nvmlDeviceGetAccountingStats", nvml_.ByIndex(gpu), pid, &stats);
  }
  int StatsV2(unsigned gpu, unsigned pid, nvmlAccountingStats_v2_t& stats) {
    stats = {};
    stats.pid = pid;
    return nvml_.Call("nvmlDeviceGetAccountingStats_v2", nvml_.ByIndex(gpu), &stats);
  }

  std::optional<TestNode> node_;
  NvmlClient nvml_;
  TimeUs now_ = 0;
};

TEST_F(NvmlAccounting, IsOffUnlessTheScenarioOrAClientTurnsItOn) {
  Start("");
  TickTo(3 * kSecondUs);
  nvmlAccountingStats_t stats{};
  unsigned count = 8;
  unsigned pids[8];
  EXPECT_EQ(Mode(0), 0);
  EXPECT_EQ(Stats(0, 42, stats), NVML_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(nvml_.Call("nvmlDeviceGetAccountingPids", nvml_.ByIndex(0), &count, &pids[0]),
            NVML_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(nvml_.Call("nvmlDeviceGetAccountingBufferSize", nvml_.ByIndex(0), &count),
            NVML_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(Set(0, 2), NVML_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(Set(1, 1), 0);
  EXPECT_EQ(Mode(1), 1);
  EXPECT_EQ(Mode(0), 0) << "the mode of each GPU is its own";
  EXPECT_EQ(nvml_.Number("nvmlDeviceGetAccountingBufferSize", nvml_.ByIndex(1)), 4'000U);
  TickTo(4 * kSecondUs);
  EXPECT_EQ(Known(1), std::vector<unsigned>{1'000'001})
      << "only processes that start after the switch";
  EXPECT_EQ(Set(1, 0), 0);
  EXPECT_EQ(Mode(1), 0);
}

TEST_F(NvmlAccounting, RecordsTheLifeOfAProcess) {
  StartAccounting();
  TickTo(4 * kSecondUs);  // 3 s of pid 41's life: busy, idle, busy.
  nvmlAccountingStats_t stats{};
  ASSERT_EQ(Stats(0, 41, stats), 0);
  EXPECT_EQ(stats.isRunning, 1U);
  EXPECT_EQ(stats.time, 0U) << "the time is 0 while the process runs";
  EXPECT_EQ(stats.startTime, kEpochUs + 1'000'000);
  EXPECT_EQ(stats.gpuUtilization, 40U);
  EXPECT_EQ(stats.memoryUtilization, 20U);
  EXPECT_EQ(stats.maxMemoryUsage, 6 * kGibHeld);
  TickTo(20 * kSecondUs);
  ASSERT_EQ(Stats(0, 41, stats), 0);
  EXPECT_EQ(stats.isRunning, 0U);
  EXPECT_EQ(stats.time, 4'000U);
  EXPECT_EQ(stats.gpuUtilization, 30U);
  EXPECT_EQ(stats.memoryUtilization, 15U);
  EXPECT_EQ(Stats(0, 40, stats), NVML_ERROR_NOT_FOUND);
  EXPECT_EQ(Stats(1, 41, stats), NVML_ERROR_NOT_FOUND) << "the process ran on another GPU";
  EXPECT_EQ(Known(0), std::vector<unsigned>({42, 41}))
      << "running processes come before ended ones";
}

TEST_F(NvmlAccounting, SumsOfSamplesCoverAllTimeBetweenTwoReads) {
  StartAccounting();
  TickTo(3 * kSecondUs);
  nvmlAccountingStats_v2_t before{};
  nvmlAccountingStats_v2_t after{};
  ASSERT_EQ(StatsV2(0, 42, before), 0);
  EXPECT_EQ(before.sampleCount, 6U);
  TickTo(12 * kSecondUs);
  ASSERT_EQ(StatsV2(0, 42, after), 0);
  EXPECT_EQ(after.pid, 42U);
  EXPECT_EQ(after.isRunning, 1U);
  EXPECT_EQ(after.gpuUtilization, 20U);
  EXPECT_EQ(after.maxMemoryUsage, kGibHeld);
  EXPECT_EQ(after.startTime, kEpochUs + 2'000'000);
  EXPECT_EQ(after.sampleCount - before.sampleCount, 54U);
  EXPECT_EQ(after.sumGpuUtil - before.sumGpuUtil, 54U * 2'000) << "20 % in each, in hundredths";
  EXPECT_EQ(after.sumFbUtil - before.sumFbUtil, 54U * 1'000);
  ASSERT_EQ(StatsV2(0, 41, after), 0);
  EXPECT_EQ(after.time, 4'000U);
  EXPECT_EQ(after.sampleCount, 24U);
  EXPECT_EQ(after.sumGpuUtil, 24U * 3'000);
  EXPECT_EQ(StatsV2(0, 40, after), NVML_ERROR_NOT_FOUND);
}

TEST_F(NvmlAccounting, KeepsTheLastFourThousandRecords) {
  StartAccounting();
  TickTo(50'001 * kSecondUs);  // Cycle 12,500 runs.
  nvmlDevice_t device = nullptr;
  EXPECT_EQ(nvml_.Call("nvmlShutdown"), 0);
  EXPECT_EQ(nvml_.Call("nvmlInit_v2"), 0);
  ASSERT_EQ(nvml_.Call("nvmlDeviceGetHandleByIndex_v2", 1U, &device), 0);
  EXPECT_EQ(Mode(1), 0) << "the driver was reloaded in between";
  ASSERT_EQ(Set(1, 1), 0);
  TickTo(100'001 * kSecondUs);  // Cycle 25,000.
  const std::vector<unsigned> pids = Known(1);
  ASSERT_EQ(pids.size(), 4'000U);
  EXPECT_EQ(pids.front(), 1'025'000U);
  EXPECT_EQ(pids.back(), 1'021'001U);
  nvmlAccountingStats_t stats{};
  EXPECT_EQ(Stats(1, 1'021'001, stats), 0);
  EXPECT_EQ(Stats(1, 1'021'000, stats), NVML_ERROR_NOT_FOUND);
  unsigned count = 100;
  unsigned few[100];
  EXPECT_EQ(nvml_.Call("nvmlDeviceGetAccountingPids", device, &count, &few[0]),
            NVML_ERROR_INSUFFICIENT_SIZE);
  EXPECT_EQ(count, 4'000U);
}

TEST_F(NvmlAccounting, IsOffInMigMode) {
  StartAccounting();
  TickTo(2 * kSecondUs);
  EXPECT_EQ(Mode(2), 0);
  EXPECT_EQ(Set(2, 1), NVML_ERROR_NOT_SUPPORTED);
  nvmlAccountingStats_t stats{};
  EXPECT_EQ(Stats(2, 43, stats), NVML_ERROR_NOT_SUPPORTED);
  int mode = -1;
  EXPECT_EQ(nvml_.Call("nvmlDeviceGetAccountingMode", nvml_.Mig(2, 0), &mode),
            NVML_ERROR_NOT_SUPPORTED);
}

TEST_F(NvmlAccounting, ADriverReloadClearsAllRecords) {
  StartAccounting();
  TickTo(10 * kSecondUs);
  EXPECT_EQ(Mode(0), 1);
  TickTo(102 * kSecondUs);
  EXPECT_EQ(nvml_.Call("nvmlShutdown"), 0);
  EXPECT_EQ(nvml_.Call("nvmlInit_v2"), 0);
  EXPECT_EQ(Mode(0), 0);
}

}  // namespace
}  // namespace podgpu::sim
