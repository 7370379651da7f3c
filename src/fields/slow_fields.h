// The fields that DCGM samples at a pace of its own, slower than a watch may ask for.
//
// A value of such a field is as fresh as the engine makes it, so it is judged by its own period,
// and it says nothing of whether a device still speaks.  Facts of DCGM 4.6.0, seen 2026-11-22.
// Constant; any thread.
#pragma once

#include <chrono>
#include <cstdint>

#include "fields/field_ids.h"

namespace podgpu {

// How often the field is sampled at best; zero: as often as is asked for.
constexpr std::chrono::seconds OwnPeriodOf(uint16_t field) {
  const bool is_slow = field == field_ids::kInforomChecksum || field == field_ids::kInforomValid;
  return std::chrono::seconds(is_slow ? 30 : 0);
}

}  // namespace podgpu
