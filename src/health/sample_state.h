// What the values of one reading tell about a GPU: fresh, missing, stale, or missing with a good
// reason.
//
// The driver's state alone is not enough: it still lists a device as healthy when the samples of
// the device have stopped or never started.  JudgeSamples looks at one reading; FreshnessTracker
// (freshness_tracker.h) decides which readings make a GPU unresponsive.  Plain data and pure
// functions; called on the tick thread once per tick.
#pragma once

#include <cstdint>

#include "facts/gpu_freshness.h"
#include "sample/grid.h"

namespace podgpu {

// The result for the values of a GPU and of its instances together.
enum class SampleState : uint8_t {
  kFresh,    // At least one of them is a fresh number.
  kExcused,  // No number, and none is expected: no requested field exists on the board, it
             // sleeps, or profiling is paused on request.
  kStale,    // The values were withdrawn because they are too old.
  kMissing,  // No number.
};

struct SampleVerdict {
  SampleState state = SampleState::kExcused;
  Absence reason = Absence::kNotRead;  // Why there is no number; kNotRead if no field applies to
                                       // the GPU.
  bool operator==(const SampleVerdict&) const = default;
};

// Judges the values of GPU `index` in `grid`, from which stale values are already withdrawn.  The
// fields from which podgpu judges a device itself do not count: that of the last XID may be absent
// or old on a healthy GPU, and the others are read even when no metric asks for them.
SampleVerdict JudgeSamples(const Grid& grid, size_t index);

}  // namespace podgpu
