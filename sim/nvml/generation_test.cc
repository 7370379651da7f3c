// The library of an older driver: fewer names, fewer field values, the same world.
#include <fstream>
#include <string>

#include <gtest/gtest.h>

#include "sim/testing/node.h"
#include "sim/testing/nvml_client.h"

namespace podgpu::sim {
namespace {

using namespace podgpu::abi;

constexpr char kOldNode[] = R"(format: 1
name: old
seed: 3
driver: {version: 470.199.02, nvml: 11.470.199.02, cuda: 11040}
gpus: [{class: a100-sxm4-80gb}]
orphans: [{pid: 41, gpu: 0, load: {sm: 50%}, memory: 2GiB}]
)";

class NvmlOfR470 : public testing::Test {
 protected:
  NvmlOfR470() : node_(kOldNode) {
    setenv("PODGPU_SIM_DIR", node_.path().c_str(), 1);
    EXPECT_EQ(nvml_.Call("nvmlInit_v2"), 0);
    EXPECT_TRUE(node_.writer().Tick(5 * kSecondUs).ok());
  }
  ~NvmlOfR470() override {
    EXPECT_EQ(nvml_.Call("nvmlShutdown"), 0);
    unsetenv("PODGPU_SIM_DIR");
  }

  TestNode node_;
  NvmlClient nvml_{"r470/libnvidia-ml.so.1"};
};

TEST_F(NvmlOfR470, LacksTheFunctionsOfLaterDrivers) {
  std::ifstream list("sim/nvml/later_names.txt");
  int names = 0;
  for (std::string name; std::getline(list, name); ++names) {
    EXPECT_FALSE(nvml_.Has(name.c_str())) << name;
  }
  EXPECT_EQ(names, 161);
  for (const char* name : {"nvmlDeviceGetMemoryInfo", "nvmlDeviceGetComputeRunningProcesses_v2",
                           "nvmlDeviceGetCurrentClocksThrottleReasons",
                           "nvmlDeviceGetAccountingStats", "nvmlDeviceGetRemappedRows"}) {
    EXPECT_TRUE(nvml_.Has(name)) << name;
  }
}

TEST_F(NvmlOfR470, ReadsTheSameWorldAsTheNewerLibrary) {
  const nvmlDevice_t device = nvml_.ByIndex(0);
  nvmlProcessInfo_t entry{};
  unsigned count = 1;
  ASSERT_EQ(nvml_.Call("nvmlDeviceGetComputeRunningProcesses_v2", device, &count, &entry), 0);
  EXPECT_EQ(count, 1U);
  EXPECT_EQ(entry.pid, 41U);
  EXPECT_EQ(entry.usedGpuMemory, 2ULL << 30U);
  nvmlUtilization_t rates{};
  ASSERT_EQ(nvml_.Call("nvmlDeviceGetUtilizationRates", device, &rates), 0);
  EXPECT_EQ(rates.gpu, 50U);
  char version[80] = {};
  ASSERT_EQ(nvml_.Call("nvmlSystemGetDriverVersion", &version[0], 80U), 0);
  EXPECT_STREQ(version, "470.199.02");
}

TEST_F(NvmlOfR470, KnowsFewerFieldValues) {
  const nvmlDevice_t device = nvml_.ByIndex(0);
  EXPECT_EQ(nvml_.Field(device, 83).nvmlReturn, 0) << "energy";
  EXPECT_EQ(nvml_.Field(device, 143).nvmlReturn, 0) << "remapped rows";
  EXPECT_EQ(nvml_.Field(device, 173).nvmlReturn, NVML_ERROR_NOT_SUPPORTED)
      << "R470 has no field for PCIe errors";
  EXPECT_EQ(nvml_.Field(device, 186).nvmlReturn, NVML_ERROR_NOT_SUPPORTED)
      << "R470 has no field for instant power";
  EXPECT_EQ(nvml_.Field(device, 269).nvmlReturn, NVML_ERROR_NOT_SUPPORTED);
}

}  // namespace
}  // namespace podgpu::sim
