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

// "97", of a ratio from 0 to 1.
std::string PercentWord(std::optional<double> ratio);
// "67.2", in GiB.
std::string GibWord(std::optional<uint64_t> bytes);
// "134.4G", "1.2T"
std::string MemoryWord(std::optional<uint64_t> bytes);
// "652", "~151"
std::string WattsWord(std::optional<double> watts, bool is_apportioned = false);
// "3.10 kW", "652 W"
std::string PowerWord(double watts);
// "9.4 Wh", "~0.42 kWh", "14.2 kWh"
std::string EnergyWord(std::optional<double> joules, bool is_apportioned = false);
// A duration without seconds, in at most six columns: "14m", "2h14m", ">14m".
std::string IdleWord(int64_t ms, bool is_longer = false);
// "0.5s", "1s"
std::string IntervalWord(int64_t ms);
// "0,1", "0-7"
std::string GpusWord(const std::vector<uint32_t>& gpus);
// "ok", "degr", "unresp", "lost", "recov", "start", "wait"; any other word as it is.
std::string_view ShortState(std::string_view state);
Ink InkOfState(std::string_view state);

}  // namespace podgpu
