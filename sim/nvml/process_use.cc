// The simulated NVML: how much each process used a GPU since a client last asked.
//
// The driver keeps samples of the last 16 s.  A process has at most one record: the mean of its
// samples after the time that the client gives; a process that used nothing has none.  Where all
// records span the same time their percentages add up to those of the GPU, which are rounded once.
// In MIG mode there are no records, or, with a quirk, those of a MIG device's own processes.  The
// scenario's quirks are faults of real drivers.
#include <algorithm>
#include <array>
#include <optional>
#include <span>

#include "abi/nvml.h"
#include "abi/nvml_processes.h"
#include "sim/nvml/lists.h"
#include "sim/world/identity.h"
#include "sim/world/sample_periods.h"

// NOLINTBEGIN(readability-identifier-naming): the names are the vendor's.
namespace {

using namespace podgpu::abi;  // NOLINT(google-build-using-namespace): they are all about it.
using namespace podgpu::sim;  // NOLINT(google-build-using-namespace): and about its answers.

constexpr TimeUs kDriverBufferUs = 16 * kSecondUs;
constexpr Int128 kPercentPerPpm = 10'000;  // Parts of a million in a percent.
constexpr uint64_t kLatestSamples = 10 * kSamplesPerSecond;
constexpr unsigned kQuirkSize = 100;
constexpr size_t kMostDead = 1'000;

constexpr std::array<Integral, 6> kUses = {Integral::kSmPpmUs,      Integral::kDramPpmUs,
                                           Integral::kEncoderPpmUs, Integral::kDecoderPpmUs,
                                           Integral::kJpegPpmUs,    Integral::kOfaPpmUs};

struct ProcessUse {
  int pid = 0;
  TimeUs from = 0, to = 0;                  // The time that it spans.
  std::array<Int128, kUses.size()> sums{};  // ppm x us
  std::array<uint32_t, kUses.size()> percents{};

