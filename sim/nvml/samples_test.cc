// The driver's buffers of samples, and the topology of two GPUs.
#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "sim/testing/node.h"
#include "sim/testing/nvml_client.h"
#include "sim/world/run_directory.h"

namespace podgpu::sim {
namespace {

using namespace podgpu::abi;

constexpr unsigned long long kStartUs = 1'767'225'600'000'000;
constexpr char kSampled[] = R"(format: 1
name: sampled
seed: 3
epoch: 2026-01-01T00:00:00Z
noise_mw: 0
refresh_phase: 0ms
gpus:
  - {count: 2, class: h100-sxm5-80gb}
  - {class: h100-sxm5-80gb, mig: [{profile: 3g.40gb}]}
  - {class: v100-sxm2-32gb}
  - {class: l40s}
loads:
  blink: {phases: [{for: 500ms, sm: 60%, mem: 30%}, {for: 500ms}]}
pods:
  - {name: user, namespace: ml, containers: [{name: main, gpus: [0],
       processes: [{pid: 42, gpu: 0, load: blink, memory: 2GiB}]}]}
)";

class NvmlSamples : public testing::Test {
 protected:
  NvmlSamples() : node_(kSampled) {
    setenv("PODGPU_SIM_DIR", node_.path().c_str(), 1);
    EXPECT_EQ(nvml_.Call("nvmlInit_v2"), 0);
    EXPECT_TRUE(node_.writer().Tick(20 * kSecondUs).ok());
  }
  ~NvmlSamples() override {
    EXPECT_EQ(nvml_.Call("nvmlShutdown"), 0);
    unsetenv("PODGPU_SIM_DIR");
  }
  int Code(unsigned gpu, int type, unsigned long long since_us = 0) {
    unsigned count = 500;
    int value_type = -1;
    samples_.resize(500);
    const int result = nvml_.Call("nvmlDeviceGetSamples", nvml_.ByIndex(gpu), type, since_us,
                                  &value_type, &count, samples_.data());
    samples_.resize(result == 0 ? count : 0);
    EXPECT_TRUE(result != 0 || value_type == NVML_VALUE_TYPE_UNSIGNED_INT);
    return result;
  }

  TestNode node_;
  NvmlClient nvml_;
  std::vector<nvmlSample_t> samples_;
};

TEST_F(NvmlSamples, CoverTheLastSixteenSeconds) {
  ASSERT_EQ(Code(0, 1), 0);  // Utilisation of the GPU.
  ASSERT_EQ(samples_.size(), 96U);
  EXPECT_EQ(samples_.back().timeStamp, kStartUs + 20'000'000);
  EXPECT_EQ(samples_.front().timeStamp, kStartUs + 4'166'666);
  for (size_t i = 0; i < samples_.size(); ++i) {  // 60 % in three of six, then none.
    EXPECT_EQ(samples_[i].sampleValue.uiVal, i % 6 < 3 ? 60U : 0U) << i;
  }
  ASSERT_EQ(Code(0, 2), 0);
  EXPECT_EQ(samples_[0].sampleValue.uiVal, 30U);
}

TEST_F(NvmlSamples, OfPowerMissNoPeak) {
  ASSERT_EQ(Code(0, 0), 0);
  ASSERT_EQ(samples_.size(), 160U);
  const auto [least, most] = std::ranges::minmax(
      samples_, {}, [](const nvmlSample_t& sample) { return sample.sampleValue.uiVal; });
  EXPECT_EQ(least.sampleValue.uiVal, 70'000U) << "idle";
  EXPECT_EQ(most.sampleValue.uiVal, 388'000U) << "0.6 x 480 W and 0.3 x 100 W more";
  unsigned long long sum_mw = 0;
  for (const nvmlSample_t& sample : samples_) {
    sum_mw += sample.sampleValue.uiVal;
  }
  EXPECT_EQ(sum_mw / samples_.size(), 229'000U);
}

TEST_F(NvmlSamples, AreNewerThanTheStamp) {
  ASSERT_EQ(Code(0, 1, kStartUs + 19'500'000), 0);
  EXPECT_EQ(samples_.size(), 3U);
  EXPECT_EQ(Code(0, 1, kStartUs + 20'000'000), NVML_ERROR_NOT_FOUND);
  unsigned count = 0;
  int value_type = 0;
  nvmlSample_t* const none = nullptr;
  EXPECT_EQ(
      nvml_.Call("nvmlDeviceGetSamples", nvml_.ByIndex(0), 1, 0ULL, &value_type, &count, none), 0);
  EXPECT_EQ(count, 96U);
}

TEST_F(NvmlSamples, AreMissingForWhatTheBoardLacks) {
  EXPECT_EQ(Code(2, 1), NVML_ERROR_NOT_SUPPORTED) << "in MIG mode";
  EXPECT_EQ(Code(2, 0), 0) << "power needs no utilisation";
  EXPECT_EQ(Code(3, 8), NVML_ERROR_NOT_SUPPORTED) << "no JPEG engine";
  EXPECT_EQ(Code(0, 8), 0);
  EXPECT_EQ(Code(0, 7), NVML_ERROR_NOT_SUPPORTED) << "no module power";
  EXPECT_EQ(Code(0, 10), NVML_ERROR_INVALID_ARGUMENT);
  ASSERT_EQ(Code(0, 5), 0);
  EXPECT_EQ(samples_[0].sampleValue.uiVal, 1980U) << "MHz of a busy board";
}

TEST_F(NvmlSamples, APairOfGpusIsJoinedByLinksOrTheCpu) {
  const auto level = [&](unsigned first, unsigned second) {
    int value = -1;
    EXPECT_EQ(nvml_.Call("nvmlDeviceGetTopologyCommonAncestor", nvml_.ByIndex(first),
                         nvml_.ByIndex(second), &value),
              0);
    return value;
  };
  EXPECT_EQ(level(0, 0), 0);
  EXPECT_EQ(level(0, 1), 40);
  const auto peers = [&](unsigned first, unsigned second, int capability) {
    int value = -1;
    const int result = nvml_.Call("nvmlDeviceGetP2PStatus", nvml_.ByIndex(first),
                                  nvml_.ByIndex(second), capability, &value);
    return result == 0 ? value : -result;
  };
  constexpr int kNvlink = 2;
  constexpr int kBus = 4;
  EXPECT_EQ(peers(0, 1, kNvlink), 0);
  EXPECT_EQ(peers(0, 4, kNvlink), 5) << "an L40S has no links";
  EXPECT_EQ(peers(0, 4, kBus), 0);
  EXPECT_EQ(peers(0, 2, kNvlink), 5) << "in MIG mode";
  EXPECT_EQ(peers(0, 1, 5), -NVML_ERROR_INVALID_ARGUMENT);
}

TEST_F(NvmlSamples, AProcessHasAName) {
  char name[64] = {};
  EXPECT_EQ(nvml_.Call("nvmlSystemGetProcessName", 42U, &name[0], 64U), 0);
  EXPECT_STREQ(name, "/usr/bin/user");
  EXPECT_EQ(nvml_.Call("nvmlSystemGetProcessName", 42U, &name[0], 6U), 0);
  EXPECT_STREQ(name, "/usr/") << "cut";
  EXPECT_EQ(nvml_.Call("nvmlSystemGetProcessName", 43U, &name[0], 64U), NVML_ERROR_NOT_FOUND);
  EXPECT_EQ(nvml_.Call("nvmlSystemGetProcessName", 42U, &name[0], 0U), NVML_ERROR_INVALID_ARGUMENT);
}

}  // namespace
}  // namespace podgpu::sim
