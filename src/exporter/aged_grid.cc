#include "exporter/aged_grid.h"

#include <utility>

#include "sample/stale_values.h"

namespace podgpu {

std::shared_ptr<const Grid> AgedGrid::Take(const std::shared_ptr<const Grid>& newest,
                                           std::chrono::milliseconds age) {
  if (age <= is_late_after_) {
    aged_from_.reset();
    aged_.reset();
    return newest;
  }
  if (aged_from_ != newest) {
    aged_from_ = newest;
    aged_ = newest;
  }
  std::shared_ptr<Grid> older = aged_grids_.Take(aged_->shared_topology(), aged_->fields());
  *older = *aged_;
  if (WithdrawStale(*older, stale_after_, age) > 0) {
    aged_ = std::move(older);
  }
  return aged_;
}

}  // namespace podgpu
