// The phases of the fault matrix in its virtual time.
//
// The clock advances in whole steps, and the fake's measurements repeat after kPhases steps.  So
// every page that a healthy node can show is recorded once and recognised by its phase.  A step is
// as long as the longest sleep of a tick (a quarter more than a period), so each step causes one
// tick.
#pragma once

#include <chrono>

#include "base/clock.h"

namespace podgpu {

inline constexpr std::chrono::seconds kMatrixPeriod{8};
inline constexpr std::chrono::seconds kMatrixStep{10};
inline constexpr int kPhases = 16;

inline int PhaseOf(WallTime time) {
  return static_cast<int>(time.time_since_epoch() / kMatrixStep % kPhases);
}

}  // namespace podgpu
