// Copies what the devices have read into a grid: its cells and its findings.
//
// A slot is one GPU of the watched topology, with its current device.  NvmlHistory keeps what NVML
// reports as events: XIDs, and the reasons for reduced clocks.  NvmlCells copies the values of each
// device into the cells, or the reason for their absence: the device is suspended, hangs or is
// lost, an instance is gone, or NVML cannot give the field.  All are used on the source thread.
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

// Made by Watch; each Discover binds it to the current device again.
struct NvmlSlot {
  std::string uuid;
  std::shared_ptr<NvmlDevice> device;            // Null: lost or hung.
  Absence absence = Absence::kDeviceLost;        // Reason for all its values when it was not read.
  bool is_read = false;                          // It was read in this reading.
  bool tells_clocks = false;                     // The last reading had the clock reasons.
  std::vector<uint32_t> gpu_instance_ids;        // Ids of its GPU instances in the topology.
  std::vector<std::optional<size_t>> instances;  // Index of each instance in the device.
};

// Counts events as event_counts.h says, and keeps the last XID of each GPU until the library is
// initialised again.
class NvmlHistory {
 public:
  // Sets the GPUs whose events are counted.
  void Follow(const Topology& topology, WallTime now) { counts_.Follow(topology, now); }

  // Takes the XIDs that came since the last call.
  void TakeXids(NvmlEvents& events, const std::vector<NvmlSlot>& slots);

  // Returns the last XID with the age of its event.  Without one: kNoData for a device that reports
  // XIDs, else kNotSupported.
  Value LastXid(const NvmlSlot& slot, const NvmlEvents& events, WallTime now) const;

  // Fills the grid's findings.  Each reading adds a sample of the clock reasons; a repeated reading
  // with the same time adds none.
  void Fill(Grid& grid, std::vector<NvmlSlot>& slots, const NvmlEvents& events);

  void ForgetXids() { last_xids_.clear(); }

 private:
  void SampleClocks(const Grid& grid, FieldRow reasons, std::vector<NvmlSlot>& slots);

  EventCounts counts_;
  int64_t clocks_at_us_ = 0;                  // Time of the last sample of the clock reasons.
  std::map<std::string, NvmlXid> last_xids_;  // Last XIDs by UUID.
  std::vector<NvmlXid> xids_;                 // Buffer for TakeXids.
};

// Made for one call; borrows everything and allocates only new texts.
class NvmlCells {
 public:
  // `column_of_row`: the plan's column for each row of the grid; nothing when NVML cannot give the
  // field.
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
