// Podgpu's energy of processes on a simulated GPU, beside their true energy and that of other
// methods.
//
// Five ways to share a GPU; each runs for five minutes on a virtual clock, through the program's
// own path (process_node.h), and is compared with the truth of the simulator.  The figures are the
// same on every machine.  Tests only.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace podgpu {

struct EnergyScenario {
  std::string_view name;
  std::string_view what;  // A sentence without a full stop.
  std::string_view text;  // The scenario; only processes of GPU 0 count.
  unsigned idle_w = 70;   // Idle power of its board.
};
std::span<const EnergyScenario> EnergyScenarios();

// The figures of one process, in joules.
struct ProcessFigures {
  std::string pod;
  double own_j = 0;        // True energy of its own work.
  double idle_part_j = 0;  // True equal part of the board's idle energy while it lives.
  double podgpu_j = 0;
  double set_aside_j = 0;  // podgpu with --gpu-idle-power of the board; to be compared with own_j.
  double equal_j = 0;      // The GPU's energy in equal parts, second by second.
  double dcgm_j = 0;       // DCGM's definition, with every sample of the process's life kept.
  double dcgm_window_j = 0;  // The same with the bindings' limit: the last 30 s at most.
  double true_j() const { return own_j + idle_part_j; }
};

struct ScenarioFigures {
  EnergyScenario scenario;
  std::vector<ProcessFigures> processes;  // By pid.
  double device_j = 0;                    // The increase of the GPU's counter.
};

// Also checks that each page adds up to the counter.
ScenarioFigures Measure(const EnergyScenario& scenario);

}  // namespace podgpu
