// Which states and reasons have held on which GPU since podgpu started: the lines that measures of
// Shown::kOnceSeen have on the page.
//
// By UUID, so that a GPU that is lost and comes back, or whose MIG layout changes, keeps its lines.
// The plan depends on what is noted here; generation() says whether that has changed.  Takes memory
// only when something holds for the first time.  Tick thread only.
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
  // Notes what holds in `grid`.
  void Take(const Grid& grid);

  // Whether `measure`, an index into Measures(), has ever held on the GPU.
  bool Has(std::string_view uuid, size_t measure) const;

  // Grows with each line that is new.
  uint64_t generation() const { return generation_; }

 private:
  void Note(const std::string& uuid, size_t measure);

  std::map<std::string, std::vector<bool>, std::less<>> held_;  // By UUID, then by measure.
  uint64_t generation_ = 0;
};

}  // namespace podgpu
