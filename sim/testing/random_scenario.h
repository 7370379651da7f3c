// Random scenarios for property tests.
//
// A RandomScenario is a list of processes, power limits and faults on H100s without MIG, made from
// a seed that a failing test prints; Yaml() writes it as a scenario.  Throttling and warm air
// change the world; the other faults must not.  All its times are whole milliseconds, so
// naive_world.h can step through it exactly.  Tests only.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

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

// A fault on the clocks or the air of a GPU, for a time.
struct RandomThrottle {
  int gpu;
  int64_t at_ms, stop_ms, clock_ppm;
  const char* why;
  bool Holds(int which, int64_t t_ms) const {
    return gpu == which && at_ms <= t_ms && t_ms < stop_ms;
  }
};
struct RandomHeat {
  int gpu;
  int64_t at_ms, stop_ms, ambient_c;
  bool Holds(int which, int64_t t_ms) const {
    return gpu == which && at_ms <= t_ms && t_ms < stop_ms;
  }
};

struct RandomScenario {
  static constexpr int64_t kHottestAmbientC = 60;
  int gpus = 1;
  int64_t noise_mw = 0;
  uint64_t seed = 1;
  std::vector<RandomProcess> processes;
  std::vector<RandomLimit> limits;  // By time.
  std::vector<RandomThrottle> throttles;
  std::vector<RandomHeat> heats;
  std::vector<std::string> others;  // Entries of other kinds of fault.

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
      // Periods with a small common multiple, as scenarios should have.
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
    for (int gpu = 0; gpu < gpus; ++gpu) {
      constexpr std::array<const char*, 4> kReasons = {"power", "thermal", "hw", "brake"};
      const int64_t start = pick(0, 30'000);
      if (pick(0, 1) == 1) {
        throttles.push_back({gpu, start, start + pick(1, 20'000), pick(0, 100) * 10'000,
                             kReasons.at(static_cast<size_t>(pick(0, 3)))});
      }
      if (pick(0, 1) == 1) {
        heats.push_back({gpu, start, start + pick(1, 30'000), pick(30, kHottestAmbientC)});
      }
    }
    constexpr std::array<const char*, 13> kOthers = {"kind: gpu_lost, gpu: 0",
                                                     "kind: gpu_absent, gpu: 0",
                                                     "kind: bind_unbind",
                                                     "kind: hang, calls: [\"*\"]",
                                                     "kind: slow, calls: [dcgmInit], ms: 5",
                                                     "kind: error, calls: [dcgmInit], code: -3",
                                                     "kind: garbage",
                                                     "kind: nodata, fields: [150]",
                                                     "kind: watch_stale",
                                                     "kind: clock_jump, s: -60",
                                                     "kind: no_nvml",
                                                     "kind: engine_kill",
                                                     "kind: kubelet_down"};
    others.push_back("at: " + std::to_string(pick(0, 60)) + "s, " +
                     kOthers.at(static_cast<size_t>(pick(0, kOthers.size() - 1))));
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
    const auto window = [](const char* kind, const auto& fault) {
      return "  - {kind: " + std::string(kind) + ", gpu: " + std::to_string(fault.gpu) +
             ", at: " + std::to_string(fault.at_ms) +
             "ms, for: " + std::to_string(fault.stop_ms - fault.at_ms) + "ms, ";
    };
    for (const RandomThrottle& throttle : throttles) {
      const std::string hundredths = std::to_string(throttle.clock_ppm / 10'000 + 100).substr(1);
      text += window("throttle", throttle) + "why: " + throttle.why +
              ", factor: " + (throttle.clock_ppm == 1'000'000 ? "1" : "0." + hundredths) + "}\n";
    }
    for (const RandomHeat& heat : heats) {
      text += window("thermal", heat) + "ambient_c: " + std::to_string(heat.ambient_c) + "}\n";
    }
    for (const std::string& other : others) {
      text += "  - {" + other + "}\n";
    }
    return text;
  }
};

}  // namespace podgpu::sim
