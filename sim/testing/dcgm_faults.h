// A fixture for tests of faults: a node of eight GPUs with faults added to its scenario.
//
// The parameter of the test is the generation of the library.  For tests of the DCGM face only; one
// thread unless a test says so.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "abi/dcgm_devices.h"
#include "sim/testing/dcgm_client.h"
#include "sim/testing/dcgm_scenarios.h"

namespace podgpu::sim {

class DcgmFaults : public testing::TestWithParam<int> {
 protected:
  // The node of eight GPUs with these entries of `faults:`, each a map.
  static std::unique_ptr<DcgmBench> Node(const std::string& faults,
                                         const char* scenario = kEightGpus) {
    return std::make_unique<DcgmBench>(GetParam(),
                                       std::string(scenario) + "faults: [" + faults + "]\n");
  }
  static std::unique_ptr<DcgmBench> Start(const std::string& faults,
                                          const char* scenario = kEightGpus) {
    auto bench = Node(faults, scenario);
    bench->Start();
    return bench;
  }
  // Watches the fields of all GPUs every second, from now on.
  static void WatchAll(const DcgmBench& bench, const std::vector<unsigned short>& fields) {
    EXPECT_EQ(bench.Watch(bench.MakeGroup(abi::DCGM_GROUP_DEFAULT), bench.MakeFieldGroup(fields)),
              0);
  }
  static int StatusOf(const DcgmBench& bench, unsigned int gpu) {
    int status = 77;
    EXPECT_EQ(bench.On("dcgmGetGpuStatus", gpu, &status), 0);
    return status;
  }
  static int Count(const DcgmBench& bench, const char* call) {
    std::array<unsigned int, 32> ids{};
    int count = -1;
    EXPECT_EQ(bench.On(call, ids.data(), &count), 0);
    return count;
  }
  static std::unique_ptr<abi::dcgmDeviceAttributes_v3> Attributes(const DcgmBench& bench,
                                                                  unsigned int gpu) {
    auto attributes = std::make_unique<abi::dcgmDeviceAttributes_v3>();
    attributes->version = abi::dcgmDeviceAttributes_version3;
    EXPECT_EQ(bench.On("dcgmGetDeviceAttributes", gpu, attributes.get()), 0);
    return attributes;
  }
};

}  // namespace podgpu::sim
