// What clients of the simulated NVML see during each kind of fault.
#include <cstring>
#include <fstream>
#include <future>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "abi/nvml_events.h"
#include "abi/nvml_gpm.h"
#include "sim/testing/node.h"
#include "sim/testing/nvml_client.h"

namespace podgpu::sim {
namespace {

using namespace podgpu::abi;

class NvmlFaults : public testing::Test {
 protected:
  // Three busy boards with `faults`; the world time is 1 s.
  void Start(const std::string& faults) {
    node_.emplace(R"(format: 1
name: faulty
seed: 3
epoch: 2026-01-01T00:00:00Z
gpus: [{count: 2, class: h100-sxm5-80gb}, {class: v100-sxm2-32gb}]
loads:
  busy: {phases: [{for: 1s, sm: 50%, mem: 20%}]}
pods:
  - {name: user, namespace: ml, start: 0s, containers: [{name: main, gpus: [0, 1],
       processes: [{pid: 42, gpu: 0, load: busy, memory: 2GiB},
                   {pid: 43, gpu: 1, load: busy, memory: 2GiB}]}]}
faults: [)" + faults +
                  "]\n");
    setenv("PODGPU_SIM_DIR", node_->path().c_str(), 1);
    Tick(kSecondUs);
  }
  void StartAndInit(const std::string& faults) {
    Start(faults);
    ASSERT_EQ(nvml_.Call("nvmlInit_v2"), 0);
  }
  ~NvmlFaults() override {
    while (nvml_.Call("nvmlShutdown") == NVML_SUCCESS) {
    }
    unsetenv("PODGPU_SIM_DIR");
  }
  void Tick(TimeUs step) { ASSERT_TRUE(node_->writer().Tick(step).ok()); }

  int Power(nvmlDevice_t device) {
    unsigned power_mw = 0;
    return nvml_.Call("nvmlDeviceGetPowerUsage", device, &power_mw);
  }
  int Utilization(nvmlDevice_t device) {
    nvmlUtilization_t rates{};
    return nvml_.Call("nvmlDeviceGetUtilizationRates", device, &rates);
  }
  unsigned long long Energy(nvmlDevice_t device) {
    unsigned long long energy_mj = 0;
    EXPECT_EQ(nvml_.Call("nvmlDeviceGetTotalEnergyConsumption", device, &energy_mj), 0);
    return energy_mj;
  }
  int ByIndexCode(unsigned index) {
    nvmlDevice_t device = nullptr;
    return nvml_.Call("nvmlDeviceGetHandleByIndex_v2", index, &device);
  }
  unsigned Count() {
    unsigned count = 0;
    EXPECT_EQ(nvml_.Call("nvmlDeviceGetCount_v2", &count), 0);
    return count;
  }

