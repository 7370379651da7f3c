// Where the fault matrix stands in its virtual time.
//
// The clock moves by whole steps only, and what a fake measures repeats after kPhases of them, so
// that every page that a healthy node can show is recorded once and known by its phase.  A step is
// as long as a tick sleeps when nobody wakes it (a quarter more than a period), so that each brings
// one.
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
