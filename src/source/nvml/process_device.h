// Reads one GPU's processes from NVML: the process lists, their utilization, processes that started
// and ended since the last reading, and the GPU's energy counter.
//
// Read makes the calls on a thread that may be written off, and touches only this object.  Finish
// runs after Read has returned and makes a DeviceReading of the results; it needs the start times
// of processes, which come from /proc.  Of each list, the newest call that the library has is used.
// For a GPU in MIG mode whose lists need privileges, the lists of its MIG devices are used instead.
// Likewise for utilization samples: a GPU in MIG mode has none, but some drivers have them for its
// MIG devices.  The activity of each MIG instance comes from GPM (Hopper and later).  Used on one
// thread at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "abi/load.h"
#include "base/clock.h"
#include "process/busy_meter.h"
#include "process/process_reading.h"
#include "source/nvml/accounting.h"
#include "source/nvml/call.h"
#include "source/nvml/device.h"
#include "source/nvml/gpm.h"

namespace podgpu {

class NvmlProcessDevice {
 public:
  // Returns the process with a pid; null when it cannot be identified.
  using Identify = std::function<std::shared_ptr<const ProcessIdentity>(uint32_t pid)>;

  // State of a GPU that must survive a change of its handles.
  struct Kept {
    BusyMeter meter;
    NvmlAccounting accounting;
  };
  // `kept`: of the same GPU, if it was known before.
  NvmlProcessDevice(std::shared_ptr<const abi::NvmlLibrary> library,
                    const std::shared_ptr<NvmlSamples>& samples, NvmlAddress address, Kept kept);

  // Reads everything.  Returns the code that makes further calls useless (a lost GPU, an unloaded
  // driver), or success.  Without `profiles` the profiling counters are left to other programs.
  abi::nvmlReturn_t Read(Instant now, WallTime wall, bool profiles);
  // Returns the profiling samples before the library is shut down; makes no NVML call.
  void PauseProfiling();
  // Writes the results of the last Read into `reading`.
  void Finish(DeviceNumber number, const Identify& identify, DeviceReading& reading);

  const NvmlAddress& address() const { return address_; }
  const Kept& kept() const { return kept_; }

 private:
  void ReadLists();
  void ReadListsOf(abi::nvmlDevice_t device, uint32_t instance);
  enum class ListKind : uint8_t { kCompute, kGraphics, kMps };
  abi::nvmlReturn_t ReadList(abi::nvmlDevice_t device, uint32_t instance, ListKind kind,
                             abi::nvmlReturn_t (*call)(abi::nvmlDevice_t, uint32_t*,
                                                       abi::nvmlProcessInfo_t*));
  abi::nvmlReturn_t ReadAccounting(Instant now, WallTime wall);
  void ReadUtilization();
  void ReadLateUtilization();
  abi::nvmlReturn_t AskUtilization(uint64_t since_us);
  abi::nvmlReturn_t AskUtilizationOf(abi::nvmlDevice_t device, uint64_t since_us);
  abi::nvmlReturn_t AskInstances(uint64_t since_us);
  abi::nvmlReturn_t ReadUtilizationInfo(abi::nvmlDevice_t device, uint64_t since_us);
  abi::nvmlReturn_t ReadUtilizationSamples(abi::nvmlDevice_t device, uint64_t since_us);
  void FinishUtilization(DeviceReading& reading);
  void ReadActivity(bool profiles);
  void FinishActivity(DeviceReading& reading) const;
  void FinishAccounting(const Identify& identify, DeviceReading& reading) const;
  // Sets the start time in the records of this process.
  void NoteBirth(const ListedProcess& process);

  // A MIG instance and its share of the GPU.
  struct Part {
    uint32_t instance = 0;
    uint64_t slices = 1;
    NvmlGpm gpm;
  };

  const std::shared_ptr<const abi::NvmlLibrary> library_;
  const NvmlAddress address_;
  Kept kept_;
  std::vector<Part> parts_;
  bool instances_lack_samples_ = false;  // True: samples of instances are not asked for again.
  std::unique_ptr<abi::nvmlGpmMetricsGet_t> metrics_request_;  // 13 KB, where it is needed.
  std::optional<Instant> activity_since_;                      // Time of its last reading.
  Duration activity_for_{};  // Time between its last two readings.

  // The results of the last Read.
  Instant at_{};
  uint64_t wall_us_ = 0;
  abi::nvmlReturn_t energy_code_ = abi::NVML_SUCCESS;
  unsigned long long energy_mj_ = 0;
  abi::nvmlReturn_t lists_code_ = abi::NVML_SUCCESS;  // Code of the first list that failed.
  std::vector<ListedProcess> processes_;
  abi::nvmlReturn_t utilization_code_ = abi::NVML_SUCCESS;
  bool told_by_instances_ = false;  // Percentages are of an instance, not of the GPU.
  std::vector<UtilizationRecord> records_;
  std::vector<UtilizationRecord> late_records_;

  // Buffers for the calls.
  NvmlList<abi::nvmlProcessInfo_t> listed_;
  NvmlList<abi::nvmlProcessUtilizationInfo_v1_t> told_;
  NvmlList<abi::nvmlProcessUtilizationSample_t> sampled_;
};

}  // namespace podgpu
