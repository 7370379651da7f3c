// Fields that DCGM samples at its own interval, which is longer than a watch may request.
//
// The age of such a value is judged by the field's own interval, and the value does not show
// whether the device still answers. Measured with DCGM 4.6.0 on 2026-11-22. Constant; any thread.
#pragma once

#include <chrono>
#include <cstdint>

#include "fields/field_ids.h"

namespace podgpu {

// A value of a field with an interval of its own is too old after so many of them.
inline constexpr int kPeriodsUntilStale = 3;

// Returns the shortest sampling interval of the field; zero: the requested interval.
constexpr std::chrono::seconds OwnPeriodOf(uint16_t field) {
  const bool is_slow = field == field_ids::kInforomChecksum || field == field_ids::kInforomValid;
  return std::chrono::seconds(is_slow ? 30 : 0);
}

}  // namespace podgpu
