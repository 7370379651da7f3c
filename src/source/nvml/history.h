// What has befallen the GPUs, as NVML tells it: XIDs as they come, and what held back the clocks.
//
// Counts as event_counts.h says; keeps the last XID of each GPU until the library is begun anew.
// Belongs to the source thread.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/clock.h"
#include "sample/grid.h"
#include "source/event_counts.h"
#include "source/nvml/events.h"
#include "source/nvml/slot.h"

namespace podgpu {

class NvmlHistory {
 public:
  // Counts for the GPUs of `topology` from now on.
  void Follow(const Topology& topology, WallTime now) { counts_.Follow(topology, now); }

  // Takes what has come since the last time.
  void TakeXids(NvmlEvents& events, const std::vector<NvmlSlot>& slots);

  // The last one, with the age of the event; that there was none yet is an answer, too, of a device
  // that would tell.
  Value LastXid(const NvmlSlot& slot, const NvmlEvents& events, WallTime now) const;

  // Fills the grid's findings.  Each reading is a sample of the clocks' reasons; one that was made
  // again at once is the same.
  void Fill(Grid& grid, std::vector<NvmlSlot>& slots, const NvmlEvents& events);

  void ForgetXids() { last_xids_.clear(); }

 private:
  void SampleClocks(const Grid& grid, FieldRow reasons, std::vector<NvmlSlot>& slots);

  EventCounts counts_;
  int64_t clocks_at_us_ = 0;                  // The last sample of the clocks' reasons.
  std::map<std::string, NvmlXid> last_xids_;  // By UUID.
  std::vector<NvmlXid> xids_;                 // Room for what comes.
};

}  // namespace podgpu
