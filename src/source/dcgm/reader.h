// Reads the newest samples of all watched fields into a grid, in few calls.
//
// A call to an engine in another process is a round trip, so one bulk call reads many devices and
// fields.  The reply takes 4 KB per value; so the values of a call are limited, and the buffer is
// allocated once: 2 MB at most, and 0.5 MB with an embedded engine, whose calls are cheap.
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
  DcgmReader(const abi::DcgmLibrary& library, bool is_embedded, DcgmEvents* events = nullptr);

  // Fills those cells of `grid` that `watches` covers; `grid.read_at_wall` must be set.
  Status Read(abi::dcgmHandle_t handle, const DcgmWatches& watches, Grid& grid);

  // Indices in watches.devices() of the devices for which the engine has dropped a watch: the last
  // reading reported a watched field as unwatched.
  const std::vector<size_t>& dropped() const { return dropped_; }

 private:
  // Lists the entities and fields to read, and sets the reason in all other cells.
  void Prepare(const DcgmWatches& watches, Grid& grid);
  void SetReasons(const DcgmWatches& watches, size_t field, Grid& grid) const;
  Status ReadPart(abi::dcgmHandle_t handle, const DcgmWatches& watches, size_t first_device,
                  size_t first_field, Grid& grid);
  void Store(const DcgmWatches& watches, const abi::dcgmFieldValue_v2& raw, size_t device,
             size_t field, Grid& grid);

  const abi::DcgmLibrary& library_;
  const size_t values_per_call_;
  DcgmEvents* const events_;
  std::vector<abi::dcgmGroupEntityPair_t> entities_;  // The entities to read.
  std::vector<EntityId> columns_;                     // The column of each entity.
  std::vector<uint16_t> ids_;                         // The fields to read.
  // One for each field to read.
  struct RequestedField {
    size_t index = 0;  // Index in watches.fields().
    bool is_refused_somewhere = false;
  };
  std::vector<RequestedField> requested_;
  std::vector<size_t> dropped_;
  size_t devices_per_call_ = 0;
  size_t fields_per_call_ = 0;
  std::vector<abi::dcgmFieldValue_v2> reply_;
};

}  // namespace podgpu
