// Splits a GPU's time into eras and segments, and sums up the integrals over them.
#include <algorithm>
#include <numeric>
#include <set>

#include "sim/scenario/compile_physics.h"
#include "sim/world/temperature.h"

namespace podgpu::sim {

namespace {

constexpr size_t kMostSegments = 4'096;
constexpr size_t kMostEras = 65'536;
constexpr size_t kMostResidents = 128;
constexpr TimeUs kLongestHyperperiodUs = INT64_C(24) * 3'600 * 1'000'000;
constexpr double kMilli = 1'000.0;
constexpr double kMemoryAboveAmbientC = 4.0;
constexpr double kMemoryResistanceRatio = 1.2;

// One channel while its eras are written.
struct OpenChannel {
  Int128 value = 0;
  uint32_t first_era = 0;
  std::vector<ChannelEraRecord> eras;
};

// The slots that are resident from `start_us` to `end_us`, and how their loads repeat.
struct Era {
  TimeUs start_us = 0, end_us = kForever, hyperperiod_us = 0;
  std::vector<size_t> slots;
  std::vector<TimeUs> cuts;  // Starts of segments, from 0.

  TimeUs Length() const { return end_us == kForever ? kForever : end_us - start_us; }
  // The era's end, counted in its own cycles.
  TimeUs EndOffset() const { return Length() % hyperperiod_us; }
  int64_t EndCycle() const { return Length() / hyperperiod_us; }
  TimeUs SegmentEnd(size_t i) const { return i + 1 < cuts.size() ? cuts[i + 1] : hyperperiod_us; }
};

class EraWriter {
 public:
  EraWriter(Compilation& work, size_t gpu)
      : work_(work),
        image_(work.image),
        gpu_(gpu),
        plan_(work.gpus[gpu]),
        figures_(plan_.board->figures),
        time_constant_us_(figures_.time_constant_s * 1e6) {
    const double ambient_c = static_cast<double>(plan_.spec->ambient_millic) / kMilli;
    const double idle_w = static_cast<double>(figures_.idle_mw) / kMilli;
    temperature_c_ = TargetC(ambient_c, idle_w);
    memory_temperature_c_ = MemoryTargetC(ambient_c, idle_w);
  }

  void Write() {
    image_.gpus[gpu_].eras.first = CountOf(image_.eras);
    for (Era& era : Eras()) {
      if (!Cut(era) || !WriteEra(era)) {
        break;
      }
    }
    image_.gpus[gpu_].eras.count = CountOf(image_.eras) - image_.gpus[gpu_].eras.first;
    for (const auto& [index, channel] : channels_) {
      CloseChannel(index, channel);
    }
  }

 private:
  double TargetC(double ambient_c, double power_w) const {
    return ambient_c + figures_.resistance_k_per_w * power_w;
  }
  double MemoryTargetC(double ambient_c, double power_w) const {
    return ambient_c + kMemoryAboveAmbientC +
           figures_.resistance_k_per_w * kMemoryResistanceRatio * power_w;
  }

  // An era begins at each start, stop and change, since then the set of loads or limits is
  // different.
  std::vector<Era> Eras() {
    std::set<TimeUs> times{0};
    std::multimap<TimeUs, size_t> starts;
    for (const GpuChange& change : plan_.changes) {
      times.insert(change.at_us);
    }
    for (size_t i = 0; i < work_.slots.size(); ++i) {
      const Slot& slot = work_.slots[i];
      if (static_cast<size_t>(slot.device.gpu) == gpu_) {
        starts.emplace(slot.start_us, i);
        times.insert(slot.start_us);
        times.insert(slot.stop_us);
      }
    }
    times.erase(kForever);
    if (times.size() > kMostEras) {
      work_.Fail(plan_.spec->place,
                 "GPU " + std::to_string(gpu_) + " has " + std::to_string(times.size()) +
                     " starts, stops and changes; the limit is " + std::to_string(kMostEras));
      times = {0};
    }
    std::vector<Era> eras;
    std::vector<size_t> living;
    for (auto time = times.begin(); time != times.end(); ++time) {
      const auto next = std::next(time);
      std::erase_if(living, [&](size_t i) { return work_.slots[i].stop_us <= *time; });
      for (auto [at, end] = starts.equal_range(*time); at != end; ++at) {
        living.push_back(at->second);
      }
      eras.push_back({*time, next == times.end() ? kForever : *next, 0, living, {}});
      if (living.size() > kMostResidents) {
        break;  // Cut() complains.
      }
    }
    return eras;
  }

