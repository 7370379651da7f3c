// A pool of grids, reused when no other object holds them.
//
// A published grid is shared by the tick and by every snapshot made from it, including one that a
// slow client is still reading. The pool keeps a few grids and returns one that no other object
// holds, so a steady reading allocates nothing. While all are held, it makes a new one, and keeps
// it only if it has fewer than kMostKept. One thread calls Take; any thread may release a grid.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "sample/grid.h"

namespace podgpu {

class GridPool {
 public:
  // One is being filled, one is published, one may be in the newest snapshot, one in the snapshot
  // that a scrape is sending, and one each in the legacy per-pod page and its two files.
  static constexpr size_t kMostKept = 7;

  // Returns a grid of this layout that only the caller and the pool hold. Every cell is absent
  // (kNotRead).
  std::shared_ptr<Grid> Take(const std::shared_ptr<const Topology>& topology,
                             const std::vector<const Field*>& fields);

  size_t kept() const { return grids_.size(); }

 private:
  std::vector<std::shared_ptr<Grid>> grids_;  // The kept grids, all of one layout.
};

}  // namespace podgpu
