// How pods use the devices: for how long they hold them, in how much of that time they do something
// there, and what they use of them now.
//
// Fed once per reading, right after the table (process_table.h).  A second counts as active when a
// process of the pod had a kernel resident in it, and as idle when none had; where nobody can say,
// it counts only as allocated.  Time is counted between two readings of the same device, and only
// while the pod is among its holders.  What a pod uses now is told while it holds the device or
// runs there.  Takes memory only for who is new.  Pure; one thread, the tick's.
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
  std::optional<WallTime> active_at;  // When it was last seen to do something.
  // Over the processes that are there now; absent where one of them has none, and for a pod that
  // has left the device.
  std::optional<uint32_t> sm_percent;
  std::optional<uint64_t> memory_bytes;

  // Of the reading that is being taken.
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
  // `table` has taken `reading`.
  void Take(const ProcessReading& reading, const ProcessTable& table);
  // Drops a pod that is no more, on all devices.
  void Forget(PodNumber pod);

  const std::map<PodOnDevice, PodUse>& all() const { return uses_; }
  // Another one when pods come or go: when series change.
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