  // Computes the hyperperiod, the least common multiple of the loads' periods, after which all
  // loads repeat together, and the starts of segments.  False, with an error, over the limits.
  bool Cut(Era& era) {
    if (era.slots.size() > kMostResidents) {
      work_.Fail(work_.slots[era.slots.back()].place,
                 "GPU " + std::to_string(gpu_) + " has " + std::to_string(era.slots.size()) +
                     " processes at " + Seconds(era.start_us) + "; at most " +
                     std::to_string(kMostResidents));
      return false;
    }
    const TimeUs longest = std::min(era.Length(), kLongestHyperperiodUs + 1);
    era.hyperperiod_us = 1;
    bool repeats = false;
    for (const size_t i : era.slots) {
      const Slot& slot = work_.slots[i];
      if (slot.phases.size() > 1) {
        repeats = true;
        const Int128 joined = static_cast<Int128>(era.hyperperiod_us) /
                              std::gcd(era.hyperperiod_us, slot.period_us) * slot.period_us;
        era.hyperperiod_us = static_cast<TimeUs>(std::min<Int128>(joined, longest));
        if (joined >= longest) {
          break;
        }
      }
    }
    if (!repeats) {
      era.hyperperiod_us = std::min(era.Length(), kLongestHyperperiodUs);
    }
    if (era.hyperperiod_us > kLongestHyperperiodUs) {
      BlameTwo(era,
               "repeat together only after more than 24 h; choose periods with a small "
               "common multiple",
               [this](size_t a, size_t b) {
                 const TimeUs first = work_.slots[a].period_us;
                 const TimeUs second = work_.slots[b].period_us;
                 return static_cast<double>(first) / static_cast<double>(std::gcd(first, second)) *
                        static_cast<double>(second);
               });
      return false;
    }
    return CutSegments(era);
  }

  bool CutSegments(Era& era) {
    std::set<TimeUs> cuts{0};
    for (const size_t i : era.slots) {
      const Slot& slot = work_.slots[i];
      if (slot.phases.size() == 1) {
        continue;
      }
      // The first cycle of the slot that overlaps the era begins at or before the era's start.
      const TimeUs into = (era.start_us - slot.start_us) % slot.period_us;
      for (TimeUs cycle = -into; cycle < era.hyperperiod_us && cuts.size() <= kMostSegments;
           cycle += slot.period_us) {
        for (const SlotPhase& phase : slot.phases) {
          const TimeUs cut = cycle + phase.begin_us;
          if (cut > 0 && cut < era.hyperperiod_us) {
            cuts.insert(cut);
          }
        }
      }
    }
    if (cuts.size() > kMostSegments) {
      BlameTwo(era,
               "give more than " + std::to_string(kMostSegments) +
                   " segments; choose longer phases or periods with a small common multiple",
               [this, &era](size_t a, size_t b) { return Cuts(era, a) + Cuts(era, b); });
      return false;
    }
    era.cuts.assign(cuts.begin(), cuts.end());
    return true;
  }

  double Cuts(const Era& era, size_t i) const {
    const Slot& slot = work_.slots[i];
    return static_cast<double>(era.hyperperiod_us) / static_cast<double>(slot.period_us) *
           static_cast<double>(slot.phases.size());
  }

  // Names the two slots of the era with the greatest `weight`; a single slot is named alone.
  template <typename Weight>
  void BlameTwo(const Era& era, const std::string& what, Weight weight) {
    std::vector<size_t> changing;
    std::copy_if(era.slots.begin(), era.slots.end(), std::back_inserter(changing),
                 [this](size_t i) { return work_.slots[i].phases.size() > 1; });
    size_t first = changing.front();
    size_t second = changing.front();
    double worst = -1;
    for (size_t i = 0; i < changing.size(); ++i) {
      for (size_t k = i + 1; k < changing.size(); ++k) {
        if (const double value = weight(changing[i], changing[k]); value > worst) {
          worst = value;
          first = changing[i];
          second = changing[k];
        }
      }
    }
    const Slot& one = work_.slots[first];
    const Slot& other = work_.slots[second];
    work_.Fail(other.place, "on GPU " + std::to_string(gpu_) + " from " + Seconds(era.start_us) +
                                " on, " + one.label + " of " + one.who + " and " + other.label +
                                " of " + other.who + " " + what);
  }

