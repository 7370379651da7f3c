// What clients of the simulated NVML read about processes: which run on a device and what they use.
#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "abi/nvml_processes.h"
#include "sim/testing/node.h"
#include "sim/testing/nvml_client.h"

namespace podgpu::sim {
namespace {

using namespace podgpu::abi;

constexpr unsigned long long kEpochStampUs = 1'767'225'600'000'000;
constexpr unsigned long long kGibBytes = 1ULL << 30U;
constexpr char kUsers[] = R"(format: 1
name: users
seed: 3
epoch: 2026-01-01T00:00:00Z
gpus:
  - {class: h100-sxm5-80gb, sharing: {kind: time_slicing, replicas: 4}}
  - {class: h100-sxm5-80gb, mig: [{profile: 3g.40gb}, {profile: 1g.10gb}]}
  - {class: h100-sxm5-80gb, sharing: {kind: mps, replicas: 2}}
  - {class: l40s}
loads:
  third: {phases: [{for: 1s, sm: 33.3%, mem: 10%}]}
  film: {phases: [{for: 1s, sm: 10%, mem: 20%, enc: 30%, dec: 40%, jpg: 50%, ofa: 60%}]}
  burst: {phases: [{for: 2s, sm: 80%}, {for: 58s}]}
  none: {phases: [{for: 1s}]}
pods:
  - {name: a, containers: [{name: main, devices: ["gpu0::0"],
       processes: [{pid: 52, load: third, memory: 20GiB}]}]}
  - {name: b, containers: [{name: main, devices: ["gpu0::1"],
       processes: [{pid: 51, load: third, memory: 10GiB}]}]}
  - {name: c, start: 30s, stop: 60s, containers: [{name: main, devices: ["gpu0::2"],
       processes: [{pid: 53, load: third, memory: 5GiB}]}]}
  - {name: d, containers: [{name: main, devices: [gpu1/mig0],
       processes: [{pid: 61, load: third, memory: 4GiB}]}]}
  - {name: e, containers: [{name: main, devices: ["gpu2::0"],
       processes: [{pid: 71, load: third, memory: 1GiB}]}]}
  - {name: f, containers: [{name: main, devices: ["gpu2::1"],
       processes: [{pid: 72, load: third, memory: 2GiB}]}]}
  - {name: g, containers: [{name: main, gpus: [3],
       processes: [{pid: 81, load: film, memory: 1GiB}, {pid: 82, load: burst, memory: 1GiB},
                   {pid: 83, load: none, memory: 1GiB}]}]}
orphans:
  - {pid: 70, gpu: 2, load: none, memory: 1GiB}
faults:
  - {at: 70s, kind: garbage, calls: [nvmlDeviceGetComputeRunningProcesses_v3], for: 1s}
  - {at: 80s, kind: no_permission, calls: ["nvmlDeviceGetProcess*"], for: 1s}
)";

using Pids = std::vector<unsigned>;

class NvmlProcesses : public testing::Test {
 protected:
  explicit NvmlProcesses(const std::string& more = "") : node_(kUsers + more) {
    setenv("PODGPU_SIM_DIR", node_.path().c_str(), 1);
    EXPECT_EQ(nvml_.Call("nvmlInit_v2"), 0);
    TickTo(5 * kSecondUs);
  }
  ~NvmlProcesses() override {
    EXPECT_EQ(nvml_.Call("nvmlShutdown"), 0);
    unsetenv("PODGPU_SIM_DIR");
  }
  void TickTo(TimeUs t) {
    ASSERT_TRUE(node_.writer().Tick(t - now_).ok());
    now_ = t;
  }

