// Random scenarios for property tests, and the slow, obvious way to evaluate them.
//
// A RandomScenario is a list of processes and power limits on H100s without MIG; Yaml() writes it
// as a scenario, and NaiveWorld steps through it a millisecond at a time with the formulas of the
// facts, sharing no code with the compiler.  All its times are whole milliseconds, so the steps are
// exact.  Tests only.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "sim/world.h"

namespace podgpu::sim {

struct RandomPhase {
  int64_t tenths_s, sm_percent, mem_percent, memory_mib;
};
struct RandomProcess {
  int pid, gpu;
  int64_t start_ms, stop_ms;  // stop -1: never
  int64_t k_w, m_w;
  std::vector<RandomPhase> phases;

  bool Lives(int64_t t_ms) const { return t_ms >= start_ms && (stop_ms < 0 || t_ms < stop_ms); }
  const RandomPhase& PhaseAt(int64_t t_ms) const {
    int64_t period = 0;
    for (const RandomPhase& phase : phases) {
      period += phase.tenths_s * 100;
    }
    int64_t offset = (t_ms - start_ms) % period;
    for (const RandomPhase& phase : phases) {
      if (offset < phase.tenths_s * 100) {
        return phase;
      }
      offset -= phase.tenths_s * 100;
    }
    return phases.front();
  }
};
struct RandomLimit {
  int gpu;
  int64_t at_ms, watts;
};

struct RandomScenario {
  int gpus = 1;
  int64_t noise_mw = 0;
  uint64_t seed = 1;
  std::vector<RandomProcess> processes;
  std::vector<RandomLimit> limits;  // By time.

  explicit RandomScenario(uint64_t number) : seed(number) {
    std::mt19937_64 random(number);
    const auto pick = [&random](int64_t least, int64_t most) {
      return std::uniform_int_distribution<int64_t>(least, most)(random);
    };
    gpus = static_cast<int>(pick(1, 2));
    noise_mw = pick(0, 1) * 1'500;
    const int64_t count = pick(0, 7);
    for (int64_t i = 0; i < count; ++i) {
      RandomProcess process{static_cast<int>(4'000 + i),
                            static_cast<int>(pick(0, gpus - 1)),
                            pick(0, 30'000),
                            -1,
                            pick(100, 700),
                            pick(0, 150),
                            {}};
      process.start_ms *= pick(0, 1);
      process.stop_ms = pick(0, 1) == 0 ? -1 : process.start_ms + pick(1, 40'000);
      // Periods with a small common multiple, as a scenario should have.
      constexpr std::array<int64_t, 6> kPeriodTenths = {10, 15, 20, 30, 40, 60};
      int64_t left = kPeriodTenths.at(static_cast<size_t>(pick(0, 5)));
      while (left > 0) {
        const int64_t tenths = std::min(left, pick(1, 25));
        process.phases.push_back(
            {tenths, pick(0, 3) == 0 ? 0 : pick(0, 100), pick(0, 100), pick(0, 9'000)});
        left -= tenths;
      }
      processes.push_back(process);
    }
    int64_t at = 0;
    for (int64_t i = pick(0, 3); i > 0; --i) {
      at += pick(1, 20'000);
      limits.push_back({static_cast<int>(pick(0, gpus - 1)), at, pick(200, 700)});
    }
  }

  std::string Yaml() const {
    std::string text = "format: 1\nname: random\nseed: " + std::to_string(seed) +
                       "\nnoise_mw: " + std::to_string(noise_mw) +
                       "\ngpus: [{count: " + std::to_string(gpus) +
                       ", class: h100-sxm5-80gb}]\norphans:\n";
    for (const RandomProcess& process : processes) {
      text += "  - {pid: " + std::to_string(process.pid) + ", gpu: " + std::to_string(process.gpu) +
              ", start: " + std::to_string(process.start_ms) +
              "ms, k_w: " + std::to_string(process.k_w) + ", m_w: " + std::to_string(process.m_w) +
              ", ";
      text += process.stop_ms < 0 ? "" : "stop: " + std::to_string(process.stop_ms) + "ms, ";
      text += "load: {phases: [";
      for (const RandomPhase& phase : process.phases) {
        text += "{for: " + std::to_string(phase.tenths_s * 100) +
                "ms, sm: " + std::to_string(phase.sm_percent) +
                "%, mem: " + std::to_string(phase.mem_percent) +
                "%, memory: " + std::to_string(phase.memory_mib) + "MiB}, ";
      }
      text += "]}}\n";
    }
    text += "faults:\n";
    for (const RandomLimit& limit : limits) {
      text += "  - {at: " + std::to_string(limit.at_ms) +
              "ms, kind: power_limit, gpu: " + std::to_string(limit.gpu) +
              ", watts: " + std::to_string(limit.watts) + "}\n";
    }
    return text;
  }
};

// One GPU of a RandomScenario, a millisecond at a time.
class NaiveWorld {
 public:
  NaiveWorld(const RandomScenario& scenario, int gpu) : scenario_(scenario), gpu_(gpu) {
    process_nj.resize(scenario.processes.size());
  }

  // What has accumulated since the epoch, without noise; and the state at that time.
  Int128 energy_nj = 0, sm_ppm_us = 0, dram_ppm_us = 0;
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
    const double target = 30.0 + 0.075 * static_cast<double>(power_mw) / 1'000.0;
    temperature_c = target + (temperature_c - target) * std::exp(-0.001 / 20.0);
    ++now_ms;
  }

 private:
  // Cuts values to the whole when what was asked exceeds it.
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