  bool WriteEra(const Era& era) {
    const GpuChange& change = plan_.ChangeAt(era.start_us);
    const Layout& layout = plan_.layouts.at(change.layout);
    EraRecord record{};
    record.start_us = era.start_us;
    record.hyperperiod_us = era.hyperperiod_us;
    record.limit_mw = change.limit_mw;
    record.segments = {CountOf(image_.segments), CountOf(era.cuts)};
    record.layout = layout.record;
    std::vector<SegmentSolution> solutions;
    for (const TimeUs cut : era.cuts) {
      std::vector<Resident> residents;
      for (const size_t i : era.slots) {
        const Slot& slot = work_.slots[i];
        residents.push_back({&slot, &slot.PhaseAt(era.start_us + cut)});
      }
      solutions.push_back(SolveSegment(figures_, layout, change, residents));
      if (!MemoryFits(layout, solutions.back(), residents, era.start_us + cut)) {
        return false;
      }
    }
    WriteTemperatures(era, static_cast<double>(change.ambient_millic) / kMilli, solutions, record);
    image_.eras.push_back(record);
    WriteChannels(era, layout, solutions);
    if (image_.SizeBytes() > kImageLimitBytes) {
      work_.Fail(plan_.spec->place, "the tables of this scenario take more than " +
                                        std::to_string(kImageLimitBytes >> 20) +
                                        " MiB; use fewer starts and stops or longer phases");
      return false;
    }
    return true;
  }

  // Reported once per GPU.
  bool MemoryFits(const Layout& layout, const SegmentSolution& solution,
                  const std::vector<Resident>& residents, TimeUs t) const {
    const int64_t board_mib = figures_.memory_total_mib - figures_.memory_reserved_mib;
    if (!EntityFits(solution, 0, board_mib, -1, residents, t)) {
      return false;
    }
    for (size_t i = 0; i < layout.instances.size(); ++i) {
      const MigProfile& profile = *layout.instances[i].profile;
      const InstanceRecord& record =
          image_.instances[image_.layouts[layout.record].instances.first + i];
      const int64_t room = (record.memory_total_bytes - record.memory_reserved_bytes) / kMibBytes;
      const int index = static_cast<int>(i);
      if (profile.memory_slices > 0 &&
          !EntityFits(solution, EntityNumber(layout, index, -1), room, index, residents, t)) {
        return false;
      }
    }
    return true;
  }

  bool EntityFits(const SegmentSolution& solution, size_t entity, int64_t room_mib, int instance,
                  const std::vector<Resident>& residents, TimeUs t) const {
    const int64_t used = solution.entities[entity][kMemoryChannel];
    if (used <= room_mib * kMibBytes) {
      return true;
    }
    std::string who;
    const Slot* last = nullptr;
    for (const Resident& resident : residents) {
      if (resident.phase->memory_bytes > 0 &&
          (instance < 0 || resident.slot->device.instance == instance)) {
        last = resident.slot;
        who += (who.empty() ? "" : ", ") + last->who;
      }
    }
    work_.Fail(last->place, "at " + Seconds(t) + " " + std::to_string(used / kMibBytes) +
                                " MiB are in use on GPU " + std::to_string(gpu_) +
                                (instance < 0 ? "" : " instance " + std::to_string(instance)) +
                                " by " + who + "; at most " + std::to_string(room_mib) + " MiB");
    return false;
  }

  // Writes the segments with their temperatures, and the temperature's change from cycle to cycle.
  void WriteTemperatures(const Era& era, double ambient_c,
                         const std::vector<SegmentSolution>& solutions, EraRecord& record) {
    double decay = 1.0;
    double shift_c = 0.0;
    double memory_shift_c = 0.0;
    for (size_t i = 0; i < solutions.size(); ++i) {
      const double power_w = static_cast<double>(solutions[i].power_mw) / kMilli;
      const SegmentRecord segment{era.cuts[i],
                                  solutions[i].sm_clock_mhz,
                                  solutions[i].clock_event_reasons,
                                  TargetC(ambient_c, power_w),
                                  MemoryTargetC(ambient_c, power_w),
                                  decay,
                                  shift_c,
                                  memory_shift_c};
      image_.segments.push_back(segment);
      const double factor =
          ExpOfNegative(-static_cast<double>(era.SegmentEnd(i) - era.cuts[i]) / time_constant_us_);
      decay *= factor;
      shift_c = segment.target_c + (shift_c - segment.target_c) * factor;
      memory_shift_c =
          segment.memory_target_c + (memory_shift_c - segment.memory_target_c) * factor;
    }
    record.start_c = record.limit_c = temperature_c_;
    record.memory_start_c = record.memory_limit_c = memory_temperature_c_;
    record.decay = decay;
    if (era.Length() > era.hyperperiod_us) {
      record.limit_c = shift_c / (1.0 - decay);
      record.memory_limit_c = memory_shift_c / (1.0 - decay);
    }
    if (era.end_us != kForever) {
      const size_t last = SegmentBefore(era);
      const SegmentRecord& segment = image_.segments[record.segments.first + last];
      const auto at_end = [&](bool memory) {
        return TemperatureIn(record, segment, EndCycle(era), EndOffset(era) - segment.start_us,
                             time_constant_us_, memory);
      };
      temperature_c_ = at_end(false);
      memory_temperature_c_ = at_end(true);
    }
  }