  // Reads a list by the call's name; the call must succeed.
  std::vector<nvmlProcessInfo_t> List(const std::string& kind, nvmlDevice_t device) {
    std::vector<nvmlProcessInfo_t> entries(8);
    unsigned count = 8;
    const std::string name = "nvmlDeviceGet" + kind;
    EXPECT_EQ(nvml_.Call(name.c_str(), device, &count, entries.data()), 0) << name;
    entries.resize(count);
    return entries;
  }
  Pids PidList(const std::string& kind, nvmlDevice_t device) {
    Pids pids;
    for (const nvmlProcessInfo_t& entry : List(kind, device)) {
      pids.push_back(entry.pid);
    }
    return pids;
  }
  // The records since a stamp; empty when the call returns NVML_ERROR_NOT_FOUND.
  std::vector<nvmlProcessUtilizationSample_t> Uses(unsigned gpu, unsigned long long since_us) {
    std::vector<nvmlProcessUtilizationSample_t> uses(8);
    unsigned count = 8;
    const int result = nvml_.Call("nvmlDeviceGetProcessUtilization", nvml_.ByIndex(gpu),
                                  uses.data(), &count, since_us);
    EXPECT_TRUE(result == 0 || result == NVML_ERROR_NOT_FOUND) << result;
    uses.resize(result == 0 ? count : 0);
    return uses;
  }
  int UseCode(nvmlDevice_t device, unsigned capacity, unsigned long long since_us) {
    nvmlProcessUtilizationSample_t uses[8];
    return nvml_.Call("nvmlDeviceGetProcessUtilization", device, &uses[0], &capacity, since_us);
  }

