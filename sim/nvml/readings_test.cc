// What the simulated NVML reports of boards of each generation, of GPUs in MIG mode and of their
// MIG devices, and which calls it refuses.
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "sim/testing/node.h"
#include "sim/testing/nvml_client.h"

namespace podgpu::sim {
namespace {

using namespace podgpu::abi;

constexpr char kGenerations[] = R"(format: 1
name: generations
seed: 3
gpus:
  - {class: v100-sxm2-32gb}
  - {class: t4}
  - {class: a100-sxm4-80gb}
  - {class: a10}
  - {class: l40s}
  - {class: h100-sxm5-80gb}
  - {class: b200}
  - {class: geforce-rtx-4090}
)";
constexpr unsigned kBoards = 8;

constexpr char kHalfMig[] = R"(format: 1
name: half
seed: 3
gpus:
  - {class: h100-sxm5-80gb, mig: [{profile: 3g.40gb}, {profile: 1g.10gb}]}
  - {class: h100-sxm5-80gb}
loads:
  talk: {phases: [{for: 1s, sm: 50%, mem: 20%, nvlink: 90GB/s, pcie_rx: 2GB/s}]}
pods:
  - {name: user, namespace: ml, start: 0s,
     containers: [{name: main, gpus: [1],
       processes: [{pid: 42, gpu: 1, load: talk, memory: 2GiB}]}]}
  - {name: other, namespace: ml, start: 0s, containers: [{name: main, devices: [gpu0/mig0],
       processes: [{pid: 43, device: gpu0/mig0, load: talk, memory: 20GiB}]}]}
)";

class NvmlReadings : public testing::Test {
 protected:
  void Start(const char* scenario) {
    node_.emplace(scenario);
    setenv("PODGPU_SIM_DIR", node_->path().c_str(), 1);
    ASSERT_EQ(nvml_.Call("nvmlInit_v2"), 0);
    ASSERT_TRUE(node_->writer().Tick(5 * kSecondUs).ok());
  }
  ~NvmlReadings() override {
    EXPECT_EQ(nvml_.Call("nvmlShutdown"), 0);
    unsetenv("PODGPU_SIM_DIR");
  }
  // The codes of a call that fills one number, by board.
  std::vector<int> CallCodes(const char* name) {
    std::vector<int> codes;
    for (unsigned board = 0; board < kBoards; ++board) {
      unsigned long long number = 0;
      codes.push_back(nvml_.Call(name, nvml_.ByIndex(board), &number));
    }
    return codes;
  }
  std::vector<int> FieldCodes(unsigned field, unsigned scope = 0) {
    std::vector<int> codes;
    for (unsigned board = 0; board < kBoards; ++board) {
      codes.push_back(nvml_.Field(nvml_.ByIndex(board), field, scope).nvmlReturn);
    }
    return codes;
  }

  std::optional<TestNode> node_;
  NvmlClient nvml_;
};

using Codes = std::vector<int>;

