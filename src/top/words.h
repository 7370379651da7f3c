// How `podgpu top` writes numbers: short, with a unit, and a dash for a number that is not there.
//
// Apportioned figures begin with "~".  Pure functions; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "top/canvas.h"

namespace podgpu {

inline constexpr std::string_view kDash = "-";

// Returns for example "97"; `ratio` is from 0 to 1.
std::string PercentWord(std::optional<double> ratio);
// Returns for example "67.2", in GiB.
std::string GibWord(std::optional<uint64_t> bytes);
// Returns for example "134.4G" or "1.2T".
std::string MemoryWord(std::optional<uint64_t> bytes);
// Returns for example "652" or "~151".
std::string WattsWord(std::optional<double> watts, bool is_apportioned = false);
// Returns for example "3.10 kW" or "652 W".
std::string PowerWord(double watts);
// Returns for example "9.4 Wh", "~0.42 kWh" or "14.2 kWh".
std::string EnergyWord(std::optional<double> joules, bool is_apportioned = false);
// A duration without seconds, in at most six columns: "14m", "2h14m", ">14m".
std::string IdleWord(int64_t ms, bool is_longer = false);
// Returns for example "0.5s" or "1s".
std::string IntervalWord(int64_t ms);
// Returns for example "0,1" or "0-7".
std::string GpusWord(const std::vector<uint32_t>& gpus);
// "ok", "degr", "unresp", "lost", "recov", "start", "wait"; any other word as it is.
std::string_view ShortState(std::string_view state);
Ink InkOfState(std::string_view state);

}  // namespace podgpu
