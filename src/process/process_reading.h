// What was read of all devices and their processes at one time.
//
// Made by the thread that asks the driver (lists, samples through a BusyMeter per device, and who
// each pid is), and consumed by ProcessTable on the tick's: each reading exactly once and in order,
// since busy time and exits are news.  Plain data.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/clock.h"
#include "process/busy_meter.h"
#include "process/device_interval.h"
#include "process/keys.h"
#include "process/proc_reader.h"

namespace podgpu {

// An entry of one of the driver's lists: compute, graphics, or clients of MPS.
struct ListedProcess {
  uint32_t pid = 0;
  uint32_t instance = kWholeGpu;              // GPU instance id, in MIG mode.
  std::optional<uint64_t> memory_bytes = {};  // Absent where the driver does not tell.
  bool mps_client = false;
  std::shared_ptr<const ProcessIdentity> identity = {};  // Null where /proc does not tell.
};

struct DeviceReading {
  DeviceNumber device = {};
  Instant at = {};  // Of the counter.
  std::optional<uint64_t> counter_mj = {};
  bool listed = true;  // The driver told its processes; else none are known this time.
  std::vector<ListedProcess> processes = {};
  BusySamples samples = BusySamples::kMeasured;
  std::vector<ProcessBusy> busy = {};
  std::vector<InstanceActivity> instances = {};  // Of a MIG device whose instances are measured.
  std::vector<PodNumber> holders = {};
};

struct ProcessReading {
  Instant at = {};
  WallTime wall = {};
  std::vector<DeviceReading> devices = {};  // All that are there.
};

}  // namespace podgpu
