// Which devices gave numbers at the last reading.
//
// A device that falls silent, or speaks again, is worth a look at the engine's list at once: the
// list says what has become of it, and the same page can say so.  The engine's own word follows a
// loss by about a second (DCGM 4.6.0, observed), so the look is repeated a few times.  Source
// thread only.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "sample/grid.h"

namespace podgpu {

class Voices {
 public:
  // Notes a reading from which old samples are withdrawn.  True when the devices should be looked
  // for again.
  bool Note(const Grid& grid);

 private:
  static constexpr int kLooks = 3;

  uint64_t epoch_ = std::numeric_limits<uint64_t>::max();
  std::vector<bool> speaking_;  // By entity of that epoch.
  int looks_left_ = 0;
};

}  // namespace podgpu
