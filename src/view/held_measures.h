// Remembers which states and reasons have been active on which GPU since podgpu started.  Measures
// with Shown::kOnceSeen have a line only for these.
//
// GPUs are identified by UUID, so a GPU keeps its lines when it is lost and returns, or when its
// MIG layout changes.  The plan depends on this set; generation() changes with it.  Allocates only
// when a state is active for the first time.  Used on the tick thread only.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "sample/grid.h"

namespace podgpu {

class HeldMeasures {
 public:
  // Remembers the active states and reasons in `grid`.
  void Take(const Grid& grid);

  // Returns whether `measure`, an index into Measures(), was ever active on the GPU.
  bool Has(std::string_view uuid, size_t measure) const;

  // Grows with each new line.
  uint64_t generation() const { return generation_; }

 private:
  void Note(const std::string& uuid, size_t measure);

  // One flag for each measure, by UUID.
  std::map<std::string, std::vector<bool>, std::less<>> held_;
  uint64_t generation_ = 0;
};

}  // namespace podgpu
