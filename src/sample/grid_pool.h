// Grids to read into, used again once nobody looks at them any more.
//
// A published grid belongs to the tick and to every snapshot that was made from it, one that a slow
// client still reads among them.  The pool keeps a few and hands out one that nobody else holds, so
// that a steady reading allocates nothing; while all are held it makes a new one, and does not keep
// it when it has enough.  One thread takes; any thread lets go.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "sample/grid.h"

namespace podgpu {

class GridPool {
 public:
  // One is being filled, one is published, one may be in the newest snapshot, one in the snapshot
  // that a scrape is sending, and one in the older per-pod page and in each of its two files.
  static constexpr size_t kMostKept = 7;

  // A grid of this layout that only the caller and the pool hold, with every cell absent
  // (kNotRead).
  std::shared_ptr<Grid> Take(const std::shared_ptr<const Topology>& topology,
                             const std::vector<const Field*>& fields);

  size_t kept() const { return grids_.size(); }

 private:
  std::vector<std::shared_ptr<Grid>> grids_;  // All of one layout.
};

}  // namespace podgpu
