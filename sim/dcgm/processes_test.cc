// What dcgmGetPidInfo reports of processes with known lives, in both generations.
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "abi/dcgm_process.h"
#include "sim/testing/dcgm_client.h"

namespace podgpu::sim {
namespace {

constexpr abi::dcgmGpuGrp_t kAllGpus = abi::DCGM_GROUP_ALL_GPUS;
constexpr int64_t kGib = int64_t{1} << 30U;
constexpr double kLongAgeS = 600;
constexpr char kAccountingOn[] = "driver: {accounting: true}";

// On GPU 0: pid 41 lives for 4 s, 42 and 44 run side by side without end, 45 starts at 6 s.  GPU 1
// is idle; 43 runs on a GPU in MIG mode.
constexpr char kLives[] = R"(
noise_mw: 0
epoch: 2026-01-01T00:00:00Z
gpus:
  - {count: 2, class: h100-sxm5-80gb}
  - {class: h100-sxm5-80gb, mig: [{profile: 3g.40gb}]}
pods:
  - {name: a, start: 1s, stop: 5s, containers: [{name: main, gpus: [0],
       processes: [{pid: 41, load: {sm: 60%, mem: 30%}, memory: 6GiB}]}]}
  - {name: b, start: 2s, containers: [{name: main, gpus: [0],
       processes: [{pid: 42, load: {sm: 20%, mem: 10%}, memory: 1GiB},
                   {pid: 44, load: {sm: 10%, mem: 5%}, memory: 1GiB}]}]}
  - {name: c, containers: [{name: main, devices: [gpu2/mig0],
       processes: [{pid: 43, load: {sm: 50%}}]}]}
  - {name: d, start: 6s, containers: [{name: main, gpus: [0],
       processes: [{pid: 45, load: {sm: 5%}}]}]}
)";

class DcgmProcesses : public testing::TestWithParam<int> {
 protected:
  using Info = abi::dcgmPidInfo_v2;

  void Start(const std::string& head, const std::string& faults = "") {
    bench_ = std::make_unique<DcgmBench>(GetParam(), "format: 1\nname: lives\nseed: 3\n" + head +
                                                         kLives + "faults: [" + faults + "]\n");
    bench_->Start();
  }
  int Watch(abi::dcgmGpuGrp_t group = kAllGpus, double keep_age_s = kLongAgeS) {
    return bench_->On("dcgmWatchPidFields", group, 1'000'000LL, keep_age_s, 0);
  }
  void TickTo(TimeUs t) { bench_->Tick(t - bench_->now()); }
  int Ask(uint32_t pid, abi::dcgmGpuGrp_t group = kAllGpus) {
    *info_ = {};
    info_->version = abi::dcgmPidInfo_version2;
    info_->pid = pid;
    return bench_->On("dcgmGetPidInfo", group, info_.get());
  }
  // The increase of GPU 0's counter between the first and the last sample in that span; there is
  // one sample per second.
  int64_t GainedMj(TimeUs from, TimeUs to) {
    std::vector<int64_t> samples;
    for (TimeUs t = 0; t <= bench_->now(); t += kSecondUs) {
      const TimeUs stamp = bench_->world().EnergyCounterTime(0, t);
      if (stamp >= from && stamp <= to) {
        samples.push_back(bench_->world().EnergyCounterMj(0, t));
      }
    }
    return samples.empty() ? -1 : samples.back() - samples.front();
  }