  TestNode node_;
  NvmlClient nvml_;
  TimeUs now_ = 0;
};

TEST_F(NvmlProcesses, AListReturnsItsSizeAndThenTheProcesses) {
  const nvmlDevice_t device = nvml_.ByIndex(0);
  const char* const call = "nvmlDeviceGetComputeRunningProcesses_v3";
  nvmlProcessInfo_t entries[4] = {};
  nvmlProcessInfo_t* const none = nullptr;
  unsigned* const no_count = nullptr;
  for (const unsigned capacity : {0U, 1U}) {
    unsigned count = capacity;
    EXPECT_EQ(nvml_.Call(call, device, &count, &entries[0]), NVML_ERROR_INSUFFICIENT_SIZE);
    EXPECT_EQ(count, 2U);
    EXPECT_EQ(entries[0].pid, 0U) << "nothing is written";
  }
  unsigned count = 4;
  ASSERT_EQ(nvml_.Call(call, device, &count, &entries[0]), 0);
  ASSERT_EQ(count, 2U);
  EXPECT_EQ(entries[0].pid, 51U) << "pids ascend";
  EXPECT_EQ(entries[0].usedGpuMemory, 10 * kGibBytes);
  EXPECT_EQ(entries[0].gpuInstanceId, 0xffffffffU);
  EXPECT_EQ(entries[0].computeInstanceId, 0xffffffffU);
  EXPECT_EQ(entries[1].pid, 52U);
  EXPECT_EQ(entries[1].usedGpuMemory, 20 * kGibBytes);
  EXPECT_EQ(entries[2].pid, 0U);
  count = 0;
  EXPECT_EQ(nvml_.Call("nvmlDeviceGetGraphicsRunningProcesses_v3", device, &count, none), 0);
  EXPECT_EQ(count, 0U) << "no process runs, so no array is needed";
  EXPECT_EQ(nvml_.Call(call, device, no_count, &entries[0]), NVML_ERROR_INVALID_ARGUMENT);
  count = 4;
  EXPECT_EQ(nvml_.Call(call, device, &count, none), NVML_ERROR_INVALID_ARGUMENT);
  TickTo(30 * kSecondUs);
  EXPECT_EQ(PidList("ComputeRunningProcesses_v3", device), Pids({51, 52, 53}));
  TickTo(60 * kSecondUs);
  EXPECT_EQ(PidList("ComputeRunningProcesses_v3", device), Pids({51, 52}));
}

TEST_F(NvmlProcesses, BothVersionsListTheSameProcesses) {
  const nvmlDevice_t device = nvml_.ByIndex(0);
  EXPECT_EQ(PidList("ComputeRunningProcesses_v2", device), Pids({51, 52}));
  EXPECT_EQ(PidList("GraphicsRunningProcesses_v2", device), Pids());
  EXPECT_EQ(PidList("MPSComputeRunningProcesses_v2", nvml_.ByIndex(2)), Pids({71, 72}));
}

TEST_F(NvmlProcesses, MpsClientsAreInTheirOwnList) {
  const nvmlDevice_t shared = nvml_.ByIndex(2);
  EXPECT_EQ(PidList("MPSComputeRunningProcesses_v3", shared), Pids({71, 72}));
  EXPECT_EQ(PidList("ComputeRunningProcesses_v3", shared), Pids({70})) << "only the MPS server";
  EXPECT_EQ(PidList("MPSComputeRunningProcesses_v3", nvml_.ByIndex(0)), Pids());
}

TEST_F(NvmlProcesses, AMigDeviceListsItsProcessesAndItsGpuListsAll) {
  const nvmlDevice_t gpu = nvml_.ByIndex(1);
  nvmlDevice_t used = nvml_.Mig(1, 0);
  nvmlDevice_t free = nvml_.Mig(1, 1);
  if (!nvml_.Text("nvmlDeviceGetName", used).ends_with("3g.40gb")) {
    std::swap(used, free);
  }
  EXPECT_EQ(PidList("ComputeRunningProcesses_v3", free), Pids());
  for (const nvmlDevice_t device : {used, gpu}) {
    const auto list = List("ComputeRunningProcesses_v3", device);
    ASSERT_EQ(list.size(), 1U);
    EXPECT_EQ(list[0].pid, 61U);
    EXPECT_EQ(list[0].usedGpuMemory, 4 * kGibBytes);
    EXPECT_EQ(list[0].gpuInstanceId, nvml_.Number("nvmlDeviceGetGpuInstanceId", used));
    EXPECT_EQ(list[0].computeInstanceId, nvml_.Number("nvmlDeviceGetComputeInstanceId", used));
  }
}

TEST_F(NvmlProcesses, AProcessHasAName) {
  char name[64] = {};
  EXPECT_EQ(nvml_.Call("nvmlSystemGetProcessName", 52U, &name[0], 64U), 0);
  EXPECT_STREQ(name, "/usr/bin/a");
  EXPECT_EQ(nvml_.Call("nvmlSystemGetProcessName", 52U, &name[0], 6U), 0);
  EXPECT_STREQ(name, "/usr/") << "cut";
  EXPECT_EQ(nvml_.Call("nvmlSystemGetProcessName", 43U, &name[0], 64U), NVML_ERROR_NOT_FOUND);
  EXPECT_EQ(nvml_.Call("nvmlSystemGetProcessName", 52U, &name[0], 0U), NVML_ERROR_INVALID_ARGUMENT);
}

TEST_F(NvmlProcesses, RefusesUtilisationWhereTheDriverDoes) {
  const char* const call = "nvmlDeviceGetProcessUtilization";
  nvmlProcessUtilizationSample_t* const none = nullptr;
  unsigned* const no_count = nullptr;
  unsigned count = 0;
  EXPECT_EQ(nvml_.Call(call, nvml_.ByIndex(0), none, &count, 0ULL), NVML_ERROR_INSUFFICIENT_SIZE);
  EXPECT_EQ(count, 2U);
  EXPECT_EQ(UseCode(nvml_.ByIndex(0), 1, 0), NVML_ERROR_INSUFFICIENT_SIZE);
  EXPECT_EQ(UseCode(nvml_.ByIndex(0), 8, ~0ULL), NVML_ERROR_NOT_FOUND)
      << "the stamp is in the future";
  EXPECT_EQ(UseCode(nvml_.ByIndex(1), 8, 0), NVML_ERROR_NOT_SUPPORTED) << "in MIG mode";
  EXPECT_EQ(UseCode(nvml_.Mig(1, 0), 8, 0), NVML_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(nvml_.Call(call, nvml_.ByIndex(0), none, no_count, 0ULL), NVML_ERROR_INVALID_ARGUMENT);
  const unsigned long long seen_us = Uses(0, 0).front().timeStamp;
  EXPECT_EQ(UseCode(nvml_.ByIndex(0), 8, seen_us), NVML_ERROR_NOT_FOUND)
      << "no sample is newer than the stamp";
  EXPECT_EQ(UseCode(nvml_.ByIndex(0), 8, seen_us - 1), 0);
}

TEST_F(NvmlProcesses, SharesAddUpToTheUtilisationOfTheGpu) {
  TickTo(40 * kSecondUs);
  const unsigned long long seen_us = Uses(0, 0).front().timeStamp;
  EXPECT_EQ(seen_us, kEpochStampUs + 40'000'000);
  TickTo(40 * kSecondUs + 170'000);  // One more sample, of 1/6 s.
  const auto uses = Uses(0, seen_us);
  ASSERT_EQ(uses.size(), 3U);
  nvmlUtilization_t rates{};
  ASSERT_EQ(nvml_.Call("nvmlDeviceGetUtilizationRates", nvml_.ByIndex(0), &rates), 0);
  EXPECT_EQ(rates.gpu, 100U) << "three times 33.3 %";
  EXPECT_EQ(uses[0].smUtil + uses[1].smUtil + uses[2].smUtil, rates.gpu);
  EXPECT_EQ(uses[0].memUtil + uses[1].memUtil + uses[2].memUtil, rates.memory);
  for (const auto& use : uses) {
    EXPECT_EQ(use.timeStamp, seen_us + 166'666);
    EXPECT_NEAR(use.smUtil, 33.3, 1);
    EXPECT_EQ(use.memUtil, 10U);
  }
}

TEST_F(NvmlProcesses, UtilisationIsTheMeanSinceTheStampOrOverTheDriversBuffer) {
  const auto first = Uses(3, 0);  // At 5 s.
  ASSERT_EQ(first.size(), 2U) << "a process that used nothing has no record";
  EXPECT_EQ(first[0].pid, 81U);
  EXPECT_EQ(first[0].smUtil, 10U);
  EXPECT_EQ(first[0].memUtil, 20U);
  EXPECT_EQ(first[0].encUtil, 30U);
  EXPECT_EQ(first[0].decUtil, 40U);
  EXPECT_EQ(first[1].pid, 82U);
  EXPECT_EQ(first[1].smUtil, 32U) << "80 % of 2 s in 5 s";
  TickTo(17 * kSecondUs);
  EXPECT_EQ(Uses(3, 0).at(1).smUtil, 5U) << "80 % of 1 s in 16 s: the burst lingers";
  ASSERT_EQ(Uses(3, first[0].timeStamp).size(), 1U)
      << "every sample of the burst is older than the stamp";
  TickTo(18 * kSecondUs);
  EXPECT_EQ(Uses(3, 0).size(), 1U) << "the driver keeps 16 s";
}

TEST_F(NvmlProcesses, TheNewerCallReportsEveryEngine) {
  const char* const call = "nvmlDeviceGetProcessesUtilizationInfo";
  const nvmlDevice_t device = nvml_.ByIndex(3);
  nvmlProcessUtilizationInfo_v1_t uses[4] = {};
  nvmlProcessesUtilizationInfo_v1_t info{nvmlProcessesUtilizationInfo_v1, 0, 0, nullptr};
  EXPECT_EQ(nvml_.Call(call, device, &info), NVML_ERROR_INSUFFICIENT_SIZE);
  EXPECT_EQ(info.processSamplesCount, 2U);
  info = {nvmlProcessesUtilizationInfo_v1, 4, 0, &uses[0]};
  ASSERT_EQ(nvml_.Call(call, device, &info), 0);
  ASSERT_EQ(info.processSamplesCount, 2U);
  EXPECT_EQ(uses[0].pid, 81U);
  EXPECT_EQ(uses[0].timeStamp, Uses(3, 0).front().timeStamp);
  const auto& use = uses[0];
  EXPECT_EQ((Pids{use.smUtil, use.memUtil, use.encUtil, use.decUtil, use.jpgUtil, use.ofaUtil}),
            Pids({10, 20, 30, 40, 50, 60}));
  info.lastSeenTimeStamp = uses[0].timeStamp;
  EXPECT_EQ(nvml_.Call(call, device, &info), NVML_ERROR_NOT_FOUND);
  info.version = 1;
  EXPECT_EQ(nvml_.Call(call, device, &info), NVML_ERROR_ARGUMENT_VERSION_MISMATCH);
}

TEST_F(NvmlProcesses, FaultsAlsoAffectTheLists) {
  const nvmlDevice_t device = nvml_.ByIndex(0);
  TickTo(70 * kSecondUs);
  const auto garbage = List("ComputeRunningProcesses_v3", device);
  ASSERT_EQ(garbage.size(), 2U)
      << "the count stays right; a wrong count would make the caller read past the array";
  EXPECT_EQ(garbage[0].pid, 0xffffffffU);
  EXPECT_EQ(garbage[0].usedGpuMemory, ~0ULL);
  TickTo(80 * kSecondUs);
  EXPECT_EQ(UseCode(device, 8, 0), NVML_ERROR_NO_PERMISSION);
}

class NvmlProcessQuirks : public NvmlProcesses {
 protected:
  NvmlProcessQuirks() : NvmlProcesses("quirks: [size_100, dead_pids, over_100, late_records]\n") {}
};

TEST_F(NvmlProcessQuirks, ReportWrongSizesPidsAndPercentages) {
  unsigned count = 0;
  nvmlProcessUtilizationSample_t* const none = nullptr;
  EXPECT_EQ(nvml_.Call("nvmlDeviceGetProcessUtilization", nvml_.ByIndex(0), none, &count, 0ULL),
            NVML_ERROR_INSUFFICIENT_SIZE);
  EXPECT_EQ(count, 100U);
  TickTo(63 * kSecondUs);
  const auto uses = Uses(0, 0);
  ASSERT_EQ(uses.size(), 3U);
  EXPECT_EQ(uses[2].pid, 53U) << "this process ended 3 s ago";
  std::set<unsigned long long> stamps;
  for (const auto& use : uses) {
    EXPECT_NEAR(use.smUtil, 2 * 33.3, 1);
    EXPECT_EQ(use.memUtil, 20U);
    EXPECT_LE(use.timeStamp, kEpochStampUs + 63'000'000);
    EXPECT_GT(use.timeStamp, kEpochStampUs + 50'000'000);
    stamps.insert(use.timeStamp);
  }
  EXPECT_EQ(stamps.size(), 3U) << "each record has its own time";
  TickTo(90 * kSecondUs);
  EXPECT_EQ(Uses(0, 0).size(), 2U) << "the driver drops the record after 16 s";
}

class NvmlMigRecords : public NvmlProcesses {
 protected:
  NvmlMigRecords() : NvmlProcesses("quirks: [mig_records]\n") {}
};

TEST_F(NvmlMigRecords, ListTheMigDevicesOwnProcesses) {
  EXPECT_EQ(UseCode(nvml_.ByIndex(1), 8, 0), NVML_ERROR_NOT_SUPPORTED)
      << "the GPU itself still has no records";
  EXPECT_EQ(UseCode(nvml_.Mig(1, 1), 8, 0), NVML_SUCCESS);
  EXPECT_EQ(UseCode(nvml_.Mig(1, 0), 8, 0), NVML_ERROR_NOT_FOUND) << "no process runs on it";
}

TEST_F(NvmlProcessQuirks, AClientThatAsksFromTheNewestStampMissesALateRecord) {
  TickTo(20 * kSecondUs);
  const auto before = Uses(0, 0);
  ASSERT_EQ(before.size(), 2U);
  const auto newest = std::max(before[0].timeStamp, before[1].timeStamp);
  const auto oldest = std::min(before[0].timeStamp, before[1].timeStamp);
  ASSERT_LT(oldest, newest);
  TickTo(20 * kSecondUs + 200'000);  // One more sample.
  EXPECT_EQ(Uses(0, newest).size(), 1U) << "the other record is still older than the stamp";
  EXPECT_EQ(Uses(0, oldest).size(), 2U);
}

}  // namespace
}  // namespace podgpu::sim
