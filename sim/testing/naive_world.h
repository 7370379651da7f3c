// A slow and simple evaluation of random scenarios, to compare worlds with.
//
// A NaiveWorld steps through a RandomScenario in steps of a millisecond with the formulas of
// compile_physics.h (contention, power cap, lag of temperature) and shares no code with the
// compiler.  Borrows the scenario.  Tests only.
#pragma once

#include <cmath>
#include <cstdint>
#include <string_view>
#include <vector>

#include "sim/testing/random_scenario.h"
#include "sim/world/world.h"

namespace podgpu::sim {

// One GPU of a RandomScenario, in steps of a millisecond.
class NaiveWorld {
 public:
  NaiveWorld(const RandomScenario& scenario, int gpu) : scenario_(scenario), gpu_(gpu) {
    process_nj.resize(scenario.processes.size());
  }

  // The amounts since the epoch, without noise, and the present state.
  Int128 energy_nj = 0, sm_ppm_us = 0, dram_ppm_us = 0, thermal_ppm_us = 0;
  std::vector<Int128> process_nj;
  double temperature_c = 30.0 + 0.075 * 70.0;
  int64_t now_ms = 0;

  int64_t LimitMw() const {
    int64_t limit_mw = 700'000;
    for (const RandomLimit& limit : scenario_.limits) {
      if (limit.gpu == gpu_ && limit.at_ms <= now_ms) {
        limit_mw = limit.watts * 1'000;
      }
    }
    return limit_mw;
  }

  // The throttling in force; null when there is none.
  const RandomThrottle* Throttle() const {
    for (const RandomThrottle& throttle : scenario_.throttles) {
      if (throttle.Holds(gpu_, now_ms)) {
        return &throttle;
      }
    }
    return nullptr;
  }

  double AmbientC() const {
    for (const RandomHeat& heat : scenario_.heats) {
      if (heat.Holds(gpu_, now_ms)) {
        return static_cast<double>(heat.ambient_c);
      }
    }
    return 30.0;
  }

  int64_t MemoryBytes() const {
    int64_t bytes = 0;
    for (const RandomProcess& process : scenario_.processes) {
      if (process.gpu == gpu_ && process.Lives(now_ms)) {
        bytes += process.PhaseAt(now_ms).memory_mib << 20;
      }
    }
    return bytes;
  }

  void Step() {
    constexpr int64_t kIdleMw = 70'000;
    constexpr int64_t kStepUs = 1'000;
    constexpr int64_t kWhole = 1'000'000;
    std::vector<int64_t> sm(process_nj.size());
    std::vector<int64_t> dram(process_nj.size());
    std::vector<int64_t> drawn(process_nj.size());
    int64_t asked = 0;
    for (size_t i = 0; i < sm.size(); ++i) {
      const RandomProcess& process = scenario_.processes[i];
      if (process.gpu == gpu_ && process.Lives(now_ms)) {
        sm[i] = process.PhaseAt(now_ms).sm_percent * 10'000;
        dram[i] = process.PhaseAt(now_ms).mem_percent * 10'000;
        asked += sm[i];
      }
    }
    Share(asked, sm, sm);
    Share(asked, dram, dram);
    int64_t traffic = 0;
    for (const int64_t value : dram) {
      traffic += value;
    }
    Share(traffic, dram, dram);
    int64_t sum = 0;
    for (size_t i = 0; i < sm.size(); ++i) {
      const RandomProcess& process = scenario_.processes[i];
      drawn[i] = (process.k_w * 1'000 * sm[i] + process.m_w * 1'000 * dram[i]) / kWhole;
      if (const RandomThrottle* const throttle = Throttle()) {
        const Int128 part = throttle->clock_ppm;
        drawn[i] = static_cast<int64_t>(drawn[i] * part * part * part /
                                        (static_cast<Int128>(kWhole) * kWhole * kWhole));
      }
      sum += drawn[i];
    }
    const int64_t budget = LimitMw() - kIdleMw;
    int64_t power_mw = kIdleMw;
    for (size_t i = 0; i < sm.size(); ++i) {
      const int64_t granted = sum > budget ? drawn[i] * budget / sum : drawn[i];
      power_mw += granted;
      process_nj[i] += static_cast<Int128>(granted) * kStepUs;
      sm_ppm_us += static_cast<Int128>(sm[i]) * kStepUs;
      dram_ppm_us += static_cast<Int128>(dram[i]) * kStepUs;
    }
    energy_nj += static_cast<Int128>(power_mw) * kStepUs;
    if (const RandomThrottle* const throttle = Throttle();
        throttle != nullptr && throttle->why == std::string_view("thermal")) {
      thermal_ppm_us += static_cast<Int128>(kWhole - throttle->clock_ppm) * kStepUs;
    }
    const double target = AmbientC() + 0.075 * static_cast<double>(power_mw) / 1'000.0;
    temperature_c = target + (temperature_c - target) * std::exp(-0.001 / 20.0);
    ++now_ms;
  }

 private:
  // Scales values down to the whole when their sum exceeds it.
  static void Share(int64_t asked, const std::vector<int64_t>& from, std::vector<int64_t>& to) {
    constexpr int64_t kWhole = 1'000'000;
    for (size_t i = 0; i < from.size() && asked > kWhole; ++i) {
      to[i] = from[i] * kWhole / asked;
    }
  }

  const RandomScenario& scenario_;
  int gpu_;
};

}  // namespace podgpu::sim
