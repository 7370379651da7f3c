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

// Whether the driver writes down the life of each process (NVML: accounting mode), or why that is
// not known.
enum class Accounting : uint8_t { kNotRead, kNotSupported, kNotPermitted, kFailed, kOff, kOn };

// A process that was on no list of the readings before and after its life, as accounting tells it.
struct EndedProcess {
  uint32_t pid = 0;
  uint32_t sm_percent = 0;  // Mean over its life.
  uint32_t memory_percent = 0;
  std::optional<uint64_t> memory_bytes = {};  // The most that it held.
  std::optional<WallTime> started_at = {};
  std::shared_ptr<const ProcessIdentity> identity = {};  // Null, unless it goes on without a GPU.
};

struct DeviceReading {
  DeviceNumber device = {};
  Instant at = {};  // Of the counter.
  std::optional<uint64_t> counter_mj = {};
  bool listed = true;  // The driver told its processes; else none are known this time.
  std::vector<ListedProcess> processes = {};
  Accounting accounting = Accounting::kNotRead;
  std::vector<EndedProcess> ended = {};
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
