#include "tests/energy/energy_document.h"

#include <algorithm>
#include <array>
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

// A figure of a process, and the truth with which it is compared.
struct Mark {
  std::string_view name;
  double ProcessFigures::*said;
  bool own_alone;  // Otherwise its part of the idle energy is included.
};
constexpr std::array<Mark, 4> kMarks = {{
    {"podgpu", &ProcessFigures::podgpu_j, false},
    {"podgpu, idle power set aside", &ProcessFigures::set_aside_j, true},
    {"equal parts", &ProcessFigures::equal_j, false},
    {"DCGM", &ProcessFigures::dcgm_j, false},
}};

double TrueOf(const ProcessFigures& process, const Mark& mark) {
  return mark.own_alone ? process.own_j : process.true_j();
}

constexpr double kWidth = 760;
constexpr double kLeft = 170;  // Left end of the scale, after the names.
constexpr double kScaleWidth = 560;
constexpr double kTop = 64;
constexpr double kLineHeight = 26;

// A figure of 0 has its own place, to the left of the scale of ratios.
double PlaceOf(double ratio) {
  if (ratio == 0) {
    return kLeft - kLineHeight;
  }
  const double bounded = std::clamp(ratio, kLeastRatioInPlot, kMostRatioInPlot);
  return kLeft + kScaleWidth * std::log2(bounded / kLeastRatioInPlot) /
                     std::log2(kMostRatioInPlot / kLeastRatioInPlot);
}

// Each kind of mark has its own shape, so the plot does not depend on colours.
std::string Shape(size_t kind, double x, double y) {
  switch (kind) {
    case 0:
      return absl::StrFormat("<circle class=\"podgpu\" cx=\"%.1f\" cy=\"%.1f\" r=\"6\"/>\n", x, y);
    case 1:
      return absl::StrFormat("<circle class=\"aside\" cx=\"%.1f\" cy=\"%.1f\" r=\"5\"/>\n", x, y);
    case 2:
      return absl::StrFormat("<path class=\"equal\" d=\"M%.1f %.1fl9 15h-18z\"/>\n", x, y - 10);
    default:
      return absl::StrFormat(
          "<rect class=\"dcgm\" x=\"%.1f\" y=\"%.1f\" width=\"9\" height=\"9\"/>\n", x - 4.5,
          y - 4.5);
  }
}

std::string Text(double x, double y, std::string_view anchor, std::string_view text) {
  return absl::StrFormat("<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">%s</text>\n", x, y, anchor,
                         text);
}

std::string Head(double height) {
  return absl::StrFormat(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %.0f %.0f\" role=\"img\" "
      "aria-label=\"Energy said of each process as a multiple of what it drew\">\n"
      "<style>\n"
      "text { font: 12px sans-serif; fill: #24292f; }\n"
      ".page { fill: #ffffff; } .rule { stroke: #d0d7de; } .truth { stroke: #24292f; }\n"
      ".podgpu { fill: #0969da; } .aside { fill: none; stroke: #0969da; stroke-width: 2; }\n"
      ".equal { fill: #8250df; } .dcgm { fill: #cf222e; }\n"
      "@media (prefers-color-scheme: dark) {\n"
      "text { fill: #e6edf3; }\n"
      ".page { fill: #0d1117; } .rule { stroke: #30363d; } .truth { stroke: #e6edf3; }\n"
      ".podgpu { fill: #58a6ff; } .aside { stroke: #58a6ff; }\n"
      ".equal { fill: #bc8cff; } .dcgm { fill: #ff7b72; }\n"
      "}\n"
      "</style>\n"
      "<rect class=\"page\" width=\"%.0f\" height=\"%.0f\"/>\n",
      kWidth, height, kWidth, height);
}

std::string Legend() {
  std::string legend;
  double x = 24;
  for (size_t kind = 0; kind < kMarks.size(); ++kind) {
    legend += Shape(kind, x, 20) + Text(x + 12, 24, "start", kMarks[kind].name);
    x += 40 + 7 * static_cast<double>(kMarks[kind].name.size());
  }
  return legend;
}

std::string Scale(double bottom) {
  constexpr std::array<std::pair<double, std::string_view>, 8> kTicks = {{{0, "0"},
                                                                          {0.25, "1/4"},
                                                                          {0.5, "1/2"},
                                                                          {1, "true"},
                                                                          {2, "2 x"},
                                                                          {4, "4 x"},
                                                                          {8, "8 x"},
                                                                          {16, "16 x"}}};
  std::string scale;
  for (const auto& [ratio, name] : kTicks) {
    absl::StrAppendFormat(
        &scale, "<line class=\"%s\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%.1f\" y2=\"%.1f\"/>\n",
        ratio == 1 ? "truth" : "rule", PlaceOf(ratio), PlaceOf(ratio), kTop - 8, bottom);
    scale += Text(PlaceOf(ratio), kTop - 14, "middle", name);
  }
  return scale;
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

std::string EnergyPlot(std::span<const ScenarioFigures> scenarios) {
  std::string lines;
  double y = kTop + kLineHeight / 2;
  for (const ScenarioFigures& figures : scenarios) {
    for (const ProcessFigures& process : figures.processes) {
      lines += Text(kLeft - 12, y + 4, "end",
                    absl::StrFormat("%s: %s", figures.scenario.name, process.pod));
      for (size_t kind = kMarks.size(); kind-- > 0;) {  // Podgpu's marks are drawn last, on top.
        const double true_j = TrueOf(process, kMarks[kind]);
        if (true_j > 0) {
          lines += Shape(kind, PlaceOf(process.*kMarks[kind].said / true_j), y);
        }
      }
      y += kLineHeight;
    }
    y += kLineHeight / 3;
  }
  return Head(y + 8) + Legend() + Scale(y) + lines + "</svg>\n";
}

}  // namespace podgpu
