// Scans NVML's devices: initialises the library, lists the devices with their identity and MIG
// instances, leaves suspended devices out, and at the end shuts the library down.
//
// Each scan is one task (task.h), made for one run; its results may be read when the call thread
// has returned.  A device whose calls hang is left out of the next scan.  Every scan asks each
// device for its UUID; a device that does not answer is assumed to be the one that had its index
// before.
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

// One device as a scan found it.
struct NvmlScannedDevice {
  NvmlAddress address;
  Gpu gpu;                                     // `state` is kOk, kLost or kDegraded.
  std::vector<GpuInstance> instances;          // In DCGM's order; their `gpu` is not set.
  bool has_gpm = false;                        // Supports profiling (gpm.h).
  bool may_sleep = false;                      // The kernel may suspend it; set by the source.
  std::string needs_release;                   // The reason for Source::ReleaseReason.
  abi::nvmlReturn_t code = abi::NVML_SUCCESS;  // Result of Identify or FindInstances.
};

// Returns the Source::ReleaseReason of the first device that has one; else empty.
std::string ReleaseReason(const abi::NvmlTable& api, const std::vector<NvmlScannedDevice>& devices);

// Suspended devices that no scan has identified, as indices on the PCI bus.  They are NVML's
// indices when NVML counts as many devices as the bus.
struct NvmlUnknownSleepers {
  size_t on_bus = 0;
  std::vector<uint32_t> asleep;
};

class NvmlDeviceScan final : public NvmlTask {
 public:
  // `known`: the result of the last scan of the same initialisation.  `left_out`: indices of
  // devices that hang or are suspended.
  NvmlDeviceScan(std::shared_ptr<const abi::NvmlLibrary> library, bool is_initialised,
                 std::vector<NvmlScannedDevice> known, std::vector<uint32_t> left_out,
                 NvmlUnknownSleepers unknown_sleepers);

  void Run() override;

  // The results of the scan.
  abi::nvmlReturn_t code = abi::NVML_SUCCESS;  // Result of initialisation, or of listing.
  const char* failed = "";                     // The call that returned it.
  bool is_initialised = false;
  std::string driver_version;
  std::vector<NvmlScannedDevice> found;  // Ascending by index; without those left out.
  std::vector<uint32_t> asleep;  // Indices of unknown suspended devices, which were left out.

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

// Finds the devices that the kernel has suspended.  They are not queried, because a call would wake
// them.
//
// Reads sysfs (pci_bus.h) before each scan and each reading, only for devices that the kernel may
// suspend.  Without a sysfs, no device counts as suspended.  Stateless; any thread.
class NvmlSleep {
 public:
  // Borrows `sysfs`, which may be null.
  explicit NvmlSleep(const Files* sysfs) : sysfs_(sysfs) {}

  // Sets `may_sleep` of each device.
  void Note(std::vector<NvmlScannedDevice>& devices) const;
  bool IsAsleep(const NvmlScannedDevice& device) const;
  // Returns those that are suspended now.
  std::vector<NvmlScannedDevice> Sleepers(const std::vector<NvmlScannedDevice>& devices) const;
  // Returns the suspended devices on the bus that are not in `known`.
  NvmlUnknownSleepers UnknownSleepers(const std::vector<NvmlScannedDevice>& known) const;

 private:
  const Files* const sysfs_;
};

// The last NVML task: frees the kept samples, then shuts NVML down.
//
// Each run reverses one nvmlInit_v2.  NVML releases the devices when every initialisation of this
// process is reversed.
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
