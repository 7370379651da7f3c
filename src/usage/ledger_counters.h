// Which reading of a GPU's energy counter a page shows, so that the page adds up.
//
// The ledger shares out what a counter grew by between its own readings, while device fields are
// read at another pace.  Where the amounts of the ledger are on the page, the counter of the GPU
// (field 156, also in the columns of its instances) is the reading that they were made from.  It is
// withdrawn as stale while that is older than `stale_after`.  Where they are not on the page, the
// counter is that of the device fields.  At a change from one to the other the counter is withdrawn
// as long as it would fall, since a counter that falls says that it began again.  Keeps a few grids
// to write into.  Tick thread only.
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
  // What is known at one tick.
  struct Facts {
    const Ledger& ledger;
    const std::vector<std::string>& uuids;  // Of devices, by their numbers.
    bool is_shown = false;                  // The ledger's amounts are on the page.
    Instant now;
    Duration stale_after;
  };

  // `grid` with the counters that the page shows; itself where it does not hold field 156.
  std::shared_ptr<const Grid> ShowIn(const std::shared_ptr<const Grid>& grid, const Facts& facts);

 private:
  // A number, and the earliest time at which it can have been read.
  struct Reading {
    int64_t counter_mj = 0;
    Instant at;
  };
  struct Shown {
    int64_t counter_mj = 0;
    Instant until;  // The latest time at which it can have been read.
  };

  static std::optional<CountedReading> CountedOf(const std::string& uuid, const Facts& facts);
  // Whether the page may show `reading` now, after `shown`; notes that it does.
  static bool Show(const Reading& reading, Instant now, std::optional<Shown>& shown);
  // For a column of the GPU with this UUID.
  static Value ValueFor(const Value& told, const std::string& uuid, Instant read_at,
                        const Facts& facts, std::optional<Shown>& shown);

  GridPool grids_;
  // By UUID, then by id of the instance, or kWholeGpu.
  std::map<std::string, std::map<uint32_t, std::optional<Shown>>> shown_;
};

}  // namespace podgpu
