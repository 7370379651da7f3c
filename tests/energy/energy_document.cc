#include "tests/energy/energy_document.h"

#include <cmath>
#include <string_view>

#include "absl/strings/str_format.h"

namespace podgpu {
namespace {

// "1,234"; energies are below a million joules.
std::string Grouped(double joules) {
  const auto whole = static_cast<int>(std::lround(joules));
  return whole < 1'000 ? absl::StrFormat("%d", whole)
                       : absl::StrFormat("%d,%03d", whole / 1'000, whole % 1'000);
}

// "1,234 (+5 %)"; without a percentage when the true energy is 0.
std::string Against(double said_j, double true_j) {
  if (true_j <= 0) {
    return Grouped(said_j);
  }
  const auto percent = static_cast<int>(std::lround(100 * (said_j / true_j - 1)));
  return absl::StrFormat("%s (%s%d %%)", Grouped(said_j), percent > 0 ? "+" : "", percent);
}

}  // namespace

std::string EnergyTable(std::span<const ScenarioFigures> scenarios) {
  std::string table =
      "| | process | drew by its work | and with a part of idle | podgpu | podgpu, idle power set "
      "aside | equal parts | DCGM | DCGM, 30 s kept |\n|---|---|---|---|---|---|---|---|---|\n";
  for (const ScenarioFigures& figures : scenarios) {
    std::string_view name = figures.scenario.name;
    for (const ProcessFigures& process : figures.processes) {
      const double true_j = process.true_j();
      absl::StrAppendFormat(
          &table, "| %s | %s | %s | %s | %s | %s | %s | %s | %s |\n", name, process.pod,
          Grouped(process.own_j), Grouped(true_j), Against(process.podgpu_j, true_j),
          Against(process.set_aside_j, process.own_j), Against(process.equal_j, true_j),
          Against(process.dcgm_j, true_j), Against(process.dcgm_window_j, true_j));
      name = "";
    }
  }
  return table;
}

}  // namespace podgpu
