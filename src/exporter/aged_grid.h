// Withdraws the values of a reading that become too old while the source has fallen behind.
//
// The source withdraws what is old when it reads.  When no new reading comes, the tick takes the
// last one through this, which gives a copy without the values that have become too old since.
// Takes memory only then.  Tick thread only.
#pragma once

#include <chrono>
#include <memory>

#include "sample/grid.h"
#include "sample/grid_pool.h"

namespace podgpu {

class AgedGrid {
 public:
  // `is_late_after`: the age of a reading from which a new one is overdue.
  AgedGrid(std::chrono::milliseconds is_late_after, std::chrono::milliseconds stale_after)
      : is_late_after_(is_late_after), stale_after_(stale_after) {}

  // `newest`, whose age is `age`, or that copy of it.
  std::shared_ptr<const Grid> Take(const std::shared_ptr<const Grid>& newest,
                                   std::chrono::milliseconds age);

 private:
  const std::chrono::milliseconds is_late_after_;
  const std::chrono::milliseconds stale_after_;
  std::shared_ptr<const Grid> aged_from_;  // A published grid that has become old; else null.
  std::shared_ptr<const Grid> aged_;       // The same without what has become too old.
  GridPool aged_grids_;
};

}  // namespace podgpu
