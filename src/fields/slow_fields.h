// The fields that DCGM samples at a pace of its own, slower than a watch may ask for.
//
// A value of such a field is as fresh as the engine makes it, so it is judged by its own period,
// and it says nothing of whether a device still speaks.  Facts of DCGM 4.6.0, seen 2026-11-22.
// Constant; any thread.
#pragma once

#include <chrono>
#include <cstdint>

namespace podgpu {

// How often the field is sampled at best; zero: as often as is asked for.
constexpr std::chrono::seconds OwnPeriodOf(uint16_t field) {
  constexpr uint16_t kInforomChecksum = 83;
  constexpr uint16_t kInforomValid = 84;
  const bool is_slow = field == kInforomChecksum || field == kInforomValid;
  return std::chrono::seconds(is_slow ? 30 : 0);
}

}  // namespace podgpu
