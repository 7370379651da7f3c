#include "exporter/aged_grid.h"

#include <utility>

#include "sample/stale_values.h"

namespace podgpu {

std::shared_ptr<const Grid> AgedGrid::Take(const std::shared_ptr<const Grid>& newest,
                                           std::chrono::milliseconds age) {
  if (age <= is_late_after_) {
    newest_.reset();
    aged_.reset();
    return newest;
  }
  if (newest != newest_) {
    newest_ = newest;
    aged_ = newest;
    is_fresh_for_ = StaysFreshFor(*newest, stale_after_);
  }
  if (age > is_fresh_for_) {
    std::shared_ptr<Grid> older = aged_grids_.Take(aged_->shared_topology(), aged_->fields());
    *older = *aged_;
    WithdrawStale(*older, stale_after_, age);
    is_fresh_for_ = StaysFreshFor(*older, stale_after_);
    aged_ = std::move(older);
  }
  return aged_;
}

}  // namespace podgpu
