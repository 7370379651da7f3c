// Decides when the reader should scan the list of devices again, outside the usual interval.
//
// When a device stops giving numbers, or gives numbers again, the engine's list of devices tells
// why, and the same page can show it.  The engine itself notices a lost device about a second later
// (DCGM 4.6.0, observed), so the scan is repeated at the next few readings.  Used on the source
// thread only.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "sample/grid.h"

namespace podgpu {

class RescanTrigger {
 public:
  // Takes a reading whose stale samples are already withdrawn.  Returns whether the devices should
  // be scanned again.
  bool Note(const Grid& grid);

 private:
  static constexpr int kRescans = 3;

  uint64_t epoch_ = std::numeric_limits<uint64_t>::max();
  std::vector<bool> has_numbers_;  // One for each entity of that epoch.
  int rescans_left_ = 0;
};

}  // namespace podgpu