  // The era's end as a position in its last cycle: a whole number of cycles ends the previous one.
  static TimeUs EndOffset(const Era& era) {
    return era.EndOffset() == 0 ? era.hyperperiod_us : era.EndOffset();
  }
  static int64_t EndCycle(const Era& era) {
    return era.EndOffset() == 0 ? era.EndCycle() - 1 : era.EndCycle();
  }
  static size_t SegmentBefore(const Era& era) {
    const auto after = std::lower_bound(era.cuts.begin() + 1, era.cuts.end(), EndOffset(era));
    return static_cast<size_t>(after - era.cuts.begin()) - 1;
  }

  void WriteChannels(const Era& era, const Layout& layout,
                     const std::vector<SegmentSolution>& solutions) {
    const auto write_all = [&](uint32_t first, uint32_t count, auto rate_of) {
      for (uint32_t kind = 0; kind < count; ++kind) {
        std::vector<int64_t> rates;
        rates.reserve(solutions.size());
        for (const SegmentSolution& solution : solutions) {
          rates.push_back(rate_of(solution, kind));
        }
        WriteChannel(era, first + kind, rates);
      }
    };
    for (size_t entity = 0; entity < EntityCount(layout); ++entity) {
      write_all(EntityChannel(layout, entity), kEntityChannelCount,
                [entity](const SegmentSolution& solution, uint32_t kind) {
                  return solution.entities[entity].at(kind);
                });
    }
    for (size_t i = 0; i < era.slots.size(); ++i) {
      write_all(work_.slots[era.slots[i]].first_channel, kProcessChannelCount,
                [i](const SegmentSolution& solution, uint32_t kind) {
                  return solution.processes[i].at(kind);
                });
    }
  }

  uint32_t EntityChannel(const Layout& layout, size_t entity) const {
    if (entity == 0) {
      return image_.gpus[gpu_].first_channel;
    }
    const Range instances = image_.layouts[layout.record].instances;
    size_t number = 1;
    for (uint32_t i = instances.first;; ++i) {
      const InstanceRecord& instance = image_.instances[i];
      if (number == entity) {
        return instance.first_channel;
      }
      if (entity <= number + instance.computes.count) {
        const auto compute = static_cast<uint32_t>(entity - number - 1);
        return image_.computes[instance.computes.first + compute].first_channel;
      }
      number += 1 + instance.computes.count;
    }
  }

  // One channel over one era.  Eras before the first one with a rate are left out.
  void WriteChannel(const Era& era, uint32_t index, const std::vector<int64_t>& rates) {
    const bool silent =
        std::all_of(rates.begin(), rates.end(), [](int64_t rate) { return rate == 0; });
    const auto found = channels_.find(index);
    if (silent && found == channels_.end()) {
      return;
    }
    OpenChannel& channel = found == channels_.end() ? channels_[index] : found->second;
    if (channel.eras.empty()) {
      channel.first_era = CountOf(image_.eras) - 1 - image_.gpus[gpu_].eras.first;
    }
    ChannelEraRecord record{ToWide(channel.value), {}, kNone, 0};
    if (!silent) {
      record.first_cell = CountOf(image_.cells);
      Int128 prefix = 0;
      Int128 at_end = 0;
      for (size_t i = 0; i < rates.size(); ++i) {
        image_.cells.push_back({ToWide(prefix), rates[i]});
        if (era.end_us != kForever && era.cuts[i] <= era.EndOffset()) {
          at_end = prefix + static_cast<Int128>(rates[i]) * (era.EndOffset() - era.cuts[i]);
        }
        prefix += static_cast<Int128>(rates[i]) * (era.SegmentEnd(i) - era.cuts[i]);
      }
      record.per_cycle = ToWide(prefix);
      if (era.end_us != kForever) {
        channel.value += prefix * era.EndCycle() + at_end;
      }
    }
    channel.eras.push_back(record);
  }

  void CloseChannel(uint32_t index, const OpenChannel& channel) {
    image_.channels[index] = {ToWide(channel.value),
                              channel.first_era,
                              {CountOf(image_.channel_eras), CountOf(channel.eras)},
                              0};
    image_.channel_eras.insert(image_.channel_eras.end(), channel.eras.begin(), channel.eras.end());
  }

  Compilation& work_;
  ImageBuilder& image_;
  size_t gpu_;
  const GpuPlan& plan_;
  const GpuClass& figures_;
  double time_constant_us_;
  double temperature_c_ = 0, memory_temperature_c_ = 0;
  std::map<uint32_t, OpenChannel> channels_;
};

}  // namespace

void WriteEras(Compilation& work, size_t gpu) { EraWriter(work, gpu).Write(); }

}  // namespace podgpu::sim
