// How pods use devices: how long a pod holds a device, how much of that time it is active, and its
// current usage.
//
// Updated once per reading, right after the table (process_table.h). A second is active when a
// process of the pod had a kernel resident in it, and idle when none had; when neither is known, it
// counts only as allocated. Time is counted between two readings of the same device, and only while
// the pod is among its holders. Current usage is present while the pod holds the device or runs
// there. Allocates only for new pods. Pure; one thread, the tick's.
#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "base/clock.h"
#include "process/keys.h"
#include "process/process_reading.h"
#include "process/process_table.h"

namespace podgpu {

struct PodUse {
  uint64_t allocated_us = 0;
  uint64_t active_us = 0;
  uint64_t idle_us = 0;
  std::optional<WallTime> active_at;  // Last time at which the pod was seen active.
  // Sums over the current processes; absent when one of them has no value, and for a pod that has
  // left the device.
  std::optional<uint32_t> sm_percent;
  std::optional<uint64_t> memory_bytes;

  // State of the reading that is being taken.
  struct Now {
    bool holds = false;
    bool is_busy = false;
    bool runs = false;
    std::optional<uint32_t> sm_percent = 0;
    std::optional<uint64_t> memory_bytes = 0;
  } now;
};

class PodUses {
 public:
  // Call after `table` has taken `reading`.
  void Take(const ProcessReading& reading, const ProcessTable& table);
  // Drops a removed pod on all devices.
  void Forget(PodNumber pod);

  const std::map<PodOnDevice, PodUse>& all() const { return uses_; }
  // Changes when a pod is added or removed, which changes the set of series.
  uint64_t generation() const { return generation_; }

 private:
  void TakeDevice(const DeviceReading& device, WallTime wall, const ProcessTable::Rows& rows);
  void AddRow(const ProcessRow& row, const DeviceReading& device);
  PodUse& UseOf(const PodOnDevice& pod);

  std::map<PodOnDevice, PodUse> uses_;
  std::map<DeviceNumber, Instant> read_at_;
  uint64_t generation_ = 0;
};

}  // namespace podgpu
