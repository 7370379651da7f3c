// A look at what NVML has: initialisation, devices, their identity and MIG instances.
//
// A task (task.h): a device whose calls hang is left out of the next look.  Every look asks
// each device who it is; one that cannot say is taken for the one that was at its index.  One
// object a look; its findings belong to who ran it, once the lane has said that it returned.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "abi/load.h"
#include "source/nvml/device.h"
#include "source/nvml/task.h"
#include "topology/topology.h"

namespace podgpu {

// One device as a look found it.
struct NvmlFound {
  NvmlAddress address;
  Gpu gpu;                                     // `state` is kOk, kLost or kDegraded.
  std::vector<GpuInstance> instances;          // In DCGM's order; `gpu` of each is not set.
  bool has_gpm = false;                        // Profiling; see gpm.h.
  bool may_sleep = false;                      // The kernel may suspend it; set by the source.
  std::string needs_release;                   // Source::NeedToLetGo.
  abi::nvmlReturn_t code = abi::NVML_SUCCESS;  // Why it does not say who it is, or what it holds.
};

// Source::NeedToLetGo of what was found: the first device that needs it, and why; or empty.
std::string NeedToLetGo(const abi::NvmlTable& api, const std::vector<NvmlFound>& devices);

// Devices that sleep, by their place on the bus, which is NVML's index where it has as many.
struct NvmlStrangers {
  size_t on_bus = 0;
  std::vector<uint32_t> asleep;
};

class NvmlLook final : public NvmlTask {
 public:
  // `known`: what the last look found, of the same initialisation; `left_out`: indices of devices
  // that hang or sleep.
  NvmlLook(std::shared_ptr<const abi::NvmlLibrary> library, bool is_initialised,
           std::vector<NvmlFound> known, std::vector<uint32_t> left_out, NvmlStrangers strangers);

  void Run() override;

  // What was found.
  abi::nvmlReturn_t code = abi::NVML_SUCCESS;  // Of initialising, or of listing.
  const char* failed = "";                     // Which call gave it.
  bool is_initialised = false;
  std::string driver_version;
  std::vector<NvmlFound> found;  // Ascending by index; without those left out.
  std::vector<uint32_t> asleep;  // Indices of strangers that were left out.

 private:
  abi::nvmlReturn_t List();
  NvmlFound LookAt(uint32_t index) const;
  abi::nvmlReturn_t Identify(NvmlFound& device) const;
  void Describe(abi::nvmlDevice_t handle, Gpu& gpu) const;
  abi::nvmlReturn_t FindInstances(NvmlFound& device) const;
  abi::nvmlReturn_t AddMigDevice(abi::nvmlDevice_t handle, NvmlFound& device) const;

  const std::shared_ptr<const abi::NvmlLibrary> library_;
  const std::vector<NvmlFound> known_;
  std::vector<uint32_t> left_out_;
  const NvmlStrangers strangers_;
};

}  // namespace podgpu
