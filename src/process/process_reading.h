// One reading of all devices and their processes.
//
// The thread that queries the driver makes it (process lists, samples through one BusyMeter per
// device, identities), and ProcessTable takes it on the tick's thread: each reading exactly once
// and in order, because busy times and exits are differences. Plain data.
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

// An entry of one of the driver's lists: compute, graphics, or MPS clients.
struct ListedProcess {
  uint32_t pid = 0;
  uint32_t instance = kWholeGpu;              // Id of the GPU instance, in MIG mode.
  std::optional<uint64_t> memory_bytes = {};  // Absent when the driver does not return it.
  bool mps_client = false;
  // True if it is from the list of graphics processes; other lists have compute processes.
  bool graphics = false;
  std::shared_ptr<const ProcessIdentity> identity = {};  // Null when /proc does not tell.
};

// State of the driver's process accounting (NVML: accounting mode), or the reason why it is
// unknown.
enum class Accounting : uint8_t { kNotRead, kNotSupported, kNotPermitted, kFailed, kOff, kOn };

// A process that lived between two readings, known from the driver's accounting.
struct EndedProcess {
  uint32_t pid = 0;
  uint32_t sm_percent = 0;  // Mean over its life.
  uint32_t memory_percent = 0;
  std::optional<uint64_t> memory_bytes = {};  // The maximum over its life.
  std::optional<WallTime> started_at = {};
  std::shared_ptr<const ProcessIdentity> identity = {};  // Null unless it still runs.
};

struct DeviceReading {
  DeviceNumber device = {};
  Instant at = {};  // Time of the counter.
  std::optional<uint64_t> counter_mj = {};
  bool listed = true;  // False: the driver returned no process list this time.
  std::vector<ListedProcess> processes = {};
  Accounting accounting = Accounting::kNotRead;
  std::vector<EndedProcess> ended = {};
  BusySamples samples = BusySamples::kMeasured;
  std::vector<ProcessBusy> busy = {};
  // Activity of the instances of a MIG device, if measured.
  std::vector<InstanceActivity> instances = {};
  std::vector<PodNumber> holders = {};
};

struct ProcessReading {
  Instant at = {};
  WallTime wall = {};
  std::vector<DeviceReading> devices = {};  // All present devices.
};

}  // namespace podgpu
