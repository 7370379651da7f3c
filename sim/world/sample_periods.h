// The driver's sample periods: when its utilisation samples end.
//
// Six samples a second, from the world's epoch.  A boundary is rounded down to its microsecond.
// Part of the faces: standard library only.  Pure functions; any thread.
#pragma once

#include "sim/world/facts.h"

namespace podgpu::sim {

inline constexpr TimeUs kSamplesPerSecond = 6;

// The k-th boundary between samples.
constexpr TimeUs SampleBoundary(int64_t k) {
  return (k / kSamplesPerSecond) * kSecondUs +
         (k % kSamplesPerSecond) * kSecondUs / kSamplesPerSecond;
}

// How many whole sample periods have passed at t.
constexpr int64_t SampleCount(TimeUs t) {
  const int64_t whole = t / kSecondUs;
  const int64_t k = whole * kSamplesPerSecond + (t % kSecondUs) * kSamplesPerSecond / kSecondUs;
  return SampleBoundary(k + 1) <= t ? k + 1 : k;
}

}  // namespace podgpu::sim
