// The consistency rules of a world, over random scenarios and the shipped ones.
#include <algorithm>
#include <array>
#include <random>
#include <string>
#include <vector>

#include "gtest/gtest.h"

#include "sim/testing/naive_world.h"
#include "sim/testing/random_scenario.h"
#include "sim/testing/world.h"

namespace podgpu::sim {
namespace {

constexpr TimeUs kYear = INT64_C(365) * 24 * 3'600 * kSecondUs;
constexpr uint64_t kScenarios = 60;
constexpr int kIntegrals = 17;
constexpr std::array<const char*, 9> kShipped = {"demo",    "mig-mixed",   "time-slicing",
                                                 "churn",   "h100x8-pods", "a100x2",
                                                 "one-gpu", "fault-mig",   "fault-gpu-lost"};

// Random times up to two minutes and up to a year, and every time at which a process starts or
// stops, each with its two neighbours; sorted.
std::vector<TimeUs> TimesOf(const World& world, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<TimeUs> times = {0, 1, kYear};
  for (int i = 0; i < 60; ++i) {
    times.push_back(std::uniform_int_distribution<TimeUs>(0, 120 * kSecondUs)(random));
  }
  for (int i = 0; i < 10; ++i) {
    times.push_back(std::uniform_int_distribution<TimeUs>(0, kYear)(random));
  }
  for (const Fault& fault : world.faults()) {
    times.insert(times.end(), {std::max<TimeUs>(fault.at - 1, 0), fault.at, fault.at + 1});
  }
  TimeUs change = world.NextPodChange(0);
  for (int i = 0; i < 20 && change < kYear; ++i) {
    times.insert(times.end(), {change - 1, change, change + 1});
    change = world.NextPodChange(change);
  }
  std::sort(times.begin(), times.end());
  return times;
}

// Every device of a GPU at t.
std::vector<DeviceRef> EntitiesOf(const World& world, int gpu, TimeUs t) {
  std::vector<DeviceRef> entities = {{.gpu = gpu}};
  for (int i = 0; i < world.instance_count(gpu, t); ++i) {
    entities.push_back({.gpu = gpu, .instance = i});
    for (int k = 0; k < world.compute_count(gpu, i, t); ++k) {
      entities.push_back({.gpu = gpu, .instance = i, .compute = k});
    }
  }
  return entities;
}

bool IsActivity(Integral what) { return what >= Integral::kSmPpmUs && what <= Integral::kOfaPpmUs; }

void CheckCounters(const World& world, int gpu, TimeUs before, TimeUs t) {
  for (int i = 0; i < kIntegrals; ++i) {
    const auto what = static_cast<Integral>(i);
    const Int128 earlier = world.Integrate(what, {.gpu = gpu}, before);
    const Int128 later = world.Integrate(what, {.gpu = gpu}, t);
    ASSERT_GE(later, earlier) << "integral " << i << " from " << before << " to " << t;
    ASSERT_EQ(world.IntegrateOver(what, {.gpu = gpu}, before, t), later - earlier)
        << "integral " << i;
    for (const DeviceRef& entity : EntitiesOf(world, gpu, t)) {
      const Int128 over = world.IntegrateOver(what, entity, before, t);
      ASSERT_GE(over, 0) << "integral " << i;
      if (IsActivity(what)) {
        ASSERT_LE(over, static_cast<Int128>(1'000'000) * (t - before)) << "integral " << i;
      }
    }
  }
  ASSERT_GE(world.EnergyCounterMj(gpu, t), world.EnergyCounterMj(gpu, before));
}

void CheckSensors(const World& world, int gpu, TimeUs t, int64_t noise_mw) {
  const GpuFacts& facts = world.gpu(gpu);
  const int64_t limit_mw = world.PowerLimitMw(gpu, t);
  const TimeUs refreshed = world.EnergyCounterTime(gpu, t);
  ASSERT_LE(refreshed, t);
  const int64_t power_mw = world.PowerAverageMw(gpu, t);
  ASSERT_GE(power_mw, facts.idle_mw - noise_mw);
  const int64_t highest_mw = std::max(limit_mw, facts.max_limit_mw);
  ASSERT_LE(power_mw, highest_mw + noise_mw);
  if (refreshed >= kSecondUs) {
    // 1 mW over 1 s is 1 mJ: the counter's difference is the sampled power, each rounded down.
    const int64_t moved =
        world.EnergyCounterMj(gpu, t) - world.EnergyCounterMj(gpu, refreshed - kSecondUs);
    ASSERT_LE(std::abs(moved - power_mw), 1) << t;
  }
  for (const DeviceRef& entity : EntitiesOf(world, gpu, t)) {
    for (const Integral what :
         {Integral::kSmPpmUs, Integral::kDramPpmUs, Integral::kDecoderPpmUs}) {
      const int percent = world.UtilizationPercent(what, entity, t);
      ASSERT_GE(percent, 0);
      ASSERT_LE(percent, 100);
    }
  }
  ASSERT_EQ(world.SmClockMhz(gpu, t) % 15, 0);
  ASSERT_LE(world.SmClockMhz(gpu, t), facts.max_sm_clock_mhz);
}

void CheckMemory(const World& world, int gpu, TimeUs t) {
  const GpuFacts& facts = world.gpu(gpu);
  int64_t of_processes = 0;
  for (int i = 0; i < world.process_count(t); ++i) {
    const ProcessFacts process = world.process(i, t);
    of_processes += process.device.gpu == gpu ? process.memory_bytes : 0;
  }
  ASSERT_EQ(world.MemoryUsedBytes({.gpu = gpu}, t), of_processes);
  ASSERT_LE(of_processes + facts.memory_reserved_bytes, facts.memory_total_bytes);
  int64_t total = 0;
  for (int i = 0; i < world.instance_count(gpu, t); ++i) {
    const GpuInstanceFacts instance = world.instance(gpu, i, t);
    total += instance.memory_total_bytes;
    ASSERT_LE(
        world.MemoryUsedBytes({.gpu = gpu, .instance = i}, t) + instance.memory_reserved_bytes,
        instance.memory_total_bytes);
  }
  ASSERT_LE(total, facts.memory_total_bytes);
}

void CheckTemperature(const World& world, int gpu, TimeUs t, double resistance_k_per_w,
                      double hottest_ambient_c) {
  constexpr double kAmbientC = 30.0;
  constexpr double kTauUs = 20e6;
  const GpuFacts& facts = world.gpu(gpu);
  const double hottest =
      hottest_ambient_c + resistance_k_per_w * static_cast<double>(facts.max_limit_mw) / 1'000.0;
  const double now = world.TemperatureExactC(gpu, t);
  ASSERT_GE(now, kAmbientC - 1e-6) << t;
  ASSERT_LE(now, hottest + 1e-6) << t;
  const double later = world.TemperatureExactC(gpu, t + 1);
  ASSERT_LE(std::abs(later - now), (hottest - kAmbientC) / kTauUs + 1e-6) << t;
}

void CheckWorld(const World& world, uint64_t seed, int64_t noise_mw,
                double hottest_ambient_c = 30.0) {
  TimeUs before = 0;
  for (const TimeUs t : TimesOf(world, seed)) {
    for (int gpu = 0; gpu < world.gpu_count(); ++gpu) {
      const double resistance = world.gpu(gpu).architecture == "Ampere" ? 0.1 : 0.075;
      ASSERT_NO_FATAL_FAILURE(CheckCounters(world, gpu, before, t));
      ASSERT_NO_FATAL_FAILURE(CheckSensors(world, gpu, t, noise_mw));
      ASSERT_NO_FATAL_FAILURE(CheckMemory(world, gpu, t));
      ASSERT_NO_FATAL_FAILURE(CheckTemperature(world, gpu, t, resistance, hottest_ambient_c));
    }
    before = t;
  }
}

TEST(Worlds, KeepTheRulesInRandomScenarios) {
  for (uint64_t seed = 1; seed <= kScenarios; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const RandomScenario scenario(seed);
    const TestWorld world(scenario.Yaml());
    ASSERT_NO_FATAL_FAILURE(
        CheckWorld(*world, seed, scenario.noise_mw, RandomScenario::kHottestAmbientC));
  }
}

TEST(Worlds, KeepTheRulesInTheShippedScenarios) {
  for (const char* name : kShipped) {
    SCOPED_TRACE(name);
    const TestWorld world(ShippedScenario(name));
    ASSERT_NO_FATAL_FAILURE(CheckWorld(*world, 7, 1'500));
  }
}

TEST(Worlds, AccountForEveryNanojoule) {
  for (uint64_t seed = 1; seed <= kScenarios; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const RandomScenario scenario(seed);
    const TestWorld world(scenario.Yaml());
    for (const TimeUs t : TimesOf(*world, seed)) {
      for (int gpu = 0; gpu < world->gpu_count(); ++gpu) {
        Int128 parts = world->IdleEnergyNj(gpu, t) + world->NoiseEnergyNj(gpu, t);
        for (const RandomProcess& process : scenario.processes) {
          parts += process.gpu == gpu ? world->ProcessEnergyNj(process.pid, t) : 0;
        }
        ASSERT_EQ(world->Integrate(Integral::kEnergyNj, {.gpu = gpu}, t), parts) << "at " << t;
      }
    }
  }
}

TEST(Worlds, AgreeWithOneMillisecondStepsEvenAfterAReadAYearAhead) {
  for (uint64_t seed = 1; seed <= kScenarios; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const RandomScenario scenario(seed);
    const TestWorld world(scenario.Yaml());
    for (int gpu = 0; gpu < scenario.gpus; ++gpu) {
      const DeviceRef whole{.gpu = gpu};
      EXPECT_GT(world->Integrate(Integral::kEnergyNj, whole, kYear), 0);
      EXPECT_EQ(world->Integrate(Integral::kEnergyNj, whole, 0), 0);
      NaiveWorld naive(scenario, gpu);
      for (; naive.now_ms <= 60'000; naive.Step()) {
        if (naive.now_ms % 37 != 0) {
          continue;
        }
        const TimeUs t = naive.now_ms * 1'000;
        ASSERT_EQ(world->Integrate(Integral::kEnergyNj, whole, t) - world->NoiseEnergyNj(gpu, t),
                  naive.energy_nj)
            << t;
        ASSERT_EQ(world->Integrate(Integral::kSmPpmUs, whole, t), naive.sm_ppm_us) << t;
        ASSERT_EQ(world->Integrate(Integral::kThermalViolationNs, whole, t),
                  naive.thermal_ppm_us / 1'000)
            << t;
        ASSERT_EQ(world->Integrate(Integral::kDramPpmUs, whole, t), naive.dram_ppm_us) << t;
        ASSERT_EQ(world->MemoryUsedBytes(whole, t), naive.MemoryBytes()) << t;
        ASSERT_EQ(world->PowerLimitMw(gpu, t), naive.LimitMw()) << t;
        ASSERT_NEAR(world->TemperatureExactC(gpu, t), naive.temperature_c, 1e-6) << t;
        for (size_t i = 0; i < naive.process_nj.size(); ++i) {
          const RandomProcess& process = scenario.processes[i];
          if (process.gpu == gpu) {
            ASSERT_EQ(world->ProcessEnergyNj(process.pid, t), naive.process_nj[i]) << t;
          }
        }
      }
    }
  }
}

// All values that a face can read of a GPU at a time, as one list.
std::vector<int64_t> ReadingsOf(const World& world, int gpu, TimeUs t) {
  return {world.EnergyCounterMj(gpu, t),
          world.PowerAverageMw(gpu, t),
          world.PowerInstantMw(gpu, t),
          world.TemperatureC(gpu, t),
          world.MemoryTemperatureC(gpu, t),
          world.SmClockMhz(gpu, t),
          world.UtilizationPercent(Integral::kSmPpmUs, {.gpu = gpu}, t),
          static_cast<int64_t>(world.ClockEventReasons(gpu, t)),
          world.MemoryUsedBytes({.gpu = gpu}, t)};
}

TEST(Worlds, GiveTheSameValuesInAnyOrderAndNumberOfReads) {
  const std::string text = ShippedScenario("h100x8-pods");
  const TestWorld forwards(text);
  const TestWorld backwards(text);
  const std::vector<TimeUs> times = TimesOf(*forwards, 11);
  std::vector<std::vector<int64_t>> expected;
  for (const TimeUs t : times) {
    expected.push_back(ReadingsOf(*forwards, 0, t));
  }
  for (size_t i = times.size(); i > 0; --i) {
    for (int repeat = 0; repeat < 3; ++repeat) {
      ASSERT_EQ(ReadingsOf(*backwards, 0, times[i - 1]), expected[i - 1]) << times[i - 1];
    }
  }
}

TEST(Worlds, CompileToTheSameBytesEachTime) {
  for (const char* name : kShipped) {
    const std::string text = ShippedScenario(name);
    EXPECT_EQ(TestWorld(text).image(), TestWorld(text).image()) << name;
  }
}

TEST(Worlds, FollowALoadThatChanges) {
  const auto world_with = [](int percent) {
    return TestWorld(
        "format: 1\nname: load\nnoise_mw: 0\ngpus: [{class: h100-sxm5-80gb}]\norphans: "
        "[{pid: 7, gpu: 0, load: {sm: " +
        std::to_string(percent) + "%}}]\n");
  };
  constexpr TimeUs kAt = 100 * kSecondUs;
  std::vector<int64_t> before = {0, 0, 0, 0};
  for (const int percent : {10, 40, 70, 100}) {
    const TestWorld world = world_with(percent);
    const std::vector<int64_t> now = {
        world->PowerAverageMw(0, kAt), world->EnergyCounterMj(0, kAt), world->TemperatureC(0, kAt),
        world->UtilizationPercent(Integral::kSmPpmUs, {.gpu = 0}, kAt)};
    for (size_t i = 0; i < now.size(); ++i) {
      EXPECT_GT(now[i], before[i]) << "reading " << i << " at " << percent << " %";
    }
    EXPECT_EQ(now[0], 70'000 + 4'800 * percent);
    EXPECT_EQ(now[3], percent);
    before = now;
  }
}

}  // namespace
}  // namespace podgpu::sim