  Int128 whole() const { return kPercentPerPpm * (to - from); }  // 1 % of the time.
};

// The start of the records: the client's stamp; with a stamp in the future there are no records.
TimeUs AfterStamp(unsigned long long last_seen_us, TimeUs newest) {
  const auto newest_us = static_cast<unsigned long long>(NvmlSession::Get().StampUs(newest));
  return last_seen_us >= newest_us
             ? newest
             : NvmlSession::Get().FromStampUs(static_cast<int64_t>(last_seen_us));
}

// Rounds a column to whole percents whose sum is the rounded exact sum: every value is rounded
// down, then the values with the largest remainders get one percent more each.
void ShareOut(std::span<ProcessUse> uses, size_t column) {
  Int128 left = 0;
  std::vector<std::pair<Int128, ProcessUse*>> remainders;
  for (ProcessUse& use : uses) {
    const Int128 sum = use.sums.at(column);
    left += sum;
    use.percents.at(column) = static_cast<uint32_t>(sum / use.whole());
    remainders.emplace_back(-(sum % use.whole()), &use);
  }
  std::ranges::stable_sort(remainders, {}, &std::pair<Int128, ProcessUse*>::first);
  const Int128 whole = uses.front().whole();
  auto missing = static_cast<int64_t>((left * 2 + whole) / (whole * 2));
  for (const ProcessUse& use : uses) {
    missing -= use.percents.at(column);
  }
  for (size_t i = 0; missing > 0; ++i, --missing) {
    ++remainders.at(i).second->percents.at(column);
  }
}

void RoundEach(std::span<ProcessUse> uses, size_t column) {
  for (ProcessUse& use : uses) {
    const Int128 whole = use.whole();
    use.percents.at(column) =
        static_cast<uint32_t>((use.sums.at(column) * 2 + whole) / (whole * 2));
  }
}

// The newest sample of a process.
TimeUs NewestSample(const NvmlTarget& on, int pid, TimeUs end) {
  const auto late = on.world->has_quirk(DriverQuirk::kLateRecords)
                        ? static_cast<int64_t>(Mix(static_cast<uint64_t>(pid)) % kLatestSamples)
                        : 0;
  return SampleBoundary(std::max<int64_t>(SampleCount(end) - late, 0));
}

// What the process used after `asked` and by `to`; empty when it used nothing.
std::optional<ProcessUse> UseBetween(const World& world, int pid, TimeUs from, TimeUs to) {
  ProcessUse use{.pid = pid, .from = from, .to = to};
  if (from >= to) {
    return std::nullopt;
  }
  for (size_t i = 0; i < kUses.size(); ++i) {
    use.sums.at(i) = world.IntegrateProcess(kUses.at(i), pid, to) -
                     world.IntegrateProcess(kUses.at(i), pid, from);
    use.sums.at(i) *= world.has_quirk(DriverQuirk::kOver100) ? 2 : 1;
  }
  const bool is_used = std::ranges::any_of(use.sums, [](Int128 sum) { return sum > 0; });
  return is_used ? std::optional(use) : std::nullopt;
}

std::vector<ProcessUse> UsesOn(const NvmlTarget& on, unsigned long long last_seen_us) {
  const World& world = *on.world;
  const TimeUs newest = SampleBoundary(SampleCount(on.now));
  const TimeUs seen = AfterStamp(last_seen_us, newest);
  std::vector<ProcessUse> uses;
  const auto add = [&](int pid, TimeUs started, TimeUs end) {
    const TimeUs to = NewestSample(on, pid, end);
    const TimeUs from = std::max({seen, to - kDriverBufferUs, started});
    if (const std::optional<ProcessUse> use = UseBetween(world, pid, from, to)) {
      uses.push_back(*use);
    }
  };
  for (const ProcessFacts& process : ProcessesOn(on)) {
    add(process.pid, process.started, on.now);
  }
  if (world.has_quirk(DriverQuirk::kDeadPids)) {
    const TimeUs kept = std::max(seen, newest - kDriverBufferUs);
    for (const ProcessLife& life : world.EndedProcesses(on.device.gpu, kept, on.now, kMostDead)) {
      if (!on.is_mig() || life.device.instance == on.device.instance) {
        add(life.pid, life.started, life.stopped);
      }
    }
  }
  const bool same_time = std::ranges::all_of(uses, [&uses](const ProcessUse& use) {
    return use.from == uses.front().from && use.to == uses.front().to;
  });
  for (size_t column = 0; column < kUses.size() && !uses.empty(); ++column) {
    (same_time ? ShareOut : RoundEach)(uses, column);
  }
  return uses;
}

void TellUse(const ProcessUse& use, nvmlProcessUtilizationSample_t& entry) {
  entry = {.pid = static_cast<uint32_t>(use.pid),
           .timeStamp = static_cast<unsigned long long>(NvmlSession::Get().StampUs(use.to)),
           .smUtil = use.percents[0],
           .memUtil = use.percents[1],
           .encUtil = use.percents[2],
           .decUtil = use.percents[3]};
}

void TellUse(const ProcessUse& use, nvmlProcessUtilizationInfo_v1_t& entry) {
  entry = {.timeStamp = static_cast<unsigned long long>(NvmlSession::Get().StampUs(use.to)),
           .pid = static_cast<uint32_t>(use.pid),
           .smUtil = use.percents[0],
           .memUtil = use.percents[1],
           .encUtil = use.percents[2],
           .decUtil = use.percents[3],
           .jpgUtil = use.percents[4],
           .ofaUtil = use.percents[5]};
}

// Without an array the call returns the number of entries.
template <typename Entry>
nvmlReturn_t TellUses(const NvmlCall& call, const NvmlTarget& on, unsigned long long last_seen_us,
                      unsigned& count, Entry* place) {
  if (InMigMode(on) && !(on.is_mig() && on.world->has_quirk(DriverQuirk::kMigRecords))) {
    return NVML_ERROR_NOT_SUPPORTED;
  }
  std::vector<Entry> entries;
  for (const ProcessUse& use : UsesOn(on, last_seen_us)) {
    TellUse(use, entries.emplace_back());
  }
  if (place == nullptr) {
    const bool is_quirky = on.world->has_quirk(DriverQuirk::kSize100);
    count = is_quirky ? kQuirkSize : static_cast<unsigned>(entries.size());
    return NVML_ERROR_INSUFFICIENT_SIZE;
  }
  return entries.empty() ? NVML_ERROR_NOT_FOUND : PutNvmlList(call, on, entries, count, place);
}

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

nvmlReturn_t nvmlDeviceGetProcessUtilization(nvmlDevice_t device,
                                             nvmlProcessUtilizationSample_t* entries,
                                             unsigned* count, unsigned long long last_seen_us) {
  const NvmlCall call{.name = __func__, .device = device, .scope = NvmlScope::kAny};
  const NvmlTarget on = BeginNvmlCall(call);
  if (on.result != NVML_SUCCESS) {
    return on.result;
  }
  return count == nullptr ? NVML_ERROR_INVALID_ARGUMENT
                          : TellUses(call, on, last_seen_us, *count, entries);
}

nvmlReturn_t nvmlDeviceGetProcessesUtilizationInfo(nvmlDevice_t device,
                                                   nvmlProcessesUtilizationInfo_v1_t* info) {
  const NvmlCall call{.name = __func__, .device = device, .scope = NvmlScope::kAny};
  const NvmlTarget on = BeginNvmlCall(call);
  if (on.result != NVML_SUCCESS) {
    return on.result;
  }
  if (info == nullptr) {
    return NVML_ERROR_INVALID_ARGUMENT;
  }
  if (info->version != nvmlProcessesUtilizationInfo_v1) {
    return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
  }
  return TellUses(call, on, info->lastSeenTimeStamp, info->processSamplesCount,
                  info->procUtilArray);
}

}  // extern "C"
#pragma GCC visibility pop
// NOLINTEND(readability-identifier-naming)
