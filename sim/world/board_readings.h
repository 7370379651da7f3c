// What a board reports besides the world's integrals: derived clocks, limits, fans, spare rows.
//
// Both vendor faces answer from here, so that they agree.  Each value follows from the board's
// class, the world at t and the faults that have come by then.  Part of the faces: standard library
// only.  Pure functions; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "sim/world/world.h"

namespace podgpu::sim {

// Number of memory banks by how many of their spare rows are left.
struct SpareRows {
  int64_t max = 0, high = 0, partial = 0, low = 0, none = 0;
};

// Empty when a board of this class lacks the reading.
std::optional<int> FanPercent(const World& world, int gpu, TimeUs t);
std::optional<int> MemoryMaxTemperatureC(const GpuFacts& facts);
// Degrees below the slowdown temperature, on boards that report it: Ada and newer.
std::optional<int> MarginTemperatureC(const World& world, int gpu, TimeUs t);
std::optional<SpareRows> SpareRowsOf(const World& world, int gpu, TimeUs t);

int GpuMaxTemperatureC(const GpuFacts& facts);
int VideoClockMhz(const World& world, int gpu, TimeUs t);
int MaxVideoClockMhz(const GpuFacts& facts);
// Memory that is mapped for the driver itself.
int64_t Bar1UsedBytes();
// NVML's recovery action: 1 (reset) while a repair of memory waits for a reset.
int64_t RecoveryAction(const World& world, int gpu, TimeUs t);
// The version of a part of the inforom, by NVML's number of that part; empty if the board has none.
std::string_view InforomVersion(const GpuFacts& facts, int object);
// KiB that all links of a GPU have moved one way, divided by `share`.
int64_t LinkKib(const World& world, int gpu, Integral what, int share, TimeUs t);

}  // namespace podgpu::sim
