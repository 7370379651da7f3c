// Reads the newest samples of everything watched into a grid, in few calls.
//
// One bulk call serves many devices and fields, since each call is a round trip; the reply takes
// 4 KB a value, so that a call is bounded to 512 values and the buffer (2 MB at most) is made once.
// Values come back tagged with their entity and field; what an engine leaves out or adds is
// noticed.  Live data is never asked for here: on profiling fields it ends the engine (DCGM 4.6.0,
// observed).  Source thread only.
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
  // Borrows both, which outlive this.  `events`, where there is one, is shown each sample.
  explicit DcgmReader(const abi::DcgmLibrary& library, DcgmEvents* events = nullptr)
      : library_(library), events_(events) {}

  // Fills the cells of `grid` that are those of `watches`; its read_at_wall is set.
  Status Read(abi::dcgmHandle_t handle, const DcgmWatches& watches, Grid& grid);

  // The devices, by index in watches.devices(), of which the last reading said that a field is not
  // watched that had been: the engine has dropped the watch.
  const std::vector<size_t>& dropped() const { return dropped_; }

 private:
  // Lists what is to be asked for, and gives all other cells their reason.
  void Prepare(const DcgmWatches& watches, Grid& grid);
  Status ReadPart(abi::dcgmHandle_t handle, const DcgmWatches& watches, size_t first_device,
                  size_t first_field, Grid& grid);
  void Store(const DcgmWatches& watches, const abi::dcgmFieldValue_v2& raw, size_t device,
             size_t field, Grid& grid);

  const abi::DcgmLibrary& library_;
  DcgmEvents* const events_;
  std::vector<abi::dcgmGroupEntityPair_t> entities_;  // To ask for.
  std::vector<EntityId> columns_;                     // Of each of them.
  std::vector<uint16_t> ids_;                         // To ask for.
  std::vector<size_t> rows_;                          // Of each, its index in watches.fields().
  std::vector<size_t> dropped_;
  size_t devices_per_call_ = 0;
  size_t fields_per_call_ = 0;
  std::vector<abi::dcgmFieldValue_v2> reply_;
};

}  // namespace podgpu
