// What NVML tells at one time of one GPU's processes: who they are, how busy they were, who has
// come and gone meanwhile, and the GPU's energy counter.
//
// Read makes the calls, on the thread that may be written off, and touches no more than this
// object.  Finish, once Read has returned, makes a DeviceReading of what was told: it needs to know
// when processes began, which /proc says.  Of each list the newest call that the library has is
// taken; of a GPU in MIG mode that keeps its lists for the privileged, the lists of its MIG
// devices; so it is with samples, which a GPU in MIG mode does not have: a driver that has them of
// its MIG devices tells those.  How active each MIG instance was GPM tells, where the board has it
// (Hopper and later).
// One thread at a time.
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
  // Who a pid is; null where nobody can say.
  using Identify = std::function<std::shared_ptr<const ProcessIdentity>(uint32_t pid)>;

  // What a GPU is known by, whatever address it has.
  struct Kept {
    BusyMeter meter;
    NvmlAccounting accounting;
  };
  // `kept`: of the same GPU, where it was known before.
  NvmlProcessDevice(std::shared_ptr<const abi::NvmlLibrary> library,
                    const std::shared_ptr<NvmlSamples>& samples, NvmlAddress address, Kept kept);

  // The code that made further calls pointless (a lost GPU, a driver that has gone), or success.
  // Without `profiles` the profiling counters are left to others.
  abi::nvmlReturn_t Read(Instant now, WallTime wall, bool profiles);
  // Gives the samples of profiling back, before the library is shut down; calls nothing.
  void PauseProfiling();
  // What that said.
  void Finish(DeviceNumber number, const Identify& identify, DeviceReading& reading);

  const NvmlAddress& address() const { return address_; }
  const Kept& kept() const { return kept_; }

 private:
  void ReadLists();
  void ReadListsOf(abi::nvmlDevice_t device, uint32_t instance);
  abi::nvmlReturn_t ReadList(abi::nvmlDevice_t device, uint32_t instance, bool mps,
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
  // In the records of this process.
  void NoteBirth(const ListedProcess& process);

  // A MIG instance and what part of the GPU it is.
  struct Part {
    uint32_t instance = 0;
    uint64_t slices = 1;
    NvmlGpm gpm;
  };

  const std::shared_ptr<const abi::NvmlLibrary> library_;
  const NvmlAddress address_;
  Kept kept_;
  std::vector<Part> parts_;
  bool instances_lack_samples_ = false;  // The driver has none of MIG devices; not asked again.
  std::unique_ptr<abi::nvmlGpmMetricsGet_t> metrics_request_;  // 13 KB, where it is needed.
  std::optional<Instant> activity_since_;                      // The last reading of it.
  Duration activity_for_{};                                    // Between that and the one before.

  // Of the last Read.
  Instant at_{};
  uint64_t wall_us_ = 0;
  abi::nvmlReturn_t energy_code_ = abi::NVML_SUCCESS;
  unsigned long long energy_mj_ = 0;
  abi::nvmlReturn_t lists_code_ = abi::NVML_SUCCESS;  // The first list that was not told.
  std::vector<ListedProcess> processes_;
  abi::nvmlReturn_t utilization_code_ = abi::NVML_SUCCESS;
  bool told_by_instances_ = false;  // Percentages are of the instance, not of the GPU.
  std::vector<UtilizationRecord> records_;
  std::vector<UtilizationRecord> late_records_;

  // For calls.
  NvmlList<abi::nvmlProcessInfo_t> listed_;
  NvmlList<abi::nvmlProcessUtilizationInfo_v1_t> told_;
  NvmlList<abi::nvmlProcessUtilizationSample_t> sampled_;
};

}  // namespace podgpu
