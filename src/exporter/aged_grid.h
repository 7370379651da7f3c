// Withdraws the values of a reading that become too old while no new reading comes.
//
// The source withdraws old values when it reads.  When the next reading is late, AgedGrid gives the
// tick a copy of the last one without the values that have become too old since.  It makes a copy
// only when another value has become too old.  Tick thread only.
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

  // Returns `newest`, whose age is `age`, or the copy without old values.
  std::shared_ptr<const Grid> Take(const std::shared_ptr<const Grid>& newest,
                                   std::chrono::milliseconds age);

 private:
  const std::chrono::milliseconds is_late_after_;
  const std::chrono::milliseconds stale_after_;
  std::shared_ptr<const Grid> newest_;  // The reading whose successor is late; else null.
  std::shared_ptr<const Grid> aged_;    // The same grid without the values that are too old.
  // How long after the reading `aged_` has no value that is too old.
  std::chrono::milliseconds is_fresh_for_{0};
  GridPool aged_grids_;
};

}  // namespace podgpu
