#include "sim/world/board_readings.h"

#include <algorithm>

#include "sim/world/board_counts.h"

namespace podgpu::sim {
namespace {

constexpr int kAda = 8;
constexpr int kSlowestFanPercent = 30;
constexpr int kFanStartsC = 40;
constexpr int kClockStepMhz = 15;
constexpr int64_t kRemapBanks = 640;
constexpr int64_t kBytesPerKib = 1 << 10;

// The video engine runs at seven eighths of the SMs' clock, in steps of the driver.
int VideoOf(int sm_clock_mhz) { return sm_clock_mhz * 7 / 8 / kClockStepMhz * kClockStepMhz; }

}  // namespace

std::optional<int> FanPercent(const World& world, int gpu, TimeUs t) {
  if (!world.gpu(gpu).has_fan) {
    return std::nullopt;
  }
  const int warmth_c = world.TemperatureC(gpu, t) - kFanStartsC;
  return std::clamp(kSlowestFanPercent + 2 * warmth_c, kSlowestFanPercent, 100);
}

std::optional<int> MemoryMaxTemperatureC(const GpuFacts& facts) {
  return facts.has_memory_temperature ? std::optional(facts.shutdown_temperature_c) : std::nullopt;
}

std::optional<int> MarginTemperatureC(const World& world, int gpu, TimeUs t) {
  const GpuFacts& facts = world.gpu(gpu);
  if (facts.architecture_number < kAda) {
    return std::nullopt;
  }
  return facts.slowdown_temperature_c - world.TemperatureC(gpu, t);
}

std::optional<SpareRows> SpareRowsOf(const World& world, int gpu, TimeUs t) {
  if (!world.gpu(gpu).has_row_remapping || world.mig_enabled(gpu, t)) {
    return std::nullopt;
  }
  // Every remapped row is in a different bank.
  const int64_t used = std::min(DoubleBitErrors(world, gpu, t), kRemapBanks);
  return SpareRows{.max = kRemapBanks - used, .high = used};
}

int GpuMaxTemperatureC(const GpuFacts& facts) {
  constexpr int kBelowSlowdownC = 5;
  return facts.slowdown_temperature_c - kBelowSlowdownC;
}

int VideoClockMhz(const World& world, int gpu, TimeUs t) {
  return VideoOf(world.SmClockMhz(gpu, t));
}

int MaxVideoClockMhz(const GpuFacts& facts) { return VideoOf(facts.max_sm_clock_mhz); }

int64_t Bar1UsedBytes() {
  constexpr int64_t kDriversOwn = 4 << 20;
  return kDriversOwn;
}

int64_t RecoveryAction(const World& world, int gpu, TimeUs t) {
  return DoubleBitErrorsOfDriver(world, gpu, t) > 0 ? 1 : 0;
}

std::string_view InforomVersion(const GpuFacts& facts, int object) {
  constexpr int kOem = 0;
  constexpr int kEcc = 1;
  if (facts.inforom_image.empty()) {
    return "";
  }
  if (object == kOem) {
    return "2.1";
  }
  return object == kEcc && facts.has_ecc ? "6.16" : "";
}

int64_t LinkKib(const World& world, int gpu, Integral what, int share, TimeUs t) {
  return static_cast<int64_t>(world.Integrate(what, {.gpu = gpu}, t) / kSecondUs /
                              std::max(share, 1) / kBytesPerKib);
}

}  // namespace podgpu::sim
