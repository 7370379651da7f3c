// What podgpu says that processes drew on a simulated GPU, beside what they really drew and what
// others would say.
//
// Five ways for a GPU to be shared; each is run for five minutes on a virtual clock, through the
// program's own path (process_node.h), and compared with the truth that only the simulator knows.
// The figures are the same on every machine.  Tests only.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace podgpu {

struct EnergyScenario {
  std::string_view name;
  std::string_view what;  // A sentence without a full stop.
  std::string_view text;  // Of the simulator; processes are those of GPU 0.
  unsigned idle_w = 70;   // What its board draws without work.
};
std::span<const EnergyScenario> EnergyScenarios();

// In joules, of one process.
struct ProcessFigures {
  std::string pod;
  double own_j = 0;        // True: by its own work.
  double idle_part_j = 0;  // True: an equal part of what the idle board draws while it is there.
  double podgpu_j = 0;
  double set_aside_j = 0;  // podgpu with --gpu-idle-power of the board; to be compared with own_j.
  double equal_j = 0;      // The GPU's energy in equal parts, second by second.
  double dcgm_j = 0;       // DCGM's definition, with every sample of the process's life kept.
  double dcgm_window_j = 0;  // The same as its bindings ask for it: at the most the last 30 s.
  double true_j() const { return own_j + idle_part_j; }
};

struct ScenarioFigures {
  EnergyScenario scenario;
  std::vector<ProcessFigures> processes;  // By pid.
  double device_j = 0;                    // What the GPU's counter grew by.
};

// Expects on the way that each page adds up to the counter.
ScenarioFigures Measure(const EnergyScenario& scenario);

}  // namespace podgpu
