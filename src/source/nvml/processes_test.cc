#include "source/nvml/processes.h"

#include <thread>

#include <gtest/gtest.h>

#include "base/testing/manual_clock.h"
#include "source/testing/fake_nvml_table.h"
#include "source/testing/fake_pci_bus.h"
#include "source/testing/fake_proc_files.h"

namespace podgpu {
namespace {

using std::chrono::seconds;

class NvmlProcessesTest : public ::testing::Test {
 protected:
  NvmlProcessesTest() {
    nvml_.gpus = {{"GPU-a", 0, {}}, {"GPU-b", 1, {}}};
    clock_.Advance(seconds(1'000));
    nvml_.measure = [this](const std::string& symbol, size_t gpu) -> int64_t {
      return symbol == "nvmlDeviceGetTotalEnergyConsumption" ? energy_mj_.at(gpu) : 7;
    };
  }

  void Open() {
    processes_ = std::make_unique<NvmlProcesses>(
        nvml_.Library(), NvmlProcessesOptions{.sysfs = sysfs_, .written_off = tally_}, files_,
        clock_);
  }
  Status Read() {
    if (processes_ == nullptr) {
      Open();
    }
    return processes_->Read(reading_);
  }
  uint64_t NowUs() const { return static_cast<uint64_t>(ToMicroseconds(clock_.WallNow())); }
  // Returns a utilization sample with the current time.
  void Record(FakeNvmlProcess& process, uint32_t sm_percent) const {
    abi::nvmlProcessUtilizationInfo_v1_t record{};
    record.timeStamp = NowUs();
    record.pid = process.pid;
    record.smUtil = sm_percent;
    process.records.push_back(record);
  }
  // Returns the pids of a device.
  std::vector<uint32_t> Pids(size_t device) const {
    std::vector<uint32_t> pids;
    for (const ListedProcess& process : reading_.devices.at(device).processes) {
      pids.push_back(process.pid);
    }
    return pids;
  }

  const ThreadTally tally_ = NewThreadTally();
  const FakeProcFiles files_;
  const Files* sysfs_ = nullptr;
  ManualClock clock_;
  FakeNvml nvml_;
  std::vector<int64_t> energy_mj_ = {5'000, 6'000};
  std::unique_ptr<NvmlProcesses> processes_;
  ProcessReading reading_;
};

TEST_F(NvmlProcessesTest, ReadsProcessesUtilizationAndEnergy) {
  nvml_.gpus[0].processes = {{.pid = 11, .memory_bytes = 4'096},
                             {.pid = 12, .memory_bytes = ~uint64_t{0}, .mps_client = true}};
  ASSERT_TRUE(Read().ok());
  EXPECT_EQ(reading_.devices[0].samples, BusySamples::kMissing) << "there is no earlier sample";
  clock_.Advance(seconds(1));
  Record(nvml_.gpus[0].processes[0], 40);
  energy_mj_[0] = 5'300;
  ASSERT_TRUE(Read().ok());
  ASSERT_EQ(reading_.devices.size(), 2U);
  const DeviceReading& device = reading_.devices[0];
  EXPECT_EQ(device.counter_mj, 5'300U);
  EXPECT_TRUE(device.listed);
  ASSERT_EQ(Pids(0), (std::vector<uint32_t>{11, 12}));
  EXPECT_EQ(device.processes[0].identity->name, "p11");
  EXPECT_EQ(device.processes[0].memory_bytes, 4'096U);
  EXPECT_FALSE(device.processes[1].memory_bytes.has_value()) << "all bits set: unknown";
  EXPECT_TRUE(device.processes[1].mps_client);
  EXPECT_EQ(device.samples, BusySamples::kMeasured);
  ASSERT_EQ(device.busy.size(), 1U);
  EXPECT_EQ(device.busy[0].busy_percent_us, 40U * 1'000'000);
  EXPECT_EQ(reading_.devices[1].samples, BusySamples::kMeasured) << "no process was active";
  EXPECT_EQ(processes_->uuids(), (std::vector<std::string>{"GPU-a", "GPU-b"}));
}

TEST_F(NvmlProcessesTest, UsesTheOldCallsOfAnOldDriver) {
  nvml_.without = {
      "nvmlDeviceGetComputeRunningProcesses_v3", "nvmlDeviceGetProcessesUtilizationInfo",
      "nvmlDeviceGetMPSComputeRunningProcesses_v3", "nvmlDeviceGetMPSComputeRunningProcesses_v2"};
  nvml_.gpus[1].processes = {{.pid = 21}};
  ASSERT_TRUE(Read().ok());
  clock_.Advance(seconds(1));
  Record(nvml_.gpus[1].processes[0], 70);
  ASSERT_TRUE(Read().ok());
  EXPECT_TRUE(reading_.devices[1].listed);
  EXPECT_EQ(Pids(1), std::vector<uint32_t>{21});
  ASSERT_EQ(reading_.devices[1].busy.size(), 1U);
  EXPECT_EQ(reading_.devices[1].busy[0].sm_percent, 70U);
}

TEST_F(NvmlProcessesTest, TellsUnsupportedSamplesFromMissingOnes) {
  nvml_.FailWith({{"nvmlDeviceGetProcessesUtilizationInfo", abi::NVML_ERROR_NOT_SUPPORTED},
                  {"nvmlDeviceGetProcessUtilization", abi::NVML_ERROR_NOT_SUPPORTED}});
  ASSERT_TRUE(Read().ok());
  EXPECT_EQ(reading_.devices[0].samples, BusySamples::kNotSupported);
  nvml_.FailWith({{"nvmlDeviceGetProcessesUtilizationInfo", abi::NVML_ERROR_NOT_SUPPORTED},
                  {"nvmlDeviceGetProcessUtilization", abi::NVML_ERROR_UNKNOWN},
                  {"nvmlDeviceGetTotalEnergyConsumption", abi::NVML_ERROR_NOT_SUPPORTED},
                  {"nvmlDeviceGetMPSComputeRunningProcesses_v3", abi::NVML_ERROR_UNKNOWN}});
  ASSERT_TRUE(Read().ok());
  EXPECT_EQ(reading_.devices[0].samples, BusySamples::kMissing);
  EXPECT_FALSE(reading_.devices[0].counter_mj.has_value());
  EXPECT_FALSE(reading_.devices[0].listed) << "an incomplete list ends no process";
}

TEST_F(NvmlProcessesTest, ReadsAListOfAnyLength) {
  for (uint32_t i = 0; i < 1'000; ++i) {
    nvml_.gpus[0].processes.push_back({.pid = 1'000 + i});
  }
  ASSERT_TRUE(Read().ok());
  EXPECT_EQ(reading_.devices[0].processes.size(), 1'000U);
}

TEST_F(NvmlProcessesTest, ReportsTheInstanceOfAProcess) {
  nvml_.gpus[1].mig_enabled = true;
  nvml_.gpus[1].mig_devices = {{true, 5, 0, "MIG-x", "3g.40gb"}, {true, 9, 0, "MIG-y", "1g.10gb"}};
  nvml_.gpus[1].processes = {{.pid = 31, .gpu_instance_id = 9}};
  ASSERT_TRUE(Read().ok());
  ASSERT_EQ(Pids(1), std::vector<uint32_t>{31});
  EXPECT_EQ(reading_.devices[1].processes[0].instance, 9U);
}

TEST_F(NvmlProcessesTest, ReportsTheActivityOfEachMigInstance) {
  nvml_.gpus[1].mig_enabled = true;
  nvml_.gpus[1].mig_devices = {{true, 5, 0, "MIG-x", "3g.40gb"}, {true, 9, 0, "MIG-y", "1g.10gb"}};
  nvml_.gpm = [](uint32_t metric) { return metric == 2 ? 50.0 : 1.0; };
  ASSERT_TRUE(Read().ok());
  EXPECT_TRUE(reading_.devices[1].instances.empty()) << "there is no earlier sample";
  clock_.Advance(seconds(2));
  ASSERT_TRUE(Read().ok());
  EXPECT_TRUE(reading_.devices[0].instances.empty()) << "not in MIG mode";
  const std::vector<InstanceActivity>& told = reading_.devices[1].instances;
  ASSERT_EQ(told.size(), 2U);
  EXPECT_EQ(told[0].instance, 9U);
  EXPECT_EQ(told[0].busy, 1U * 50 * 2'000'000);
  EXPECT_EQ(told[1].busy, 3U * 50 * 2'000'000) << "slices x percent x time";

  processes_->SetProfiling(false);
  clock_.Advance(seconds(1));
  const int taken = nvml_.CountOf("nvmlGpmMigSampleGet");
  ASSERT_TRUE(Read().ok());
  EXPECT_EQ(nvml_.CountOf("nvmlGpmMigSampleGet"), taken);
  EXPECT_TRUE(reading_.devices[1].instances.empty());
  processes_->SetProfiling(true);
  processes_->Release();
  EXPECT_GT(nvml_.CountOf("nvmlGpmSampleFree"), 0);
}

TEST_F(NvmlProcessesTest, ReportsNoActivityWhenItIsMissingOrImpossible) {
  nvml_.gpus[1].mig_enabled = true;
  nvml_.gpus[1].mig_devices = {{true, 5, 0, "MIG-x", "3g.40gb"}};
  nvml_.gpm = [](uint32_t) { return 1e9; };
  for (const bool has_gpm : {true, false}) {
    nvml_.gpus[1].has_gpm = has_gpm;
    processes_.reset();
    ASSERT_TRUE(Read().ok());
    clock_.Advance(seconds(1));
    ASSERT_TRUE(Read().ok());
    EXPECT_TRUE(reading_.devices[1].instances.empty());
  }
}

TEST_F(NvmlProcessesTest, LeavesOutADeviceThatHangsUntilItReturns) {
  nvml_.gpus[1].processes = {{.pid = 41}};
  ASSERT_TRUE(Read().ok());
  FakeFault hang;
  hang.block = FakeFault::Block::kUntilFreed;
  nvml_.Inject("nvmlDeviceGetComputeRunningProcesses_v3", hang, 0);
  {
    std::jthread watchdog([&] {
      nvml_.AwaitHanging();
      processes_->Interrupt();
    });
    ASSERT_TRUE(Read().ok());
  }
  ASSERT_EQ(reading_.devices.size(), 1U);
  EXPECT_EQ(reading_.devices[0].device.value, 1U) << "numbers stay";
  EXPECT_EQ(Pids(0), std::vector<uint32_t>{41});
  EXPECT_NE(processes_->Complaint().find("has not returned"), std::string::npos);
  EXPECT_EQ(*tally_, 1);
  clock_.Advance(seconds(10));
  ASSERT_TRUE(Read().ok());
  EXPECT_EQ(reading_.devices.size(), 1U) << "not queried while it hangs";
  nvml_.Heal("nvmlDeviceGetComputeRunningProcesses_v3");
  while (*tally_ != 0) {
    std::this_thread::yield();
  }
  clock_.Advance(seconds(10));
  ASSERT_TRUE(Read().ok());
  EXPECT_EQ(reading_.devices.size(), 2U);
  EXPECT_EQ(processes_->Complaint(), "");
}

TEST_F(NvmlProcessesTest, HoldsNvmlOnlyDuringReadingsWhileAGpuIsLost) {
  nvml_.gpus[1].processes = {{.pid = 51}};
  ASSERT_TRUE(Read().ok());
  EXPECT_EQ(nvml_.initialised, 1);
  nvml_.gpus[0].state = abi::NVML_ERROR_GPU_IS_LOST;
  clock_.Advance(seconds(10));
  ASSERT_TRUE(Read().ok());
  EXPECT_EQ(nvml_.initialised, 0) << "so another program can find the GPU";
  clock_.Advance(seconds(1));
  Record(nvml_.gpus[1].processes[0], 20);
  ASSERT_TRUE(Read().ok());
  ASSERT_EQ(reading_.devices.size(), 1U);
  EXPECT_EQ(reading_.devices[0].samples, BusySamples::kMeasured) << "as before the loss";
  nvml_.gpus[0].state = abi::NVML_SUCCESS;
  ASSERT_TRUE(Read().ok());
  EXPECT_EQ(nvml_.initialised, 1);
  EXPECT_EQ(reading_.devices.size(), 2U);
}

TEST_F(NvmlProcessesTest, GivesTheReleaseReasonOfADevice) {
  ASSERT_TRUE(Read().ok());
  EXPECT_EQ(processes_->ReleaseReason(), "");
  nvml_.gpus[1].mig_pending = true;
  clock_.Advance(seconds(5));
  ASSERT_TRUE(Read().ok());
  EXPECT_EQ(processes_->ReleaseReason(), "GPU 1: a change of its MIG mode waits");
  EXPECT_EQ(nvml_.initialised, 0);
  nvml_.gpus[1].mig_pending = false;
  ASSERT_TRUE(Read().ok());
  EXPECT_EQ(processes_->ReleaseReason(), "");
}

TEST_F(NvmlProcessesTest, MakesNoCallAboutASuspendedDevice) {
  FakePciBus bus;
  sysfs_ = &bus;
  nvml_.gpus = {{"GPU-a", 0, {}}, {"GPU-b", 1, {}}, {"GPU-c", 2, {}}};
  energy_mj_.push_back(7'000);
  bus.asleep = {"0000:00:00.0"};
  ASSERT_TRUE(Read().ok());
  EXPECT_EQ(reading_.devices.size(), 2U) << "it was never identified";
  bus.asleep = {"0000:01:00.0"};
  const int before = nvml_.CountOf("nvmlDeviceGetTotalEnergyConsumption");
  ASSERT_TRUE(Read().ok());
  EXPECT_EQ(processes_->uuids(), (std::vector<std::string>{"GPU-b", "GPU-c", "GPU-a"}));
  EXPECT_EQ(nvml_.CountOf("nvmlDeviceGetTotalEnergyConsumption"), before + 2);
  bus.asleep = {"0000:02:00.0"};
  const int identities = nvml_.CountOf("nvmlDeviceGetUUID");
  ASSERT_TRUE(Read().ok());
  EXPECT_EQ(nvml_.CountOf("nvmlDeviceGetUUID"), identities + 2)
      << "one is suspended, but another one than before";
  EXPECT_EQ(nvml_.CountOf("nvmlDeviceGetTotalEnergyConsumption"), before + 4);
  processes_->Release();
  ASSERT_TRUE(Read().ok());
  EXPECT_EQ(nvml_.CountOf("nvmlDeviceGetUUID"), identities + 4)
      << "nor when NVML is initialised again";
  bus.asleep.clear();
  ASSERT_TRUE(Read().ok());
  EXPECT_EQ(reading_.devices.size(), 3U);
}

TEST_F(NvmlProcessesTest, ReportsAnUnloadedDriverAndRecovers) {
  ASSERT_TRUE(Read().ok());
  nvml_.SetDown(true);
  EXPECT_FALSE(Read().ok());
  EXPECT_FALSE(Read().ok());
  nvml_.SetDown(false);
  EXPECT_TRUE(Read().ok());
  EXPECT_EQ(reading_.devices.size(), 2U);
}

}  // namespace
}  // namespace podgpu
