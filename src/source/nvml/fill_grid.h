// From what the devices have read to a grid: its cells, and its findings.
//
// A slot is one GPU of the watched topology, with the device that stands there now.  NvmlHistory
// keeps what NVML tells as events: XIDs as they come, and what held back the clocks.  NvmlCells
// copies each device's values into the cells, or the reason why there is none: the device sleeps,
// hangs or is lost, an instance is gone, or NVML does not know the field.  All belong to the source
// thread.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "sample/grid.h"
#include "sample/value.h"
#include "source/event_counts.h"
#include "source/nvml/device.h"
#include "source/nvml/events.h"

namespace podgpu {

// Made by Watch; each look ties it to the devices again.
struct NvmlSlot {
  std::string uuid;
  std::shared_ptr<NvmlDevice> device;            // Null: lost, or hung.
  Absence absence = Absence::kDeviceLost;        // Of all its values, where it was not read.
  bool is_read = false;                          // By this reading.
  bool tells_clocks = false;                     // Why they are held back, by the last sample.
  std::vector<uint32_t> gpu_instance_ids;        // Of its instances in the topology.
  std::vector<std::optional<size_t>> instances;  // Where the device has each.
};

// Counts as event_counts.h says; keeps the last XID of each GPU until the library is initialised
// again.
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

// A view for one call; borrows everything, allocates nothing but new texts.
class NvmlCells {
 public:
  // `column_of_row`: of the plan, by row of the grid; nothing where the field is not NVML's.
  NvmlCells(const NvmlPlan& plan, const std::vector<std::optional<size_t>>& column_of_row,
            const std::vector<NvmlSlot>& slots, const NvmlHistory& history,
            const NvmlEvents& events)
      : plan_(plan),
        column_of_row_(column_of_row),
        slots_(slots),
        history_(history),
        events_(events) {}

  void CopyTo(Grid& grid) const;

 private:
  void CopyColumn(Grid& grid, const NvmlSlot& slot, EntityId entity,
                  std::optional<size_t> instance) const;
  void Fill(Grid& grid, EntityId entity, Absence absence) const;

  const NvmlPlan& plan_;
  const std::vector<std::optional<size_t>>& column_of_row_;
  const std::vector<NvmlSlot>& slots_;
  const NvmlHistory& history_;
  const NvmlEvents& events_;
};

}  // namespace podgpu
