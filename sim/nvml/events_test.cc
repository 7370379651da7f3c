// Event sets of the simulated NVML: each event is delivered once, in order; how a wait ends.
#include <future>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "abi/nvml_events.h"
#include "sim/testing/node.h"
#include "sim/testing/nvml_client.h"

namespace podgpu::sim {
namespace {

using namespace podgpu::abi;

constexpr unsigned kAMinuteMs = 60'000;

constexpr char kEventful[] = R"(format: 1
name: eventful
seed: 3
gpus:
  - {class: h100-sxm5-80gb}
  - {class: h100-sxm5-80gb, mig: [{profile: 3g.40gb}]}
  - {class: v100-sxm2-32gb, first_bus: "00000000:D1:00.0"}
faults:
  - {at: 5s, kind: xid, gpu: 0, number: 13}
  - {at: 20s, kind: xid, gpu: 0, number: 63}
  - {at: 20s, kind: ecc, gpu: 0, error: dbe}
  - {at: 25s, kind: mig_set, gpu: 1, layout: [1g.10gb]}
  - {at: 30s, kind: gpu_lost, gpu: 0, xid: 79, for: 10s}
  - {at: 50s, kind: ecc, gpu: 2, error: sbe, count: 3}
  - {at: 55s, kind: ecc, gpu: 2, error: dbe}
  - {at: 60s, kind: gpu_detached, gpu: 2, for: 5s}
)";

class NvmlEvents : public testing::Test {
 protected:
  NvmlEvents() : node_(kEventful) {
    setenv("PODGPU_SIM_DIR", node_.path().c_str(), 1);
    EXPECT_EQ(nvml_.Call("nvmlInit_v2"), 0);
    EXPECT_EQ(nvml_.Call("nvmlEventSetCreate", &set_), 0);
  }
  ~NvmlEvents() override {
    EXPECT_EQ(nvml_.Call("nvmlEventSetFree", set_), 0);
    EXPECT_EQ(nvml_.Call("nvmlShutdown"), 0);
    unsetenv("PODGPU_SIM_DIR");
  }
  void Tick(TimeUs step) { ASSERT_TRUE(node_.writer().Tick(step).ok()); }
  int Register(unsigned gpu, unsigned long long types) {
    return nvml_.Call("nvmlDeviceRegisterEvents", nvml_.ByIndex(gpu), types, set_);
  }
  unsigned long long Supported(unsigned gpu) {
    unsigned long long types = 0;
    EXPECT_EQ(nvml_.Call("nvmlDeviceGetSupportedEventTypes", nvml_.ByIndex(gpu), &types), 0);
    return types;
  }
  // The events that can be delivered now, each as "type:data".
  std::vector<std::string> Delivered() {
    std::vector<std::string> all;
    nvmlEventData_t data{};
    while (nvml_.Call("nvmlEventSetWait_v2", set_, &data, 0U) == NVML_SUCCESS) {
      all.push_back(std::to_string(data.eventType) + ":" + std::to_string(data.eventData));
    }
    return all;
  }

  TestNode node_;
  NvmlClient nvml_;
  nvmlEventSet_t set_ = nullptr;
};

using Events = std::vector<std::string>;

TEST_F(NvmlEvents, AWaitEndsWithAnEventOrATimeOut) {
  ASSERT_EQ(Register(0, nvmlEventTypeXidCriticalError), 0);
  nvmlEventData_t data{};
  EXPECT_EQ(nvml_.Call("nvmlEventSetWait_v2", set_, &data, 100U), NVML_ERROR_TIMEOUT);
  std::future<int> waiting = std::async(std::launch::async, [&] {
    return nvml_.Call("nvmlEventSetWait_v2", set_, &data, kAMinuteMs);
  });
  Tick(6 * kSecondUs);
  EXPECT_EQ(waiting.get(), 0);
  EXPECT_EQ(data.eventType, nvmlEventTypeXidCriticalError);
  EXPECT_EQ(data.eventData, 13U);
  EXPECT_EQ(data.device, nvml_.ByIndex(0));
  EXPECT_EQ(data.gpuInstanceId, 0xffffffffU);
  EXPECT_EQ(data.computeInstanceId, 0xffffffffU);
  EXPECT_EQ(nvml_.Call("nvmlEventSetWait_v2", set_, &data, 0U), NVML_ERROR_TIMEOUT) << "once";
}

TEST_F(NvmlEvents, DeliversOnlyRegisteredTypesAndOnlyEventsAfterRegistration) {
  Tick(5 * kSecondUs);
  ASSERT_EQ(Register(0, nvmlEventTypeXidCriticalError), 0);
  Tick(16 * kSecondUs);
  EXPECT_EQ(Delivered(), Events({"8:63"})) << "neither XID 13 nor the ECC error";
}

TEST_F(NvmlEvents, EachKindOfEventIsDeliveredOnceAndInOrder) {
  for (const unsigned gpu : {0U, 1U, 2U}) {
    ASSERT_EQ(Register(gpu, Supported(gpu)), 0);
  }
  Tick(70 * kSecondUs);
  EXPECT_EQ(Delivered(), Events({"8:13", "2:0", "8:63", "32768:1", "256:0", "8:79", "16384:0",
                                 "1:0", "2:0", "1024:0", "32768:1", "16384:0"}));
  EXPECT_EQ(Delivered(), Events());
}

TEST_F(NvmlEvents, ReportsALostGpuWhoseHandleNoLongerWorks) {
  ASSERT_EQ(Register(0, nvmlEventTypeXidCriticalError), 0);
  const nvmlDevice_t device = nvml_.ByIndex(0);
  Tick(35 * kSecondUs);
  EXPECT_EQ(Delivered(), Events({"8:13", "8:63", "8:79"}));
  EXPECT_EQ(nvml_.Call("nvmlDeviceRegisterEvents", device,
                       static_cast<unsigned long long>(nvmlEventTypeXidCriticalError), set_),
            NVML_ERROR_GPU_IS_LOST);
}

TEST_F(NvmlEvents, RefusesEventTypesThatTheBoardLacks) {
  EXPECT_EQ(Supported(0) & nvmlEventMigConfigChange, nvmlEventMigConfigChange);
  EXPECT_EQ(Supported(2) & nvmlEventMigConfigChange, 0U);
  EXPECT_EQ(Register(2, nvmlEventMigConfigChange), NVML_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(Register(0, nvmlEventTypePState), NVML_ERROR_NOT_SUPPORTED);
  nvmlEventSet_t freed = nullptr;
  ASSERT_EQ(nvml_.Call("nvmlEventSetCreate", &freed), 0);
  ASSERT_EQ(nvml_.Call("nvmlEventSetFree", freed), 0);
  EXPECT_EQ(nvml_.Call("nvmlEventSetFree", freed), NVML_ERROR_INVALID_ARGUMENT);
  nvmlEventData_t data{};
  EXPECT_EQ(nvml_.Call("nvmlEventSetWait_v2", freed, &data, 0U), NVML_ERROR_INVALID_ARGUMENT);
}

}  // namespace
}  // namespace podgpu::sim
