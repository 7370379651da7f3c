// The fields in base units that DCGM 4.6.1 and 4.7 added beside older fields.
//
// Each says the same as an older field in another unit, so where a library or an engine does not
// know the new one, its value follows from the old one.  Needs only the standard library.
// Immutable; any thread.
#pragma once

#include <cstdint>
#include <span>

namespace podgpu {

// A value of `id` is one of `old_id` times `factor`, divided by `divisor`.
struct BaseUnit {
  uint16_t id = 0;
  uint16_t old_id = 0;
  int64_t factor = 1;
  int64_t divisor = 1;
  bool is_whole = true;  // The result is an integer, rounded down; else it is a double.
};

// GPU_UTIL_RATIO as dcgm-exporter 4.8.3 and 4.8.4 have it with DCGM 4.6: the percentage.
inline constexpr BaseUnit kUtilRatioInPercent = {1613, 203, 1, 1, true};

// Ascending by `id`.
std::span<const BaseUnit> BaseUnits();

// Returns the row whose new field has this id; null if there is none.
const BaseUnit* BaseUnitOf(uint16_t id);

}  // namespace podgpu