  std::unique_ptr<DcgmBench> bench_;
  const std::unique_ptr<Info> info_ = std::make_unique<Info>();
};

INSTANTIATE_TEST_SUITE_P(Generations, DcgmProcesses, testing::Values(4, 3),
                         [](const auto& generation) {
                           return "so" + std::to_string(generation.param);
                         });

TEST_P(DcgmProcesses, EachProcessGetsTheEnergyOfItsWholeGpu) {
  Start(kAccountingOn);
  ASSERT_EQ(Watch(), 0);
  TickTo(10 * kSecondUs);
  ASSERT_EQ(Ask(42), 0);
  const int64_t told_mj = info_->gpus[0].energyConsumed;
  EXPECT_EQ(told_mj, GainedMj(2 * kSecondUs, 10 * kSecondUs));
  EXPECT_EQ(info_->summary.energyConsumed, told_mj);
  ASSERT_EQ(Ask(44), 0);
  EXPECT_EQ(info_->gpus[0].energyConsumed, told_mj)
      << "every process gets the energy of the whole GPU";
  EXPECT_GT(2 * told_mj, GainedMj(0, 10 * kSecondUs)) << "together they get more than the GPU used";
  ASSERT_EQ(Ask(41), 0);
  EXPECT_EQ(info_->gpus[0].energyConsumed, GainedMj(kSecondUs, 5 * kSecondUs));
  TickTo(20 * kSecondUs);
  ASSERT_EQ(Ask(41), 0);
  EXPECT_EQ(info_->gpus[0].energyConsumed, GainedMj(kSecondUs, 5 * kSecondUs))
      << "the energy of an ended process stays";
}

TEST_P(DcgmProcesses, TheStatisticsAreThoseOfTheWholeGpu) {
  Start(kAccountingOn, "{at: 3s, kind: xid, gpu: 0, number: 31}");
  ASSERT_EQ(Watch(), 0);
  TickTo(10 * kSecondUs);
  ASSERT_EQ(Ask(41), 0);
  ASSERT_EQ(info_->numGpus, 1);
  const abi::dcgmPidSingleInfo_t& life = info_->gpus[0];
  EXPECT_EQ(life.gpuId, 0U);
  EXPECT_EQ(life.startTime, bench_->Stamp(kSecondUs));
  EXPECT_EQ(life.endTime, bench_->Stamp(5 * kSecondUs));
  EXPECT_EQ(life.maxGpuMemoryUsed, 6 * kGib);
  EXPECT_EQ(life.smUtilization.maxValue, 90) << "the maximum is that of three processes";
  EXPECT_EQ(life.memoryUtilization.maxValue, 45);
  EXPECT_LE(life.smUtilization.minValue, life.smUtilization.average);
  EXPECT_LE(life.smClock.maxValue, 1'980);
  EXPECT_GT(life.memoryClock.average, 1'000);
  EXPECT_EQ(life.eccDoubleBit, 0U);
  EXPECT_EQ(life.pcieReplays, 0);
  EXPECT_EQ(life.numXidCriticalErrors, 1);
  EXPECT_EQ(life.xidCriticalErrorsTs[0], bench_->Stamp(3 * kSecondUs));
  ASSERT_EQ(life.numOtherComputePids, 2);
  EXPECT_EQ(life.otherComputePids[0], 42U);
  EXPECT_EQ(life.otherComputePids[1], 44U);
  EXPECT_EQ(life.pcieRxBandwidth.average, abi::DCGM_INT64_BLANK);
  EXPECT_EQ(life.boardLimitViolationTime, abi::DCGM_INT64_BLANK) << "no watch samples it";
  EXPECT_EQ(life.powerViolationTime, 0);
  EXPECT_EQ(info_->summary.smUtilization.average, abi::DCGM_INT32_BLANK);
  EXPECT_EQ(info_->summary.maxGpuMemoryUsed, 6 * kGib);
  ASSERT_EQ(Ask(42), 0);
  EXPECT_EQ(info_->gpus[0].endTime, 0) << "the process still runs";
}

// Three processes with one sample per second each: each sum is divided by all samples.
TEST_P(DcgmProcesses, UtilisationIsDividedByTheSamplesOfAllProcesses) {
  Start(kAccountingOn);
  ASSERT_EQ(Watch(), 0);
  TickTo(5 * kSecondUs);
  ASSERT_EQ(Ask(42), 0);
  const abi::dcgmProcessUtilInfo_t use = info_->gpus[0].processUtilization;
  EXPECT_EQ(use.pid, 42U);
  // At 2 s only pid 41 has a sample, at 3 s and 4 s all three have, at 5 s pid 41 has ended.
  EXPECT_NEAR(use.smUtil, 3 * 20.0 / (1 + 3 + 3 + 2), 1e-9);
  EXPECT_NEAR(use.memUtil, 3 * 10.0 / (1 + 3 + 3 + 2), 1e-9);
}

TEST_P(DcgmProcesses, InvalidRequestsAreRefused) {
  Start(kAccountingOn);
  TickTo(3 * kSecondUs);
  EXPECT_EQ(Ask(42), -16) << "no watch exists";
  EXPECT_EQ(Watch(abi::dcgmGpuGrp_t{77}), abi::DCGM_ST_NOT_CONFIGURED);
  EXPECT_EQ(bench_->On("dcgmWatchPidFields", kAllGpus, -1LL, 60.0, 0), -1);
  EXPECT_EQ(Ask(42), -16);
  ASSERT_EQ(Watch(), 0);
  EXPECT_EQ(Ask(42), 0);
  EXPECT_EQ(Ask(0), -1);
  EXPECT_EQ(Ask(7), -14) << "no GPU has a record of the pid";
  EXPECT_EQ(Ask(43), -14) << "MIG mode has no accounting";
  EXPECT_EQ(Ask(42, abi::dcgmGpuGrp_t{77}), abi::DCGM_ST_NOT_CONFIGURED);
  EXPECT_EQ(Ask(42, bench_->MakeGroupOf(kGpu, 1)), -14) << "the process is on another GPU";
  EXPECT_EQ(bench_->On("dcgmGetPidInfo", kAllGpus, static_cast<Info*>(nullptr)), -1);
  info_->version = abi::dcgmPidInfo_version2 + 1;
  EXPECT_EQ(bench_->On("dcgmGetPidInfo", kAllGpus, info_.get()), -12);
}

TEST_P(DcgmProcesses, TheWatchTurnsAccountingOnForLaterProcesses) {
  Start("");
  TickTo(3 * kSecondUs);
  ASSERT_EQ(Watch(), 0);
  TickTo(10 * kSecondUs);
  EXPECT_EQ(Ask(42), -14) << "the process started before accounting was on";
  ASSERT_EQ(Ask(45), 0);
  EXPECT_EQ(info_->gpus[0].energyConsumed, GainedMj(6 * kSecondUs, 10 * kSecondUs));
}

TEST_P(DcgmProcesses, EnergyCoversTheSamplesThatAreStillKept) {
  Start(kAccountingOn);
  ASSERT_EQ(Watch(kAllGpus, 3), 0);
  TickTo(10 * kSecondUs);
  ASSERT_EQ(Ask(42), 0);
  EXPECT_EQ(info_->gpus[0].energyConsumed, bench_->world().EnergyCounterMj(0, 10 * kSecondUs) -
                                               bench_->world().EnergyCounterMj(0, 7 * kSecondUs));
  ASSERT_EQ(Ask(41), 0);
  EXPECT_EQ(info_->gpus[0].energyConsumed, abi::DCGM_INT64_BLANK)
      << "no sample of its life is kept";
}

TEST_P(DcgmProcesses, ValuesThatAFaultRemovesAreBlank) {
  Start(kAccountingOn,
        "{at: 10s, kind: nodata, fields: [205], for: 5s}, "
        "{at: 20s, kind: blank, fields: [156], for: 5s, gpu: 0}, "
        "{at: 30s, kind: gpu_lost, gpu: 0}");
  ASSERT_EQ(Watch(kAllGpus, 2), 0);
  TickTo(11 * kSecondUs);
  EXPECT_EQ(Ask(42), -14);
  TickTo(24 * kSecondUs);
  ASSERT_EQ(Ask(42), 0);
  EXPECT_EQ(info_->gpus[0].energyConsumed, abi::DCGM_INT64_BLANK);
  EXPECT_NE(info_->gpus[0].smUtilization.average, abi::DCGM_INT32_BLANK) << "another field";
  TickTo(28 * kSecondUs);
  ASSERT_EQ(Ask(42), 0);
  EXPECT_LT(info_->gpus[0].energyConsumed, 700'000 * 3);
  TickTo(32 * kSecondUs);
  EXPECT_EQ(Ask(42), -14) << "a lost GPU reports no process";
}

TEST_P(DcgmProcesses, WithoutNvmlNoProcessIsKnown) {
  Start(kAccountingOn, "{at: 0s, kind: no_nvml}");
  EXPECT_EQ(Watch(), 0);
  EXPECT_EQ(Ask(42), -56);
}

}  // namespace
}  // namespace podgpu::sim