TEST_F(NvmlReadings, EachGenerationHasTheReadingsOfItsHardware) {
  Start(kGenerations);
  // V100, T4, A100, A10, L40S, H100, B200, GeForce.
  EXPECT_EQ(CallCodes("nvmlDeviceGetTotalEnergyConsumption"), Codes({0, 0, 0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(CallCodes("nvmlDeviceGetFanSpeed"), Codes({3, 3, 3, 3, 3, 3, 3, 0}));
  EXPECT_EQ(CallCodes("nvmlDeviceGetRetiredPagesPendingStatus"), Codes({0, 0, 3, 3, 3, 3, 3, 3}));
  EXPECT_EQ(FieldCodes(186), Codes({0, 0, 0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(FieldCodes(185), Codes({3, 3, 3, 0, 0, 0, 0, 0})) << "1 s average";
  EXPECT_EQ(FieldCodes(82), Codes({0, 3, 0, 3, 3, 0, 0, 3})) << "memory temperature";
  EXPECT_EQ(FieldCodes(143), Codes({3, 3, 0, 0, 0, 0, 0, 3})) << "row remapping";
  EXPECT_EQ(FieldCodes(30), Codes({0, 0, 3, 3, 3, 3, 3, 3})) << "retired pages";
  EXPECT_EQ(FieldCodes(1), Codes({0, 0, 0, 0, 0, 0, 0, 3})) << "ECC";
  EXPECT_EQ(FieldCodes(138, NVML_ALL_LINKS), Codes({0, 3, 0, 3, 3, 0, 0, 3})) << "NVLink";
  EXPECT_EQ(FieldCodes(202, NVML_ALL_LINKS), Codes({3, 3, 3, 3, 3, 3, 0, 3})) << "NVLink 5";
  EXPECT_EQ(FieldCodes(9999), Codes(kBoards, 3));
  for (unsigned board = 0; board < kBoards; ++board) {
    unsigned a = 0;
    unsigned b = 0;
    char text[96];
    const nvmlDevice_t device = nvml_.ByIndex(board);
    EXPECT_EQ(nvml_.Call("nvmlDeviceGetMigMode", device, &a, &b),
              board == 2 || board == 5 || board == 6 ? 0 : 3);
    EXPECT_EQ(nvml_.Call("nvmlDeviceGetJpgUtilization", device, &a, &b), board == 0 ? 3 : 0);
    EXPECT_EQ(nvml_.Call("nvmlDeviceGetOfaUtilization", device, &a, &b), board == 0 ? 3 : 0);
    EXPECT_EQ(nvml_.Call("nvmlDeviceGetSerial", device, &text[0], 96U), board == 7 ? 3 : 0);
  }
}

TEST_F(NvmlReadings, ReadsMemoryInBothLayouts) {
  Start(kHalfMig);
  nvmlMemory_v2_t v2{};
  v2.version = 2;  // Not a version word.
  EXPECT_EQ(nvml_.Call("nvmlDeviceGetMemoryInfo_v2", nvml_.ByIndex(1), &v2),
            NVML_ERROR_ARGUMENT_VERSION_MISMATCH);
  for (const nvmlDevice_t device :
       {nvml_.ByIndex(0), nvml_.ByIndex(1), nvml_.Mig(0, 0), nvml_.Mig(0, 1)}) {
    v2.version = nvmlMemory_v2;
    nvmlMemory_t v1{};
    ASSERT_EQ(nvml_.Call("nvmlDeviceGetMemoryInfo_v2", device, &v2), 0);
    ASSERT_EQ(nvml_.Call("nvmlDeviceGetMemoryInfo", device, &v1), 0);
    EXPECT_EQ(v2.total, v2.used + v2.free + v2.reserved);
    EXPECT_EQ(v1.total, v1.used + v1.free);
    EXPECT_EQ(v1.used, v2.used + v2.reserved);
    EXPECT_EQ(v1.total, v2.total);
  }
  for (const unsigned index : {0U, 1U}) {
    const nvmlDevice_t device = nvml_.Mig(0, index);
    ASSERT_EQ(nvml_.Call("nvmlDeviceGetMemoryInfo_v2", device, &v2), 0);
    const bool is_busy = nvml_.Text("nvmlDeviceGetName", device).ends_with("3g.40gb");
    EXPECT_EQ(v2.used, is_busy ? 20ULL << 30U : 0) << "each MIG device has its own memory";
  }
}

TEST_F(NvmlReadings, AGpuInMigModeHasNoUtilisationLinksOrRows) {
  Start(kHalfMig);
  for (const unsigned gpu : {0U, 1U}) {
    const int expected = gpu == 0 ? NVML_ERROR_NOT_SUPPORTED : NVML_SUCCESS;
    const nvmlDevice_t device = nvml_.ByIndex(gpu);
    nvmlUtilization_t rates{};
    unsigned a = 0;
    unsigned b = 0;
    unsigned c = 0;
    unsigned d = 0;
    EXPECT_EQ(nvml_.Call("nvmlDeviceGetUtilizationRates", device, &rates), expected);
    EXPECT_EQ(nvml_.Call("nvmlDeviceGetEncoderUtilization", device, &a, &b), expected);
    EXPECT_EQ(nvml_.Call("nvmlDeviceGetDecoderUtilization", device, &a, &b), expected);
    EXPECT_EQ(nvml_.Call("nvmlDeviceGetRemappedRows", device, &a, &b, &c, &d), expected);
    EXPECT_EQ(nvml_.Field(device, 138, NVML_ALL_LINKS).nvmlReturn, expected);
    EXPECT_EQ(nvml_.Call("nvmlDeviceGetPowerUsage", device, &a), NVML_SUCCESS);
  }
}

TEST_F(NvmlReadings, AMigDeviceHasMemoryButNoSensors) {
  Start(kHalfMig);
  const nvmlDevice_t mig = nvml_.Mig(0, 0);
  unsigned number = 0;
  EXPECT_EQ(nvml_.Call("nvmlDeviceGetPowerUsage", mig, &number), NVML_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(nvml_.Call("nvmlDeviceGetTemperature", mig, 0, &number), NVML_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(nvml_.Call("nvmlDeviceGetClockInfo", mig, 1, &number), NVML_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(nvml_.Field(mig, 186).nvmlReturn, NVML_ERROR_NOT_SUPPORTED);
}

TEST_F(NvmlReadings, TheTrafficOfAllLinksAddsUp) {
  Start(kHalfMig);
  const nvmlDevice_t device = nvml_.ByIndex(1);
  unsigned long long sum = 0;
  for (unsigned link = 0; link < 18; ++link) {
    sum += nvml_.Field(device, 138, link).value.ullVal;
  }
  const unsigned long long all = nvml_.Field(device, 138, NVML_ALL_LINKS).value.ullVal;
  EXPECT_GT(all, 0U);
  EXPECT_LE(sum, all);
  EXPECT_GE(sum + 18, all) << "each counter rounds down";
  EXPECT_EQ(nvml_.Field(device, 138, 18).nvmlReturn, NVML_ERROR_NOT_SUPPORTED);
  unsigned kb_per_s = 0;
  EXPECT_EQ(nvml_.Call("nvmlDeviceGetPcieThroughput", device, NVML_PCIE_UTIL_RX_BYTES, &kb_per_s),
            0);
  EXPECT_EQ(kb_per_s, 2'000'000U);
}

TEST_F(NvmlReadings, AListWithAFieldOfC2cLeavesOtherValuesUnanswered) {
  Start(kHalfMig);
  nvmlFieldValue_t list[3] = {};
  list[0].fieldId = 172;
  list[1].fieldId = 186;
  list[2].fieldId = 271;
  list[2].nvmlReturn = 12345;
  ASSERT_EQ(nvml_.Call("nvmlDeviceGetFieldValues", nvml_.ByIndex(1), 3, &list), 0);
  EXPECT_EQ(list[0].nvmlReturn, NVML_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(list[1].nvmlReturn, NVML_SUCCESS);
  EXPECT_EQ(list[2].nvmlReturn, 12345) << "as it was";
  EXPECT_EQ(nvml_.Field(nvml_.ByIndex(1), 271).nvmlReturn, NVML_SUCCESS);
}

TEST_F(NvmlReadings, RefusesInvalidArguments) {
  Start(kHalfMig);
  const nvmlDevice_t device = nvml_.ByIndex(1);
  unsigned number = 0;
  unsigned* const nowhere = nullptr;
  nvmlFieldValue_t value{};
  unsigned long long count = 0;
  nvmlTemperature_v1_t temperature{.version = 1, .sensorType = 0, .temperature = 0};
  struct Case {
    const char* what;
    int got, expected;
  };
  const Case cases[] = {
      {"null output pointer", nvml_.Call("nvmlDeviceGetPowerUsage", device, nowhere), 2},
      {"null second output pointer",
       nvml_.Call("nvmlDeviceGetEncoderUtilization", device, &number, nowhere), 2},
      {"sensor 1", nvml_.Call("nvmlDeviceGetTemperature", device, 1, &number), 2},
      {"clock 4", nvml_.Call("nvmlDeviceGetClockInfo", device, 4, &number), 2},
      {"clock -1", nvml_.Call("nvmlDeviceGetMaxClockInfo", device, -1, &number), 2},
      {"threshold 4", nvml_.Call("nvmlDeviceGetTemperatureThreshold", device, 4, &number), 3},
      {"threshold 8", nvml_.Call("nvmlDeviceGetTemperatureThreshold", device, 8, &number), 2},
      {"location 8", nvml_.Call("nvmlDeviceGetMemoryErrorCounter", device, 0, 0, 8, &count), 2},
      {"type 2", nvml_.Call("nvmlDeviceGetTotalEccErrors", device, 2, 0, &count), 2},
      {"link 18", nvml_.Call("nvmlDeviceGetNvLinkErrorCounter", device, 18U, 0, &count), 3},
      {"link 36", nvml_.Call("nvmlDeviceGetNvLinkErrorCounter", device, 36U, 0, &count), 2},
      {"version 1", nvml_.Call("nvmlDeviceGetTemperatureV", device, &temperature), 25},
      {"zero values", nvml_.Call("nvmlDeviceGetFieldValues", device, 0, &value), 2},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(c.got, c.expected) << c.what;
  }
}

}  // namespace
}  // namespace podgpu::sim
