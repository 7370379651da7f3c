// The table of docs/energy.md, made from the measured figures.
//
// A pure function of the figures; a test compares its result with the committed document.
#pragma once

#include <span>
#include <string>

#include "tests/energy/energy_figures.h"

namespace podgpu {

// Markdown: a line per process.
std::string EnergyTable(std::span<const ScenarioFigures> scenarios);

}  // namespace podgpu
