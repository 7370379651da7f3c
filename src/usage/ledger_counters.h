// Chooses the reading of a GPU's energy counter that a page shows, so that the page adds up.
//
// The ledger reads the counter and divides each increase among pods and processes; device fields
// are read at another pace.  While the ledger's amounts are on the page, the counter of the GPU
// (field 156, also in the columns of its instances) shows the ledger's reading.  It is stale once
// that reading is older than `stale_after`.  While the amounts are not on the page, the counter
// shows the device field.  At a change between the two, the counter is withdrawn as long as it
// would fall: Prometheus takes a falling counter for a restart.
//
// The result is a copy of the grid, so that all that is made from a snapshot shows the same counter
// (pages, JSON, dumps).  The copy takes 0.6 us for 8 GPUs and 19 us for 112 instances; one
// comparison in each cell that is rendered would take longer.  Owns a few grids to write into.
// Tick thread only.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "process/ledger.h"
#include "sample/grid.h"
#include "sample/grid_pool.h"

namespace podgpu {

class LedgerCounters {
 public:
  // The input of one tick.
  struct Facts {
    const Ledger& ledger;
    const std::vector<std::string>& uuids;  // UUIDs by device number.
    bool is_shown = false;                  // The ledger's amounts are on the page.
    Instant now;
    Duration stale_after;
  };

  // Returns `grid` with the counters that the page shows; `grid` itself if it lacks field 156.
  std::shared_ptr<const Grid> ShowIn(const std::shared_ptr<const Grid>& grid, const Facts& facts);

 private:
  // A counter value, and the earliest time at which it can have been read.
  struct Reading {
    int64_t counter_mj = 0;
    Instant at;
  };
  struct Shown {
    int64_t counter_mj = 0;
    Instant until;  // The latest time at which it can have been read.
  };

  static std::optional<CountedReading> CountedOf(const std::string& uuid, const Facts& facts);
  // Returns whether the page may show `reading` after `shown`, and if so remembers it.
  static bool Show(const Reading& reading, Instant now, std::optional<Shown>& shown);
  // Returns the value for a column of the GPU with this UUID.
  static Value ValueFor(const Value& told, const std::string& uuid, Instant read_at,
                        const Facts& facts, std::optional<Shown>& shown);

  GridPool grids_;
  // Sorted by UUID, then by id of the instance, or kWholeGpu.
  std::map<std::string, std::map<uint32_t, std::optional<Shown>>> shown_;
};

}  // namespace podgpu
