// Processes: what each used, when it lived, how much memory it held at most.
#include <algorithm>
#include <array>
#include <functional>
#include <iterator>
#include <utility>

#include "sim/world/churns.h"
#include "sim/world/image_world.h"

namespace podgpu::sim {

namespace {

// The process channel of an integral; empty when there is none.
bool ChannelOf(Integral what, ProcessChannel& channel) {
  constexpr std::array<std::pair<Integral, ProcessChannel>, 7> kChannels = {{
      {Integral::kEnergyNj, ProcessChannel::kEnergy},
      {Integral::kSmPpmUs, ProcessChannel::kSm},
      {Integral::kDramPpmUs, ProcessChannel::kDram},
      {Integral::kEncoderPpmUs, ProcessChannel::kEncoder},
      {Integral::kDecoderPpmUs, ProcessChannel::kDecoder},
      {Integral::kJpegPpmUs, ProcessChannel::kJpeg},
      {Integral::kOfaPpmUs, ProcessChannel::kOfa},
  }};
  const auto* const found = std::find_if(kChannels.begin(), kChannels.end(),
                                         [what](const auto& row) { return row.first == what; });
  if (found == kChannels.end()) {
    return false;
  }
  channel = found->second;
  return true;
}

}  // namespace

// The processes before those of churns are sorted by pid, then start.
std::span<const ProcessRecord> ImageWorld::FixedProcesses() const {
  return tables_.processes.first(tables_.churns.empty() ? tables_.processes.size()
                                                        : tables_.churns.front().processes.first);
}

ImageWorld::FoundProcess ImageWorld::LatestProcess(int pid, TimeUs t) const {
  for (const ChurnRecord& churn : tables_.churns) {
    if (!Owns(churn, pid)) {
      continue;
    }
    const int64_t cycle = CycleOfPid(churn, pid, t);
    if (cycle < 0) {
      return {};
    }
    const auto number = static_cast<uint32_t>(pid - churn.first_pid) % churn.processes.count;
    const TimeUs start = CycleStart(churn, cycle);
    return {&tables_.processes[churn.processes.first + number], start, start + churn.life_us};
  }
  const std::span<const ProcessRecord> fixed = FixedProcesses();
  const auto after =
      std::upper_bound(fixed.begin(), fixed.end(), std::pair(pid, t),
                       [](const std::pair<int, TimeUs>& key, const ProcessRecord& process) {
                         return key < std::pair(static_cast<int>(process.pid), process.start_us);
                       });
  if (after == fixed.begin() || std::prev(after)->pid != pid) {
    return {};
  }
  const ProcessRecord& process = *std::prev(after);
  return {&process, process.start_us, process.stop_us};
}

Int128 ImageWorld::ProcessValue(const ProcessRecord& process, ProcessChannel what, TimeUs t) const {
  return Value(tables_.channels[process.first_channel + static_cast<uint32_t>(what)],
               Locate(Gpu(process.gpu), t));
}

Int128 ImageWorld::IntegrateProcess(Integral what, int pid, TimeUs t) const {
  t = Readable(t);
  ProcessChannel channel{};
  const FoundProcess found = LatestProcess(pid, t);
  if (!ChannelOf(what, channel) || found.record == nullptr) {
    return 0;
  }
  const TimeUs end = std::min(t, found.stopped);
  return ProcessValue(*found.record, channel, end) -
         ProcessValue(*found.record, channel, found.started);
}

Int128 ImageWorld::ProcessEnergyNj(int pid, TimeUs t) const {
  return IntegrateProcess(Integral::kEnergyNj, pid, t);
}

int64_t ImageWorld::PeakMemory(const ProcessRecord& process, TimeUs from, TimeUs to) const {
  const ChannelRecord& channel =
      tables_.channels[process.first_channel + static_cast<uint32_t>(ProcessChannel::kMemory)];
  const auto eras = ImageTables::Slice(tables_.eras, Gpu(process.gpu).eras);
  int64_t peak = 0;
  for (uint32_t i = 0; i < channel.channel_eras.count; ++i) {
    const ChannelEraRecord& values = tables_.channel_eras[channel.channel_eras.first + i];
    const size_t index = channel.first_era + i;
    const EraRecord& era = eras[index];
    const TimeUs era_end = index + 1 < eras.size() ? eras[index + 1].start_us - 1 : kLastTimeUs;
    const TimeUs first = std::max(from, era.start_us);
    const TimeUs last = std::min(to, era_end);
    if (values.first_cell == kNone || first > last) {
      continue;
    }
    const Position begin = Locate(Gpu(process.gpu), first);
    const Position end = Locate(Gpu(process.gpu), last);
    for (uint32_t segment = 0; segment < era.segments.count; ++segment) {
      // The churn's first turn that ends after `first` must begin by `last`.
      const int64_t turn = segment < begin.segment ? begin.cycle + 1 : begin.cycle;
      if (turn < end.cycle || (turn == end.cycle && segment <= end.segment)) {
        peak = std::max(peak, tables_.cells[values.first_cell + segment].rate);
      }
    }
  }
  return peak;
}

ProcessLife ImageWorld::Life(const FoundProcess& found, int pid, TimeUs t) const {
  const ProcessRecord& process = *found.record;
  const bool lives = found.stopped > t;
  return {.pid = pid,
          .device = {process.gpu, process.instance, process.compute},
          .started = found.started,
          .stopped = lives ? kForever : found.stopped,
          .peak_memory_bytes = PeakMemory(process, found.started, lives ? t : found.stopped - 1)};
}

std::optional<ProcessLife> ImageWorld::FindProcess(int pid, TimeUs t) const {
  t = Readable(t);
  const FoundProcess found = LatestProcess(pid, t);
  return found.record == nullptr ? std::nullopt : std::optional(Life(found, pid, t));
}

std::vector<ProcessLife> ImageWorld::EndedProcesses(int gpu, TimeUs since, TimeUs t,
                                                    size_t most) const {
  std::vector<ProcessLife> ended;
  for (const ProcessRecord& process : FixedProcesses()) {
    if (process.gpu == gpu && process.stop_us > since && process.stop_us <= t) {
      ended.push_back(Life({&process, process.start_us, process.stop_us}, process.pid, t));
    }
  }
  for (const ChurnRecord& churn : tables_.churns) {
    int64_t cycle = t < churn.start_us ? -1 : (t - churn.start_us) / churn.every_us;
    const int64_t oldest = std::max<int64_t>(cycle - churn.pid_cycles, -1);
    for (size_t added = 0; cycle > oldest && added < most; --cycle) {
      const TimeUs start = CycleStart(churn, cycle);
      const TimeUs stop = start + churn.life_us;
      if (stop <= since) {
        break;
      }
      for (uint32_t i = 0; stop <= t && i < churn.processes.count; ++i) {
        const ProcessRecord& process = tables_.processes[churn.processes.first + i];
        if (process.gpu == gpu) {
          ended.push_back(Life({&process, start, stop}, PidOf(churn, cycle, i), t));
          ++added;
        }
      }
    }
  }
  std::ranges::stable_sort(ended, std::greater<>(), &ProcessLife::stopped);
  ended.resize(std::min(ended.size(), most));
  return ended;
}

}  // namespace podgpu::sim
