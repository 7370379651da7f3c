#include "sample/grid_pool.h"

#include <algorithm>

namespace podgpu {
namespace {

// Returns whether only the pool holds the grid. Copying the pointer increments the count with
// acquire and release order (libstdc++ 12, ext/atomicity.h), so it happens after the last holder's
// release and after all of that holder's reads; use_count alone has no memory order.
bool IsFree(const std::shared_ptr<Grid>& grid) {
  // NOLINTNEXTLINE(performance-unnecessary-copy-initialization): see above.
  const std::shared_ptr<Grid> copy = grid;
  return copy.use_count() == 2;
}

}  // namespace

std::shared_ptr<Grid> GridPool::Take(const std::shared_ptr<const Topology>& topology,
                                     const std::vector<const Field*>& fields) {
  std::erase_if(grids_, [&](const std::shared_ptr<Grid>& grid) {
    return grid->shared_topology() != topology || grid->fields() != fields;
  });
  const auto found = std::ranges::find_if(grids_, IsFree);
  if (found != grids_.end()) {
    (*found)->Clear(Absence::kNotRead);
    return *found;
  }
  auto made = std::make_shared<Grid>(topology, fields);
  if (grids_.size() < kMostKept) {
    grids_.push_back(made);
  }
  return made;
}

}  // namespace podgpu
