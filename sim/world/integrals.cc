// The exact integrals: the era and segment of a time, and the amount accumulated there.
#include <algorithm>

#include "sim/world/image_world.h"

namespace podgpu::sim {

namespace {

// The integral from 0 to t of a square wave that is +amplitude in the first half of its period and
// -amplitude in the second, `phase` into its period at time 0.
Int128 TriangleNj(const NoiseWave& wave, TimeUs t) {
  const auto at = [&wave](TimeUs time) {
    const TimeUs x = time % wave.period_us;
    return x < wave.period_us / 2 ? x : wave.period_us - x;
  };
  return static_cast<Int128>(wave.amplitude_mw) * (at(t + wave.phase_us) - at(wave.phase_us));
}

}  // namespace

Position ImageWorld::Locate(const GpuRecord& gpu, TimeUs t) const {
  Position position;
  const EraRecord& era = EraAt(gpu, t);
  position.era_record = &era;
  position.era = static_cast<uint32_t>(&era - &tables_.eras[gpu.eras.first]);
  const TimeUs into_era = t - era.start_us;
  position.cycle = into_era / era.hyperperiod_us;
  const TimeUs offset = into_era - position.cycle * era.hyperperiod_us;
  const auto segments = ImageTables::Slice(tables_.segments, era.segments);
  const auto after = std::upper_bound(
      segments.begin() + 1, segments.end(), offset,
      [](TimeUs time, const SegmentRecord& segment) { return time < segment.start_us; });
  position.segment_record = &*(after - 1);
  position.segment = static_cast<uint32_t>(position.segment_record - segments.data());
  position.into_segment_us = offset - position.segment_record->start_us;
  return position;
}

Int128 ImageWorld::Value(const ChannelRecord& channel, const Position& position) const {
  if (position.era < channel.first_era) {
    return 0;
  }
  const uint32_t index = position.era - channel.first_era;
  if (index >= channel.channel_eras.count) {
    return FromWide(channel.final_value);
  }
  const ChannelEraRecord& era = tables_.channel_eras[channel.channel_eras.first + index];
  if (era.first_cell == kNone) {
    return FromWide(era.base);
  }
  // Exact at any time without stepping: the value at the era's start, whole cycles since then,
  // whole segments of this cycle, and the rate in this segment.
  const CellRecord& cell = tables_.cells[era.first_cell + position.segment];
  return FromWide(era.base) + FromWide(era.per_cycle) * position.cycle + FromWide(cell.prefix) +
         static_cast<Int128>(cell.rate) * position.into_segment_us;
}

int64_t ImageWorld::Rate(const ChannelRecord& channel, const Position& position) const {
  const uint32_t index = position.era - channel.first_era;
  if (position.era < channel.first_era || index >= channel.channel_eras.count) {
    return 0;
  }
  const ChannelEraRecord& era = tables_.channel_eras[channel.channel_eras.first + index];
  return era.first_cell == kNone ? 0 : tables_.cells[era.first_cell + position.segment].rate;
}

uint32_t ImageWorld::FirstChannel(DeviceRef device, TimeUs t) const {
  if (device.instance < 0) {
    return Gpu(device.gpu).first_channel;
  }
  const auto instances = ImageTables::Slice(tables_.instances, LayoutAt(device.gpu, t).instances);
  if (static_cast<size_t>(device.instance) >= instances.size()) {
    return kNone;
  }
  const InstanceRecord& instance = instances[static_cast<size_t>(device.instance)];
  if (device.compute < 0) {
    return instance.first_channel;
  }
  if (static_cast<uint32_t>(device.compute) >= instance.computes.count) {
    return kNone;
  }
  return tables_.computes[instance.computes.first + static_cast<uint32_t>(device.compute)]
      .first_channel;
}

Int128 ImageWorld::IntegrateChannel(Integral what, int gpu, uint32_t first_channel,
                                    TimeUs t) const {
  if (first_channel == kNone) {
    return 0;
  }
  const Int128 value =
      Value(tables_.channels[first_channel + static_cast<uint32_t>(what)], Locate(Gpu(gpu), t));
  if (what == Integral::kPowerViolationNs || what == Integral::kThermalViolationNs) {
    return value / 1000;  // The image has ppm x us.
  }
  return value;
}

Int128 ImageWorld::Integrate(Integral what, DeviceRef device, TimeUs t) const {
  return IntegrateOver(what, device, 0, t);
}

Int128 ImageWorld::IntegrateOver(Integral what, DeviceRef device, TimeUs from, TimeUs to) const {
  to = Readable(to);
  from = std::min(Readable(from), to);
  if (what == Integral::kEnergyNj) {
    const uint32_t whole = Gpu(device.gpu).first_channel;
    const auto energy = [&](TimeUs t) {
      return IdleEnergyNj(device.gpu, t) + IntegrateChannel(what, device.gpu, whole, t) +
             NoiseEnergyNj(device.gpu, t);
    };
    return from == 0 ? energy(to) : energy(to) - energy(from);
  }
  const uint32_t first_channel = FirstChannel(device, to);
  const Int128 end = IntegrateChannel(what, device.gpu, first_channel, to);
  return from == 0 ? end : end - IntegrateChannel(what, device.gpu, first_channel, from);
}

Int128 ImageWorld::IdleEnergyNj(int gpu, TimeUs t) const {
  return static_cast<Int128>(Gpu(gpu).idle_mw) * Readable(t);
}

Int128 ImageWorld::NoiseEnergyNj(int gpu, TimeUs t) const {
  Int128 sum = 0;
  for (const NoiseWave& wave : Gpu(gpu).noise) {
    if (wave.amplitude_mw != 0) {
      sum += TriangleNj(wave, Readable(t));
    }
  }
  return sum;
}

int64_t ImageWorld::MemoryUsedBytes(DeviceRef device, TimeUs t) const {
  t = Readable(t);
  const uint32_t first_channel = FirstChannel(device, t);
  if (first_channel == kNone) {
    return 0;
  }
  return Rate(tables_.channels[first_channel + kMemoryChannel], Locate(Gpu(device.gpu), t));
}

}  // namespace podgpu::sim
