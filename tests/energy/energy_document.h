// The table and the plot of docs/energy.md, made from the measured figures.
//
// Pure functions of the figures; a test compares their result with the committed files.
#pragma once

#include <span>
#include <string>

#include "tests/energy/energy_figures.h"

namespace podgpu {

inline constexpr double kLeastRatioInPlot = 0.25;
inline constexpr double kMostRatioInPlot = 16;

// Markdown: a line per process.
std::string EnergyTable(std::span<const ScenarioFigures> scenarios);

// SVG, for light and for dark pages: one line per process with the result of each method as a
// multiple of the truth.
std::string EnergyPlot(std::span<const ScenarioFigures> scenarios);

}  // namespace podgpu
