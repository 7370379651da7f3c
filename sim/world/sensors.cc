// The board's sensors: samples and averages of the exact integrals, as hardware computes them.
#include <algorithm>

#include "sim/world/image_world.h"
#include "sim/world/sample_periods.h"
#include "sim/world/temperature.h"

namespace podgpu::sim {

namespace {

constexpr TimeUs kEnergyRefreshUs = 100'000;
constexpr TimeUs kPowerAverageUs = 1'000'000;
constexpr TimeUs kPowerInstantUs = 25'000;
constexpr int64_t kNjPerMj = 1'000'000;
constexpr int64_t kWholePpm = 1'000'000;

// To the nearest whole degree; boards are never below 0 here.
int RoundDegrees(double value_c) { return (static_cast<int>(value_c * 2) + 1) / 2; }

}  // namespace

TimeUs ImageWorld::EnergyCounterTime(int gpu, TimeUs t) const {
  const TimeUs phase = Gpu(gpu).refresh_phase_us;
  t = Readable(t);
  return t < phase ? 0 : phase + (t - phase) / kEnergyRefreshUs * kEnergyRefreshUs;
}

int64_t ImageWorld::EnergyCounterMj(int gpu, TimeUs t) const {
  const TimeUs refreshed = EnergyCounterTime(gpu, t);
  if (const TimeUs since = DriverSince(t); since > 0) {  // A new driver counts from 0.
    return Quotient(
        IntegrateOver(Integral::kEnergyNj, {.gpu = gpu}, since, std::max(refreshed, since)),
        kNjPerMj);
  }
  return Quotient(Integrate(Integral::kEnergyNj, {.gpu = gpu}, refreshed), kNjPerMj) +
         Gpu(gpu).energy_offset_mj;
}

// Mean power over the window that ends with the last refresh; before the first refresh, the power
// at the start of the world.
int64_t ImageWorld::PowerOver(int gpu, TimeUs t, TimeUs window_us) const {
  const TimeUs end = std::max<TimeUs>(EnergyCounterTime(gpu, t), 1);
  const TimeUs start = std::max<TimeUs>(end - window_us, 0);
  return Quotient(IntegrateOver(Integral::kEnergyNj, {.gpu = gpu}, start, end), end - start);
}

int64_t ImageWorld::PowerAverageMw(int gpu, TimeUs t) const {
  return PowerOver(gpu, t, kPowerAverageUs);
}

int64_t ImageWorld::PowerInstantMw(int gpu, TimeUs t) const {
  return PowerOver(gpu, t, kPowerInstantUs);
}

int64_t ImageWorld::PowerLimitMw(int gpu, TimeUs t) const {
  return EraAt(Gpu(gpu), Readable(t)).limit_mw;
}

int ImageWorld::UtilizationPercent(Integral what, DeviceRef device, TimeUs t) const {
  t = Readable(t);
  const int64_t samples = SampleCount(t);
  const uint32_t first_channel = FirstChannel(device, t);
  if (samples == 0 || first_channel == kNone) {
    return 0;
  }
  const TimeUs end = SampleBoundary(samples);
  const TimeUs start = SampleBoundary(samples - 1);
  const Int128 busy = IntegrateChannel(what, device.gpu, first_channel, end) -
                      IntegrateChannel(what, device.gpu, first_channel, start);
  const int64_t whole = kWholePpm * (end - start);
  return static_cast<int>(Quotient(busy * 200 + whole, whole * 2));
}

double ImageWorld::TemperatureAt(int gpu, TimeUs t, bool memory) const {
  const GpuRecord& record = Gpu(gpu);
  const Position position = Locate(record, Readable(t));
  return TemperatureIn(*position.era_record, *position.segment_record, position.cycle,
                       position.into_segment_us, record.time_constant_us, memory);
}

double ImageWorld::TemperatureExactC(int gpu, TimeUs t) const {
  return TemperatureAt(gpu, t, false);
}

int ImageWorld::TemperatureC(int gpu, TimeUs t) const {
  return RoundDegrees(TemperatureAt(gpu, t, false));
}

int ImageWorld::MemoryTemperatureC(int gpu, TimeUs t) const {
  return RoundDegrees(TemperatureAt(gpu, t, true));
}

int ImageWorld::SmClockMhz(int gpu, TimeUs t) const {
  return Locate(Gpu(gpu), Readable(t)).segment_record->sm_clock_mhz;
}

int ImageWorld::MemoryClockMhz(int gpu, TimeUs /*t*/) const {
  return Gpu(gpu).max_memory_clock_mhz;
}

uint64_t ImageWorld::ClockEventReasons(int gpu, TimeUs t) const {
  return Locate(Gpu(gpu), Readable(t)).segment_record->clock_event_reasons;
}

}  // namespace podgpu::sim
