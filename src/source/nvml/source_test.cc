#include "source/nvml/source.h"

#include <map>
#include <set>
#include <thread>

#include <gtest/gtest.h>

#include "base/testing/manual_clock.h"
#include "sample/columns.h"
#include "source/testing/fake_nvml_table.h"
#include "source/testing/fake_pci_bus.h"

namespace podgpu {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr uint16_t kCudaVersion = 5;
constexpr uint16_t kPower = 155;
constexpr uint16_t kEnergy = 156;
constexpr uint16_t kMemoryTemperature = 140;
constexpr uint16_t kTemperature = 150;
constexpr uint16_t kXid = 230;
constexpr uint16_t kUsed = 252;
constexpr uint16_t kActive = 1002;
constexpr uint16_t kFieldOfSwitches = 858;
constexpr uint16_t kFabricStatus = 170;

// A node of fake GPUs, and the source on it.
class NvmlSourceTest : public ::testing::Test {
 protected:
  NvmlSourceTest() {
    nvml_.gpus = {{"GPU-a", 0, {}}, {"GPU-b", 1, {}}, {"GPU-c", 2, {}}};
    clock_.Advance(seconds(1'000));
  }

  void Open() {
    source_ = std::make_unique<NvmlSource>(
        nvml_.Library(),
        NvmlSourceOptions{.sysfs = sysfs_, .stale_after = seconds(5), .written_off = tally_},
        clock_);
  }
  const Files* sysfs_ = nullptr;
  // Discovers, watches and reads; the grid of the last reading is kept.
  void Start(const std::vector<uint16_t>& ids) {
    Open();
    fields_.clear();
    for (const uint16_t id : ids) {
      fields_.push_back(FindField(id));
    }
    ASSERT_TRUE(Discover().ok());
  }
  Status Discover() {
    StatusOr<Topology> found = source_->Discover(PartsFor(fields_));
    if (!found.ok()) {
      return found.status();
    }
    topology_ = std::make_shared<Topology>(*std::move(found));
    return source_->Watch(*topology_, fields_, seconds(1)).status();
  }
  Status Read() {
    grid_ = std::make_unique<Grid>(topology_, fields_);
    grid_->findings.asked.xid_window = seconds(60);
    return source_->Read(*grid_);
  }
  Value At(uint16_t field, uint16_t column) const {
    return grid_->at(grid_->RowOf(field).value_or(FieldRow{}), EntityId{column});
  }
  // Runs `body` while another thread gives up the hung call.
  template <typename Body>
  void WithWatchdog(Body body) {
    std::jthread watchdog([&] {
      nvml_.AwaitHanging();
      source_->Interrupt();
    });
    body();
  }
  void AwaitReturn() {
    while (*tally_ != 0) {
      std::this_thread::yield();
    }
  }

  const ThreadTally tally_ = NewThreadTally();
  ManualClock clock_;
  FakeNvml nvml_;
  std::unique_ptr<NvmlSource> source_;
  std::vector<const Field*> fields_;
  std::shared_ptr<Topology> topology_;
  std::unique_ptr<Grid> grid_;
};

FakeFault Hanging() {
  FakeFault fault;
  fault.block = FakeFault::Block::kUntilFreed;
  return fault;
}

TEST_F(NvmlSourceTest, ListsGpusAndInstances) {
  nvml_.gpus[1].mig_enabled = true;
  nvml_.gpus[1].mig_devices = {{true, 5, 0, "MIG-x", "3g.40gb"},
                               {false, 0, 0, "", ""},
                               {true, 9, 0, "MIG-z", "1c.1g.10gb"},
                               {true, 7, 0, "MIG-y", "1g.10gb"}};
  Start({kPower});
  ASSERT_EQ(topology_->gpus.size(), 3U);
  EXPECT_EQ(topology_->gpus[2].uuid, "GPU-c");
  EXPECT_EQ(topology_->gpus[2].minor_number, 2U);
  EXPECT_EQ(topology_->gpus[2].pci_bus_id, "00000000:02:00.0");
  EXPECT_EQ(topology_->gpus[2].model, "NVIDIA H100 80GB HBM3");
  ASSERT_EQ(topology_->instances.size(), 3U) << "an index without a device is skipped";
  EXPECT_EQ(topology_->instances[0].profile, "1g.10gb") << "small ones first, as in DCGM";
  EXPECT_EQ(topology_->instances[0].gpu_instance_id, 7U);
  EXPECT_EQ(topology_->instances[1].profile, "1g.10gb")
      << "of the GPU instance, not of the compute instance";
  EXPECT_EQ(topology_->instances[2].gpu_instance_id, 5U);
  EXPECT_EQ(topology_->instances[2].entity_id, 9U);
  EXPECT_EQ(topology_->instances[2].compute_instances[0].mig_uuid, "MIG-x");
  EXPECT_EQ(topology_->entities.size(), 6U);
}

TEST_F(NvmlSourceTest, ReadsInTheUnitsOfDcgm) {
  nvml_.numbers = {{"nvmlDeviceGetPowerUsage", 342'150},
                   {"field 83", 9'000'000'001},
                   {"nvmlDeviceGetTemperatureV", 61},
                   {"nvmlDeviceGetMemoryInfo_v2", 512}};
  Start({kTemperature, kPower, kEnergy, kFabricStatus, kXid, kUsed});
  ASSERT_TRUE(Read().ok());
  EXPECT_EQ(At(kPower, 0).real(), 342.15);
  EXPECT_EQ(At(kEnergy, 1).int64(), 9'000'000'001);
  EXPECT_EQ(At(kTemperature, 2).int64(), 61);
  EXPECT_EQ(At(kUsed, 0).int64(), 512);
  EXPECT_EQ(At(kXid, 0).absence(), Absence::kNoData) << "no XID yet";
  EXPECT_EQ(At(kFabricStatus, 0).absence(), Absence::kNotInSource);
}

TEST_F(NvmlSourceTest, UsesOlderCallsWhenNewerOnesAreMissing) {
  nvml_.without = {"nvmlDeviceGetTemperatureV", "nvmlDeviceGetMemoryInfo_v2",
                   "nvmlDeviceGetPowerUsage"};
  nvml_.numbers = {{"nvmlDeviceGetTemperature", 44}, {"nvmlDeviceGetMemoryInfo", 300}};
  Start({kTemperature, kPower, kUsed});
  ASSERT_TRUE(Read().ok());
  EXPECT_EQ(At(kTemperature, 0).int64(), 44);
  EXPECT_EQ(At(kUsed, 0).int64(), 300);
  EXPECT_EQ(At(kPower, 0).absence(), Absence::kNotSupported);
}

TEST_F(NvmlSourceTest, ReportsTheReasonForEachAbsentValue) {
  nvml_.FailWith({{"nvmlDeviceGetPowerUsage", abi::NVML_ERROR_NO_PERMISSION},
                  {"nvmlDeviceGetFieldValues", abi::NVML_ERROR_NOT_SUPPORTED}});
  nvml_.numbers = {{"nvmlDeviceGetTemperatureV", 4'000}};
  Start({kTemperature, kPower, kEnergy});
  ASSERT_TRUE(Read().ok());
  EXPECT_EQ(At(kPower, 0).absence(), Absence::kNotPermitted);
  EXPECT_EQ(At(kEnergy, 0).absence(), Absence::kNotSupported);
  EXPECT_EQ(At(kTemperature, 0).absence(), Absence::kOutOfRange) << "an impossible temperature";
}

TEST_F(NvmlSourceTest, AsksAgainForFieldValuesThatTheDriverLeftOut) {
  nvml_.numbers = {{"field 82", 51}, {"field 83", 9'000}};
  nvml_.most_values = 1;
  Start({kMemoryTemperature, kEnergy});
  ASSERT_TRUE(Read().ok());
  EXPECT_EQ(At(kMemoryTemperature, 2).int64(), 51);
  EXPECT_EQ(At(kEnergy, 2).int64(), 9'000);
  EXPECT_EQ(nvml_.CountOf("nvmlDeviceGetFieldValues"), 6) << "twice for each GPU";
  nvml_.most_values = 0;
  ASSERT_TRUE(Read().ok());
  EXPECT_EQ(At(kEnergy, 0).absence(), Absence::kNotSupported) << "the driver never answers";
}

TEST_F(NvmlSourceTest, RetriesUnsupportedFieldsInSlowPasses) {
  nvml_.FailWith({{"nvmlDeviceGetPowerUsage", abi::NVML_ERROR_NOT_SUPPORTED}});
  Start({kTemperature, kPower});
  for (int i = 0; i < 5; ++i) {
    ASSERT_TRUE(Read().ok());
    clock_.Advance(seconds(1));
  }
  EXPECT_EQ(nvml_.CountOf("nvmlDeviceGetPowerUsage"), 3) << "once for each GPU";
  nvml_.FailWith({});
  clock_.Advance(seconds(10));
  ASSERT_TRUE(Read().ok());
  EXPECT_TRUE(At(kPower, 0).present());
}

TEST_F(NvmlSourceTest, ReadsSlowFieldsAgainAfterALossThatEndedASlowPass) {
  nvml_.numbers = {{"nvmlSystemGetCudaDriverVersion_v2", 12'040}};
  Start({kCudaVersion, kEnergy});
  ASSERT_TRUE(Read().ok());
  EXPECT_EQ(At(kCudaVersion, 2).int64(), 12'040);
  clock_.Advance(seconds(10));
  nvml_.FailWith({{"nvmlDeviceGetFieldValues", abi::NVML_ERROR_GPU_IS_LOST}});
  ASSERT_TRUE(Read().ok());
  EXPECT_EQ(At(kCudaVersion, 2).absence(), Absence::kDeviceLost);
  nvml_.FailWith({});
  nvml_.numbers = {{"nvmlSystemGetCudaDriverVersion_v2", 12'080}};
  clock_.Advance(seconds(1));
  ASSERT_TRUE(Read().ok());
  EXPECT_EQ(At(kCudaVersion, 2).int64(), 12'080) << "not the value from before the loss";
}

TEST_F(NvmlSourceTest, ReportsProfilingBetweenTwoReadings) {
  nvml_.gpm = [](uint32_t metric) { return metric == 2 ? 42.5 : 0.0; };
  nvml_.gpus[2].has_gpm = false;
  Start({kTemperature, kActive});
  ASSERT_TRUE(Read().ok());
  EXPECT_EQ(At(kActive, 0).absence(), Absence::kNoData) << "one sample is not enough";
  clock_.Advance(milliseconds(140));
  ASSERT_TRUE(Read().ok());
  EXPECT_EQ(At(kActive, 0).absence(), Absence::kNoData) << "too early for another sample";
  clock_.Advance(seconds(1));
  ASSERT_TRUE(Read().ok());
  EXPECT_EQ(At(kActive, 0).real(), 0.425);
  EXPECT_EQ(At(kActive, 2).absence(), Absence::kNotSupported);
  source_->SetProfiling(false);
  ASSERT_TRUE(Read().ok());
  EXPECT_EQ(At(kActive, 2).absence(), Absence::kNotSupported) << "it will not come after the pause";
}

TEST_F(NvmlSourceTest, TellsWhichFieldsItNeverGives) {
  const auto lacked = [this] { return grid_->findings.lacked; };
  Start({kTemperature, kActive});
  ASSERT_TRUE(Read().ok() && lacked() == nullptr);
  nvml_.gpus[2].has_gpm = false;
  Start({kTemperature, kActive});
  ASSERT_TRUE(Read().ok() && lacked() != nullptr);
  EXPECT_EQ(lacked()->fields, std::vector{FindField(kActive)});
  EXPECT_EQ(lacked()->why, "NVML, the library of the driver, has them from Hopper on");
  Start({kTemperature, 1100});  // Of CPUs.
  ASSERT_TRUE(Read().ok() && lacked() != nullptr);
  EXPECT_EQ(lacked()->fields, std::vector{FindField(1100)});
  EXPECT_EQ(lacked()->why, "NVML, the library of the driver, does not have them");
}

TEST_F(NvmlSourceTest, Statement37ReportsThatAnotherProgramHoldsTheCounters) {
  Start({kTemperature, kActive});
  nvml_.FailWith({{"nvmlGpmSampleGet", abi::NVML_ERROR_IN_USE}});
  ASSERT_TRUE(Read().ok());
  EXPECT_EQ(At(kActive, 0).absence(), Absence::kCountersTaken);
  EXPECT_TRUE(At(kTemperature, 0).present());
  nvml_.FailWith({});
  clock_.Advance(seconds(1));
  ASSERT_TRUE(Read().ok());
  clock_.Advance(seconds(1));
  ASSERT_TRUE(Read().ok());
  EXPECT_TRUE(At(kActive, 0).present()) << "back without a restart";
}

TEST_F(NvmlSourceTest, ReportsXidsWithTheirAge) {
  Start({kTemperature, kXid});
  ASSERT_TRUE(Read().ok());
  EXPECT_TRUE(grid_->findings.gpus[1].xids_known);
  nvml_.AddXid(1, 79);
  do {  // Until the events thread has received it.
    std::this_thread::yield();
    ASSERT_TRUE(Read().ok());
  } while (!At(kXid, 1).present());
  EXPECT_EQ(At(kXid, 1).int64(), 79);
  EXPECT_FALSE(At(kXid, 0).present());
  ASSERT_EQ(grid_->findings.xids.size(), 1U);
  EXPECT_EQ(grid_->findings.xids[0].gpu, 1);
  EXPECT_EQ(grid_->findings.xids[0].total, 1U);
  clock_.Advance(seconds(100));
  ASSERT_TRUE(Read().ok());
  EXPECT_EQ(At(kXid, 1).age_ms(), 100'000U) << "the age of the event";
}

// The XID says why the GPU is lost; the next list of devices comes before the next reading.
TEST_F(NvmlSourceTest, KeepsTheXidOfAGpuThatIsLost) {
  Start({kTemperature, kXid});
  ASSERT_TRUE(Read().ok());
  nvml_.AddXid(1, 79);
  nvml_.Change([&] { nvml_.gpus[1].state = abi::NVML_ERROR_GPU_IS_LOST; });
  ASSERT_TRUE(Discover().ok());
  ASSERT_EQ(topology_->gpus[1].state, DeviceState::kLost);
  ASSERT_TRUE(Read().ok());
  ASSERT_EQ(grid_->findings.xids.size(), 1U);
  EXPECT_EQ(grid_->findings.xids[0].gpu, 1);
  EXPECT_EQ(grid_->findings.xids[0].code, 79);
  EXPECT_EQ(grid_->findings.xids[0].total, 1U);
}

TEST_F(NvmlSourceTest, ReadsTheOtherDevicesWhenOneHangs) {
  Start({kTemperature, kPower});
  ASSERT_TRUE(Read().ok());
  nvml_.Inject("nvmlDeviceGetPowerUsage", Hanging(), 1);
  WithWatchdog([&] { ASSERT_TRUE(Read().ok()); });
  EXPECT_EQ(*tally_, 1);
  EXPECT_TRUE(At(kPower, 0).present());
  EXPECT_EQ(At(kPower, 1).absence(), Absence::kSourceDown);
  EXPECT_TRUE(At(kPower, 2).present()) << "the same reading continues with the next device";
  clock_.Advance(seconds(1));
  ASSERT_TRUE(Read().ok()) << "and the next one skips it";
  EXPECT_TRUE(At(kPower, 2).present());
  ASSERT_TRUE(Discover().ok());
  EXPECT_EQ(topology_->gpus[1].state, DeviceState::kUnresponsive);
  EXPECT_EQ(topology_->gpus[1].uuid, "GPU-b");
  nvml_.Heal("nvmlDeviceGetPowerUsage");
  AwaitReturn();
  ASSERT_TRUE(Discover().ok());
  EXPECT_EQ(topology_->gpus[1].state, DeviceState::kOk);
  ASSERT_TRUE(Read().ok());
  EXPECT_TRUE(At(kPower, 1).present());
}

TEST_F(NvmlSourceTest, ScansTheOtherDevicesWhenOneHangs) {
  Start({kPower});
  nvml_.Inject("nvmlDeviceGetMigMode", Hanging(), 0);
  WithWatchdog([&] { ASSERT_TRUE(Discover().ok()); });
  EXPECT_EQ(topology_->gpus[0].state, DeviceState::kUnresponsive);
  EXPECT_EQ(topology_->gpus[1].state, DeviceState::kOk);
  ASSERT_TRUE(Read().ok());
  EXPECT_EQ(At(kPower, 0).absence(), Absence::kSourceDown);
  EXPECT_TRUE(At(kPower, 1).present());
  nvml_.Heal("nvmlDeviceGetMigMode");
  AwaitReturn();
}

TEST_F(NvmlSourceTest, FailsWhileTheWholeDriverHangs) {
  Open();
  fields_ = {FindField(kPower)};
  nvml_.Inject("nvmlInit_v2", Hanging());
  WithWatchdog([&] { EXPECT_TRUE(absl::IsUnavailable(Discover())); });
  nvml_.Heal("nvmlInit_v2");
  AwaitReturn();
  EXPECT_TRUE(Discover().ok());
}

TEST_F(NvmlSourceTest, KeepsALostGpuInTheTopology) {
  Start({kPower});
  nvml_.gpus[2].state = abi::NVML_ERROR_GPU_IS_LOST;
  ASSERT_TRUE(Read().ok());
  EXPECT_EQ(At(kPower, 2).absence(), Absence::kDeviceLost);
  EXPECT_TRUE(At(kPower, 0).present());
  ASSERT_TRUE(Discover().ok());
  EXPECT_EQ(topology_->gpus[2].state, DeviceState::kLost);
  EXPECT_EQ(topology_->gpus[2].uuid, "GPU-c") << "with its last identity";
  ASSERT_TRUE(Read().ok());
  EXPECT_EQ(At(kPower, 2).absence(), Absence::kDeviceLost);
  const int before = nvml_.initialisations;
  ASSERT_TRUE(Discover().ok());
  clock_.Advance(seconds(11));
  ASSERT_TRUE(Discover().ok());
  EXPECT_EQ(nvml_.initialisations, before + 1) << "the only way to find it when it returns";
  EXPECT_EQ(topology_->gpus[2].state, DeviceState::kLost);
  EXPECT_EQ(topology_->gpus[2].uuid, "GPU-c");
  nvml_.gpus[2].state = abi::NVML_SUCCESS;
  ASSERT_TRUE(Discover().ok());
  EXPECT_EQ(topology_->gpus[2].state, DeviceState::kRecovering);
  ASSERT_TRUE(Read().ok());
  EXPECT_TRUE(At(kPower, 2).present());
}

TEST_F(NvmlSourceTest, InitialisesAgainAfterTheDriverWasReloaded) {
  Start({kPower});
  nvml_.SetDown(true);
  EXPECT_TRUE(absl::IsUnavailable(Read()));
  EXPECT_TRUE(absl::IsUnavailable(Discover())) << "still down";
  nvml_.SetDown(false);
  ASSERT_TRUE(Discover().ok());
  ASSERT_TRUE(Read().ok());
  EXPECT_TRUE(At(kPower, 0).present());
}

TEST_F(NvmlSourceTest, InitialisesAgainWhenNoSampleIsFresh) {
  Start({kPower});
  nvml_.FailWith({{"nvmlDeviceGetPowerUsage", abi::NVML_ERROR_UNKNOWN}});
  EXPECT_TRUE(Read().ok());
  clock_.Advance(seconds(6));
  EXPECT_TRUE(absl::IsUnavailable(Read()));
  EXPECT_EQ(nvml_.initialised, 0);
}

TEST_F(NvmlSourceTest, LeavesOutGpusOfOtherContainers) {
  nvml_.gpus[0].state = abi::NVML_ERROR_NO_PERMISSION;
  Start({kPower});
  ASSERT_EQ(topology_->gpus.size(), 2U);
  EXPECT_EQ(topology_->gpus[0].uuid, "GPU-b");
  EXPECT_EQ(topology_->gpus[0].gpu_id, 1U);
}

TEST_F(NvmlSourceTest, ReportsThatPartsNeedDcgm) {
  Start({kPower, kFieldOfSwitches});
  EXPECT_NE(topology_->parts_absence, "");
}

TEST_F(NvmlSourceTest, ShutsTheLibraryDownInTheDestructor) {
  Start({kPower});
  ASSERT_TRUE(Read().ok());
  source_.reset();
  EXPECT_EQ(nvml_.initialised, 0);
}

TEST_F(NvmlSourceTest, PausesAndResumesProfiling) {
  Start({kPower, kActive});
  ASSERT_TRUE(Read().ok());
  clock_.Advance(seconds(1));
  ASSERT_TRUE(Read().ok());
  EXPECT_TRUE(At(kActive, 0).present());
  source_->SetProfiling(false);
  clock_.Advance(seconds(1));
  ASSERT_TRUE(Read().ok());
  EXPECT_EQ(At(kActive, 0).absence(), Absence::kPaused);
  EXPECT_TRUE(At(kPower, 0).present());
  EXPECT_GE(nvml_.CountOf("nvmlGpmSampleFree"), 6) << "two per GPU";
  source_->SetProfiling(true);
  for (int i = 0; i < 2; ++i) {
    clock_.Advance(seconds(1));
    ASSERT_TRUE(Read().ok());
  }
  EXPECT_TRUE(At(kActive, 0).present());
}

TEST_F(NvmlSourceTest, ReleasesTheDevicesAndOpensThemAgain) {
  Start({kPower});
  ASSERT_TRUE(Read().ok());
  source_->Release();
  EXPECT_EQ(nvml_.CountOf("nvmlShutdown"), 1);
  EXPECT_TRUE(LostConnection(Read()));
  ASSERT_TRUE(Discover().ok());
  ASSERT_TRUE(Read().ok());
  EXPECT_TRUE(At(kPower, 2).present());
  EXPECT_EQ(nvml_.CountOf("nvmlInit_v2"), 2);
}

TEST_F(NvmlSourceTest, GivesAPendingMigModeAsReleaseReason) {
  Start({kPower});
  EXPECT_EQ(source_->ReleaseReason(), "");
  nvml_.gpus[1].mig_pending = true;
  ASSERT_TRUE(Discover().ok());
  EXPECT_EQ(source_->ReleaseReason(), "GPU 1: a change of its MIG mode waits");
}

TEST_F(NvmlSourceTest, MakesNoCallAboutASuspendedDevice) {
  FakePciBus bus;
  sysfs_ = &bus;
  Start({kPower});
  ASSERT_TRUE(Read().ok());
  bus.asleep = {"0000:01:00.0"};
  const int before = nvml_.CountOf("nvmlDeviceGetPowerUsage");
  ASSERT_TRUE(Read().ok());
  EXPECT_EQ(nvml_.CountOf("nvmlDeviceGetPowerUsage"), before + 2);
  EXPECT_EQ(At(kPower, 1).absence(), Absence::kSuspended);
  EXPECT_TRUE(At(kPower, 2).present());

  const int identities = nvml_.CountOf("nvmlDeviceGetUUID");
  ASSERT_TRUE(Discover().ok());
  EXPECT_EQ(nvml_.CountOf("nvmlDeviceGetUUID"), identities + 2);
  ASSERT_EQ(topology_->gpus.size(), 3U) << "it is still there";
  EXPECT_EQ(topology_->gpus[1].uuid, "GPU-b");
  ASSERT_TRUE(Read().ok());
  EXPECT_EQ(At(kPower, 1).absence(), Absence::kSuspended);

  bus.asleep.clear();
  ASSERT_TRUE(Discover().ok());
  ASSERT_TRUE(Read().ok());
  EXPECT_TRUE(At(kPower, 1).present());
}

TEST_F(NvmlSourceTest, DoesNotWakeADeviceToIdentifyIt) {
  FakePciBus bus;
  bus.asleep = {"0000:02:00.0"};
  sysfs_ = &bus;
  Start({kPower});
  EXPECT_EQ(topology_->gpus.size(), 2U);
  EXPECT_EQ(topology_->parts_absence, "GPU 2 (suspended; a call would wake it)");
  EXPECT_EQ(nvml_.CountOf("nvmlDeviceGetHandleByIndex_v2"), 2);
  ASSERT_TRUE(Read().ok());
  ASSERT_TRUE(Discover().ok());
  EXPECT_EQ(nvml_.CountOf("nvmlDeviceGetHandleByIndex_v2"), 4) << "nor to scan again";
  bus.asleep.clear();
  ASSERT_TRUE(Discover().ok());
  EXPECT_EQ(topology_->gpus.size(), 3U);
  EXPECT_EQ(topology_->parts_absence, "");
}

TEST_F(NvmlSourceTest, RemembersASuspendedDeviceAfterARelease) {
  FakePciBus bus;
  sysfs_ = &bus;
  Start({kPower});
  ASSERT_TRUE(Read().ok());
  bus.asleep = {"0000:01:00.0"};
  source_->Release();
  const int identities = nvml_.CountOf("nvmlDeviceGetUUID");
  ASSERT_TRUE(Discover().ok());
  EXPECT_EQ(nvml_.CountOf("nvmlDeviceGetUUID"), identities + 2);
  ASSERT_EQ(topology_->gpus.size(), 3U);
  EXPECT_EQ(topology_->gpus[1].state, DeviceState::kOk) << "suspended, not lost";
  ASSERT_TRUE(Read().ok());
  EXPECT_EQ(At(kPower, 1).absence(), Absence::kSuspended);
  bus.asleep.clear();
  ASSERT_TRUE(Discover().ok());
  ASSERT_TRUE(Read().ok());
  EXPECT_TRUE(At(kPower, 1).present());
}

}  // namespace
}  // namespace podgpu
