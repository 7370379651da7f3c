// The table and the plot of docs/energy.md, made from the same figures.
//
// Pure functions of the figures, so that neither can say what was not measured; a test compares
// them with what is committed.
#pragma once

#include <span>
#include <string>

#include "tests/energy/energy_figures.h"

namespace podgpu {

inline constexpr double kLeastRatioInPlot = 0.25;
inline constexpr double kMostRatioInPlot = 16;

// Markdown: a line per process.
std::string EnergyTable(std::span<const ScenarioFigures> scenarios);

// SVG, for light and for dark pages: a line per process, on it what each method says as a multiple
// of the truth.
std::string EnergyPlot(std::span<const ScenarioFigures> scenarios);

}  // namespace podgpu
