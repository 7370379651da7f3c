// Reads the newest samples of all watched fields into a grid, in few calls.
//
// Each call is a round trip, so one bulk call reads many devices and fields.  The reply takes 4 KB
// per value; so a call is limited to 512 values, and the buffer (2 MB at most) is allocated once.
// Values are matched by their entity and field, so values that an engine omits or adds do no harm.
// Live data is never requested: with profiling fields it crashes the engine (DCGM 4.6.0, observed).
// Used on the source thread only.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "abi/load.h"
#include "base/status.h"
#include "sample/grid.h"
#include "source/dcgm/events.h"
#include "source/dcgm/watches.h"

namespace podgpu {

class DcgmReader {
 public:
  // Borrows both, which outlive this.  If `events` is not null, its See receives each sample.
  explicit DcgmReader(const abi::DcgmLibrary& library, DcgmEvents* events = nullptr)
      : library_(library), events_(events) {}

  // Fills those cells of `grid` that `watches` covers; `grid.read_at_wall` must be set.
  Status Read(abi::dcgmHandle_t handle, const DcgmWatches& watches, Grid& grid);

  // Indices in watches.devices() of the devices for which the engine has dropped a watch: the last
  // reading reported a watched field as unwatched.
  const std::vector<size_t>& dropped() const { return dropped_; }

 private:
  // Lists the entities and fields to read, and sets the reason in all other cells.
  void Prepare(const DcgmWatches& watches, Grid& grid);
  Status ReadPart(abi::dcgmHandle_t handle, const DcgmWatches& watches, size_t first_device,
                  size_t first_field, Grid& grid);
  void Store(const DcgmWatches& watches, const abi::dcgmFieldValue_v2& raw, size_t device,
             size_t field, Grid& grid);

  const abi::DcgmLibrary& library_;
  DcgmEvents* const events_;
  std::vector<abi::dcgmGroupEntityPair_t> entities_;  // The entities to read.
  std::vector<EntityId> columns_;                     // The column of each entity.
  std::vector<uint16_t> ids_;                         // The fields to read.
  std::vector<size_t> rows_;  // Of each field, its index in watches.fields().
  std::vector<size_t> dropped_;
  size_t devices_per_call_ = 0;
  size_t fields_per_call_ = 0;
  std::vector<abi::dcgmFieldValue_v2> reply_;
};

}  // namespace podgpu