  std::optional<TestNode> node_;
  NvmlClient nvml_;
};

TEST_F(NvmlFaults, CallsOnALostGpuFailAndOtherGpusAnswer) {
  StartAndInit("{at: 2s, kind: gpu_lost, gpu: 0, for: 8s}");
  const nvmlDevice_t device = nvml_.ByIndex(0);
  const nvmlDevice_t other = nvml_.ByIndex(1);
  const std::string uuid = nvml_.Text("nvmlDeviceGetUUID", device);
  Tick(2 * kSecondUs);
  unsigned long long number[16] = {};
  char text[96] = {};
  nvmlFieldValue_t value{};
  nvmlDevice_t found = nullptr;
  nvmlGpmSample_t sample = nullptr;
  ASSERT_EQ(nvml_.Call("nvmlGpmSampleAlloc", &sample), 0);
  for (const char* name :
       {"nvmlDeviceGetIndex", "nvmlDeviceGetMinorNumber", "nvmlDeviceGetBrand",
        "nvmlDeviceGetPowerUsage", "nvmlDeviceGetTotalEnergyConsumption", "nvmlDeviceGetFanSpeed",
        "nvmlDeviceGetUtilizationRates", "nvmlDeviceGetMemoryInfo",
        "nvmlDeviceGetSupportedEventTypes", "nvmlDeviceGetPciInfo_v3"}) {
    EXPECT_EQ(nvml_.Call(name, device, &number[0]), NVML_ERROR_GPU_IS_LOST) << name;
  }
  for (const char* name : {"nvmlDeviceGetUUID", "nvmlDeviceGetName", "nvmlDeviceGetSerial"}) {
    EXPECT_EQ(nvml_.Call(name, device, &text[0], 96U), NVML_ERROR_GPU_IS_LOST) << name;
  }
  EXPECT_EQ(nvml_.Call("nvmlDeviceGetFieldValues", device, 1, &value), NVML_ERROR_GPU_IS_LOST);
  EXPECT_EQ(nvml_.Call("nvmlGpmSampleGet", device, sample), NVML_ERROR_GPU_IS_LOST);
  EXPECT_EQ(nvml_.Call("nvmlDeviceGetHandleByUUID", uuid.c_str(), &found), NVML_ERROR_GPU_IS_LOST);
  EXPECT_EQ(ByIndexCode(0), NVML_ERROR_GPU_IS_LOST);
  EXPECT_EQ(Count(), 3U);
  EXPECT_EQ(Power(other), 0);
  EXPECT_EQ(ByIndexCode(1), 0);
  Tick(10 * kSecondUs);
  EXPECT_EQ(Power(device), 0) << "the GPU is back";
  EXPECT_EQ(nvml_.Call("nvmlGpmSampleFree", sample), 0);
}

// The code of every call that takes a device, by name; all later arguments are zero.  More
// arguments than a call takes do no harm on the machines that run this.
std::map<std::string, int> CodesOfEveryCall(const NvmlClient& nvml, nvmlDevice_t device) {
  std::map<std::string, int> codes;
  std::ifstream list("sim/nvml/names.txt");
  void* const none = nullptr;
  for (std::string name; std::getline(list, name);) {
    const bool finds_one =
        name.starts_with("nvmlDeviceGetHandle") || name.starts_with("nvmlDeviceGetCount");
    if (name.starts_with("nvmlDevice") && !finds_one) {
      codes[name] = nvml.Call(name.c_str(), device, none, none, none, none, none);
    }
  }
  return codes;
}

TEST_F(NvmlFaults, EverySimulatedCallReportsALostGpu) {
  StartAndInit("{at: 2s, kind: gpu_lost, gpu: 0}");
  const nvmlDevice_t device = nvml_.ByIndex(0);
  Tick(2 * kSecondUs);
  int know = 0;
  for (const auto& [name, code] : CodesOfEveryCall(nvml_, device)) {
    EXPECT_TRUE(code == NVML_ERROR_GPU_IS_LOST || code == NVML_ERROR_NOT_SUPPORTED)
        << name << " answers " << code;
    know += code == NVML_ERROR_GPU_IS_LOST ? 1 : 0;
  }
  EXPECT_GT(know, 75) << "the other calls are not simulated";
}

TEST_F(NvmlFaults, NoCallWritesThroughANullPointer) {
  StartAndInit("");
  std::set<std::string> content;
  for (const auto& [name, code] : CodesOfEveryCall(nvml_, nvml_.ByIndex(0))) {
    if (code == NVML_SUCCESS) {
      content.insert(name);
    }
  }
  EXPECT_EQ(content, std::set<std::string>({"nvmlDeviceSetAccountingMode"}))
      << "accounting is off already";
}

TEST_F(NvmlFaults, AnUnknownUuidIsNotFound) {
  StartAndInit("");
  nvmlDevice_t found = nullptr;
  EXPECT_EQ(
      nvml_.Call("nvmlDeviceGetHandleByUUID", "GPU-00000000-0000-0000-0000-000000000000", &found),
      NVML_ERROR_NOT_FOUND);
}

TEST_F(NvmlFaults, ADetachedGpuAnswersAsALostOne) {
  StartAndInit(
      "{at: 2s, kind: gpu_detached, gpu: 0, for: 1s}, {at: 5s, kind: bind_unbind, for: 1s}");
  const nvmlDevice_t device = nvml_.ByIndex(0);
  const nvmlDevice_t other = nvml_.ByIndex(1);
  Tick(kSecondUs);
  EXPECT_EQ(Power(device), NVML_ERROR_GPU_IS_LOST);
  EXPECT_EQ(Power(other), 0);
  Tick(kSecondUs);
  EXPECT_EQ(Power(device), 0);
  Tick(2 * kSecondUs);
  EXPECT_EQ(Power(device), NVML_ERROR_GPU_IS_LOST);
  EXPECT_EQ(Power(other), NVML_ERROR_GPU_IS_LOST);
}

TEST_F(NvmlFaults, AnAbsentGpuShiftsIndicesUntilTheNextInitialisation) {
  Start("{at: 0s, kind: gpu_absent, gpu: 0, for: 5s}");
  ASSERT_EQ(nvml_.Call("nvmlInit_v2"), 0);
  EXPECT_EQ(Count(), 2U);
  EXPECT_EQ(nvml_.Number("nvmlDeviceGetMinorNumber", nvml_.ByIndex(0)), 1U);
  EXPECT_EQ(nvml_.Number("nvmlDeviceGetIndex", nvml_.ByIndex(1)), 1U);
  EXPECT_EQ(ByIndexCode(2), NVML_ERROR_INVALID_ARGUMENT);
  Tick(10 * kSecondUs);
  EXPECT_EQ(Count(), 2U) << "found when the library is initialised again";
  ASSERT_EQ(nvml_.Call("nvmlShutdown"), 0);
  ASSERT_EQ(nvml_.Call("nvmlInit_v2"), 0);
  EXPECT_EQ(Count(), 3U);
}

TEST_F(NvmlFaults, ADriverReloadMakesHandlesStaleAndResetsCounters) {
  StartAndInit("{at: 10s, kind: driver_reload, for: 5s}");
  const nvmlDevice_t device = nvml_.ByIndex(0);
  const unsigned long long before_mj = Energy(device);
  Tick(11 * kSecondUs);
  unsigned count = 0;
  EXPECT_EQ(Power(device), NVML_ERROR_UNINITIALIZED);
  EXPECT_EQ(nvml_.Call("nvmlDeviceGetCount_v2", &count), NVML_ERROR_UNINITIALIZED);
  EXPECT_EQ(nvml_.Call("nvmlInit_v2"), NVML_ERROR_DRIVER_NOT_LOADED);
  Tick(4 * kSecondUs);
  EXPECT_EQ(Power(device), NVML_ERROR_INVALID_ARGUMENT) << "the handle is stale";
  const nvmlDevice_t again = nvml_.ByIndex(0);
  EXPECT_EQ(Power(again), 0);
  EXPECT_LT(Energy(again), before_mj);
  EXPECT_LT(Energy(again), 1'000'000U);
}

TEST_F(NvmlFaults, AnUnusableDriverReportsTheReasonAtInitialisation) {
  Start("{at: 0s, kind: driver_mismatch, for: 5s}, {at: 6s, kind: no_nvml, for: 5s}");
  EXPECT_EQ(nvml_.Call("nvmlInit_v2"), NVML_ERROR_LIB_RM_VERSION_MISMATCH);
  Tick(6 * kSecondUs);
  EXPECT_EQ(nvml_.Call("nvmlInit_v2"), NVML_ERROR_LIBRARY_NOT_FOUND);
  Tick(5 * kSecondUs);
  EXPECT_EQ(nvml_.Call("nvmlInit_v2"), NVML_SUCCESS);
}

// A hung call answers with the values of the time when the fault ends.
TEST_F(NvmlFaults, ACallHangsOnOneGpuUntilTheFaultEnds) {
  StartAndInit("{at: 5s, kind: hang, gpu: 0, calls: \"nvmlDeviceGetTotal*\", for: 20s}");
  const nvmlDevice_t device = nvml_.ByIndex(0);
  const nvmlDevice_t other = nvml_.ByIndex(1);
  Tick(5 * kSecondUs);
  std::future<unsigned long long> hung =
      std::async(std::launch::async, [&] { return Energy(device); });
  EXPECT_EQ(Power(device), 0) << "other calls are not affected";
  EXPECT_GT(Energy(other), 0U);
  Tick(50 * kSecondUs);
  EXPECT_EQ(hung.get(), Energy(device));
}

TEST_F(NvmlFaults, AHungDriverBlocksEveryCallOnTheGpu) {
  StartAndInit("{at: 5s, kind: hang, gpu: 0, for: 20s}");
  const nvmlDevice_t device = nvml_.ByIndex(0);
  Tick(5 * kSecondUs);
  std::vector<std::future<unsigned long long>> hung;
  hung.push_back(std::async(std::launch::async, [&] { return Energy(device); }));
  hung.push_back(std::async(std::launch::async, [&] {
    const nvmlDevice_t again = nvml_.ByIndex(0);
    return Energy(again);
  }));
  hung.push_back(
      std::async(std::launch::async, [&] { return nvml_.Field(device, 83).value.ullVal; }));
  EXPECT_EQ(Power(nvml_.ByIndex(1)), 0);
  EXPECT_EQ(Count(), 3U);
  Tick(50 * kSecondUs);
  for (std::future<unsigned long long>& one : hung) {
    EXPECT_EQ(one.get(), Energy(device));
  }
}

TEST_F(NvmlFaults, CallsReturnTheCodeOfTheFault) {
  StartAndInit(
      "{at: 2s, kind: error, calls: nvmlDeviceGetPowerUsage, code: 999, gpu: 0, for: 5s},"
      "{at: 2s, kind: no_permission, calls: \"nvmlDeviceGetUtil*\", for: 5s},"
      "{at: 2s, kind: slow, calls: nvmlDeviceGetName, ms: 1, for: 5s},"
      "{at: 2s, kind: error, calls: \"*GetCount*\", code: 17, for: 5s}");
  Tick(kSecondUs);
  unsigned count = 0;
  EXPECT_EQ(Power(nvml_.ByIndex(0)), NVML_ERROR_UNKNOWN);
  EXPECT_EQ(Power(nvml_.ByIndex(1)), NVML_SUCCESS);
  EXPECT_EQ(Utilization(nvml_.ByIndex(1)), NVML_ERROR_NO_PERMISSION);
  EXPECT_EQ(nvml_.Text("nvmlDeviceGetName", nvml_.ByIndex(0)), "NVIDIA H100 80GB HBM3");
  EXPECT_EQ(nvml_.Call("nvmlDeviceGetCount_v2", &count), NVML_ERROR_OPERATING_SYSTEM);
  Tick(5 * kSecondUs);
  EXPECT_EQ(Power(nvml_.ByIndex(0)), NVML_SUCCESS);
  EXPECT_EQ(Utilization(nvml_.ByIndex(1)), NVML_SUCCESS);
}

TEST_F(NvmlFaults, MissingValuesReturnTheCodeOfTheFaultsReason) {
  StartAndInit(
      "{at: 2s, kind: blank, fields: [150], reason: not_supported, gpu: 0, for: 5s},"
      "{at: 2s, kind: blank, fields: [140], reason: not_permitted, gpu: 0, for: 5s},"
      "{at: 2s, kind: blank, fields: [156], reason: not_found, gpu: 0, for: 5s},"
      "{at: 2s, kind: blank, fields: [157], reason: no_value, gpu: 0, for: 5s},"
      "{at: 2s, kind: nodata, fields: [202], gpu: 0, for: 5s},"
      "{at: 2s, kind: no_permission, fields: [393], gpu: 0, for: 5s},"
      "{at: 2s, kind: error, target: value, fields: [310], code: 999, gpu: 0, for: 5s},"
      "{at: 2s, kind: error, target: value, fields: [311], code: -3, gpu: 0, for: 5s}");
  Tick(kSecondUs);
  const std::vector<std::pair<unsigned, int>> expected = {
      {82, NVML_ERROR_NO_PERMISSION},  {83, NVML_ERROR_NOT_FOUND},
      {186, NVML_ERROR_UNKNOWN},       {94, NVML_ERROR_NO_DATA},
      {143, NVML_ERROR_NO_PERMISSION}, {3, NVML_ERROR_UNKNOWN},
      {4, NVML_ERROR_UNKNOWN},         {5, NVML_SUCCESS}};
  for (const auto& [field, code] : expected) {
    EXPECT_EQ(nvml_.Field(nvml_.ByIndex(0), field).nvmlReturn, code) << field;
    EXPECT_EQ(nvml_.Field(nvml_.ByIndex(1), field).nvmlReturn, NVML_SUCCESS) << field;
  }
  unsigned number = 0;
  unsigned long long energy_mj = 0;
  const nvmlDevice_t device = nvml_.ByIndex(0);
  EXPECT_EQ(nvml_.Call("nvmlDeviceGetTemperature", device, 0, &number), NVML_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(nvml_.Call("nvmlDeviceGetTotalEnergyConsumption", device, &energy_mj),
            NVML_ERROR_NOT_FOUND);
  EXPECT_EQ(nvml_.Call("nvmlDeviceGetRemappedRows", device, &number, &number, &number, &number),
            NVML_ERROR_NO_PERMISSION)
      << "only one of the four values fails";
  EXPECT_EQ(Power(device), NVML_SUCCESS);
}

TEST_F(NvmlFaults, GarbageIsTheLargestNumberAndTextWithoutAnEnd) {
  StartAndInit(
      "{at: 2s, kind: garbage, fields: [150, 252, 157], gpu: 0, for: 5s},"
      "{at: 2s, kind: garbage, calls: [nvmlDeviceGetName], gpu: 1, for: 5s}");
  Tick(kSecondUs);
  unsigned celsius = 0;
  EXPECT_EQ(nvml_.Call("nvmlDeviceGetTemperature", nvml_.ByIndex(0), 0, &celsius), 0);
  EXPECT_EQ(celsius, 0xffffffffU);
  EXPECT_EQ(nvml_.Field(nvml_.ByIndex(0), 186).value.uiVal, 0xffffffffU);
  nvmlMemory_v2_t memory{};
  memory.version = nvmlMemory_v2;
  EXPECT_EQ(nvml_.Call("nvmlDeviceGetMemoryInfo_v2", nvml_.ByIndex(0), &memory), 0);
  EXPECT_EQ(memory.version, nvmlMemory_v2) << "the version stays as the caller wrote it";
  EXPECT_EQ(memory.used, ~0ULL);
  EXPECT_EQ(Power(nvml_.ByIndex(0)), 0);
  char name[96] = {};
  EXPECT_EQ(nvml_.Call("nvmlDeviceGetName", nvml_.ByIndex(1), &name[0], 96U), 0);
  EXPECT_EQ(std::memchr(name, '\0', sizeof name), nullptr);
}

TEST_F(NvmlFaults, DoubleBitErrorsRetirePagesOrRemapRows) {
  StartAndInit(
      "{at: 2s, kind: ecc, gpu: 0, error: dbe, count: 2, location: sram},"
      "{at: 2s, kind: ecc, gpu: 2, error: dbe, count: 3}, {at: 3s, kind: ecc, gpu: 2, error: sbe}");
  Tick(3 * kSecondUs);
  unsigned rows[4] = {};
  ASSERT_EQ(nvml_.Call("nvmlDeviceGetRemappedRows", nvml_.ByIndex(0), &rows[0], &rows[1], &rows[2],
                       &rows[3]),
            0);
  EXPECT_EQ(rows[1], 2U);
  EXPECT_EQ(rows[2], 1U) << "pending";
  nvmlRowRemapperHistogramValues_t banks{};
  ASSERT_EQ(nvml_.Call("nvmlDeviceGetRowRemapperHistogram", nvml_.ByIndex(0), &banks), 0);
  EXPECT_EQ(banks.high, 2U);
  EXPECT_EQ(nvml_.Field(nvml_.ByIndex(0), 230).value.uiVal, 1U) << "the driver asks for a reset";
  unsigned long long count = 9;
  ASSERT_EQ(nvml_.Call("nvmlDeviceGetMemoryErrorCounter", nvml_.ByIndex(0), 1, 0,
                       static_cast<int>(NVML_MEMORY_LOCATION_SRAM), &count),
            0);
  EXPECT_EQ(count, 2U);

  const nvmlDevice_t volta = nvml_.ByIndex(2);
  unsigned pages = 0;
  unsigned long long* const none = nullptr;
  EXPECT_EQ(nvml_.Call("nvmlDeviceGetRetiredPages", volta, 1, &pages, none),
            NVML_ERROR_INSUFFICIENT_SIZE);
  EXPECT_EQ(pages, 3U);
  unsigned long long addresses[3] = {};
  EXPECT_EQ(nvml_.Call("nvmlDeviceGetRetiredPages", volta, 1, &pages, &addresses[0]), 0);
  EXPECT_LT(addresses[1], addresses[2]);
  EXPECT_EQ(nvml_.Call("nvmlDeviceGetRetiredPages", volta, 0, &pages, none), 0) << "none";
  EXPECT_EQ(pages, 0U);
}

TEST_F(NvmlFaults, ErrorsOfALinkAreCounted) {
  StartAndInit(
      "{at: 2s, kind: nvlink, gpu: 0, link: 3, down: true, crc: 7, for: 5s},"
      "{at: 2s, kind: clock_jump, s: 3600, for: 5s}");
  const nvmlDevice_t device = nvml_.ByIndex(0);
  Tick(kSecondUs);
  unsigned long long count = 0;
  const int flits = NVML_NVLINK_ERROR_DL_CRC_FLIT;
  ASSERT_EQ(nvml_.Call("nvmlDeviceGetNvLinkErrorCounter", device, 3U, flits, &count), 0);
  EXPECT_EQ(count, 7U);
  ASSERT_EQ(nvml_.Call("nvmlDeviceGetNvLinkErrorCounter", device, 4U, flits, &count), 0);
  EXPECT_EQ(count, 0U);
  EXPECT_EQ(nvml_.Field(device, 38).value.ullVal, 7U);
  EXPECT_EQ(nvml_.Field(device, 38).timestamp, 1'767'225'602'000'000LL + 3600 * kSecondUs);
}

}  // namespace
}  // namespace podgpu::sim
