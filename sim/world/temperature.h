// The temperature within an era: a first-order lag behind power, in closed form.
//
// Compiler (to continue it over a cut between eras) and evaluator share these lines, so both get
// the same bits.  Pure function; any thread.  Standard library only.
#pragma once

#include "sim/world/arithmetic.h"
#include "sim/world/image.h"

namespace podgpu::sim {

// Degrees Celsius `into_segment_us` after the start of `segment` in the era's cycle `cycle`.
inline double TemperatureIn(const EraRecord& era, const SegmentRecord& segment, int64_t cycle,
                            TimeUs into_segment_us, double time_constant_us, bool memory) {
  const double limit_c = memory ? era.memory_limit_c : era.limit_c;
  const double start_c = memory ? era.memory_start_c : era.start_c;
  const double target_c = memory ? segment.memory_target_c : segment.target_c;
  const double shift_c = memory ? segment.memory_shift_c : segment.shift_c;
  const double cycle_c = limit_c + (start_c - limit_c) * PowerOf(era.decay, cycle);
  const double segment_c = segment.decay * cycle_c + shift_c;
  const double elapsed = static_cast<double>(into_segment_us) / time_constant_us;
  return target_c + (segment_c - target_c) * ExpOfNegative(-elapsed);
}

}  // namespace podgpu::sim
