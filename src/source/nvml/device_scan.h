// A look at what NVML has: initialisation, devices, their identity and MIG instances; which devices
// sleep and are left out of it; and the shutdown that undoes the initialisation.
//
// A task (task.h): a device whose calls hang is left out of the next look.  Every look asks
// each device who it is; one that cannot say is taken for the one that was at its index.  One
// object a look; its findings belong to who ran it, once the lane has said that it returned.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "abi/load.h"
#include "base/files.h"
#include "source/nvml/device.h"
#include "source/nvml/gpm.h"
#include "source/nvml/task.h"
#include "topology/topology.h"

namespace podgpu {

// One device as a look found it.
struct NvmlScannedDevice {
  NvmlAddress address;
  Gpu gpu;                                     // `state` is kOk, kLost or kDegraded.
  std::vector<GpuInstance> instances;          // In DCGM's order; `gpu` of each is not set.
  bool has_gpm = false;                        // Profiling; see gpm.h.
  bool may_sleep = false;                      // The kernel may suspend it; set by the source.
  std::string needs_release;                   // Source::ReleaseReason.
  abi::nvmlReturn_t code = abi::NVML_SUCCESS;  // Why it does not say who it is, or what it holds.
};

// Source::ReleaseReason of what was found: the first device that needs it, and why; or empty.
std::string ReleaseReason(const abi::NvmlTable& api, const std::vector<NvmlScannedDevice>& devices);

// Devices that sleep, by their place on the bus, which is NVML's index where it has as many.
struct NvmlUnknownSleepers {
  size_t on_bus = 0;
  std::vector<uint32_t> asleep;
};

class NvmlDeviceScan final : public NvmlTask {
 public:
  // `known`: what the last look found, of the same initialisation; `left_out`: indices of devices
  // that hang or sleep.
  NvmlDeviceScan(std::shared_ptr<const abi::NvmlLibrary> library, bool is_initialised,
                 std::vector<NvmlScannedDevice> known, std::vector<uint32_t> left_out,
                 NvmlUnknownSleepers unknown_sleepers);

  void Run() override;

  // What was found.
  abi::nvmlReturn_t code = abi::NVML_SUCCESS;  // Of initialising, or of listing.
  const char* failed = "";                     // Which call gave it.
  bool is_initialised = false;
  std::string driver_version;
  std::vector<NvmlScannedDevice> found;  // Ascending by index; without those left out.
  std::vector<uint32_t> asleep;          // Indices of unknown_sleepers that were left out.

 private:
  abi::nvmlReturn_t List();
  NvmlScannedDevice ScanDevice(uint32_t index) const;
  abi::nvmlReturn_t Identify(NvmlScannedDevice& device) const;
  void Describe(abi::nvmlDevice_t handle, Gpu& gpu) const;
  abi::nvmlReturn_t FindInstances(NvmlScannedDevice& device) const;
  abi::nvmlReturn_t AddMigDevice(abi::nvmlDevice_t handle, NvmlScannedDevice& device) const;

  const std::shared_ptr<const abi::NvmlLibrary> library_;
  const std::vector<NvmlScannedDevice> known_;
  std::vector<uint32_t> left_out_;
  const NvmlUnknownSleepers unknown_sleepers_;
};

// The devices that the kernel has suspended, which are not asked about: a call would wake them.
//
// Asked of sysfs (pci_bus.h) before each look and each reading, for those devices alone that the
// kernel may suspend.  Without a sysfs no device sleeps.  Stateless; any thread.
class NvmlSleep {
 public:
  // Borrows `sysfs`, which may be null.
  explicit NvmlSleep(const Files* sysfs) : sysfs_(sysfs) {}

  // Sets `may_sleep` of each.
  void Note(std::vector<NvmlScannedDevice>& devices) const;
  bool IsAsleep(const NvmlScannedDevice& device) const;
  // Those that sleep now.
  std::vector<NvmlScannedDevice> Sleepers(const std::vector<NvmlScannedDevice>& devices) const;
  // Those that sleep on the bus and are not among `known`.
  NvmlUnknownSleepers UnknownSleepers(const std::vector<NvmlScannedDevice>& known) const;

 private:
  const Files* const sysfs_;
};

// The last task for NVML: frees the samples that lie unused, then shuts NVML down.
//
// Each run undoes one nvmlInit_v2.  NVML releases the devices when every initialisation in this
// process is undone.
class NvmlShutdown final : public NvmlTask {
 public:
  NvmlShutdown(std::shared_ptr<const abi::NvmlLibrary> library,
               std::shared_ptr<NvmlSamples> samples)
      : library_(std::move(library)), samples_(std::move(samples)) {}
  void Run() override {
    samples_->Free(library_->api);
    library_->api.nvmlShutdown();
  }

 private:
  const std::shared_ptr<const abi::NvmlLibrary> library_;
  const std::shared_ptr<NvmlSamples> samples_;
};

}  // namespace podgpu
