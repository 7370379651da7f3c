#include "sim/dcgm/processes.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <numeric>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "fields/field_ids.h"
#include "sim/dcgm/faults.h"
#include "sim/dcgm/fields.h"

namespace podgpu::sim {
namespace {

constexpr uint16_t kAccountingRecord = 205;
constexpr uint16_t kComputePids = 221;
constexpr uint16_t kUseSamples = 211;
// The fields that DCGM watches for processes and jobs, in its order.
constexpr std::array<uint16_t, 28> kPidFields = {kAccountingRecord,
                                                 155,
                                                 156,
                                                 200,
                                                 201,
                                                 202,
                                                 1501,
                                                 203,
                                                 204,
                                                 311,
                                                 100,
                                                 101,
                                                 field_ids::kXid,
                                                 kComputePids,
                                                 220,
                                                 240,
                                                 241,
                                                 242,
                                                 210,
                                                 kUseSamples,
                                                 390,
                                                 391,
                                                 392,
                                                 84,
                                                 409,
                                                 419,
                                                 429,
                                                 439};
constexpr uint64_t kPidFieldGroup = 3;  // The last built-in field group.

// A process on a GPU, from the driver's accounting at its last reading.
struct Stay {
  const Scene& scene;
  EntityKey key;
  ProcessLife life;

  bool runs() const { return life.stopped == INT64_MAX; }
  TimeUs end() const { return runs() ? scene.now : life.stopped; }
  bool Covers(TimeUs t) const { return t >= life.started && t <= end(); }
};

// When the driver's accounting of the GPU began; empty when it is off.
std::optional<TimeUs> AccountedSince(const Scene& scene, int gpu, TimeUs t) {
  const TimeUs driver_since = scene.world.DriverSince(t);
  if (scene.world.mig_enabled(gpu, t)) {
    return std::nullopt;
  }
  if (driver_since == 0 && scene.world.accounts_processes()) {
    return 0;
  }
  const auto switched = scene.state.accounted_since.find(gpu);
  return switched != scene.state.accounted_since.end() && switched->second >= driver_since
             ? std::optional(switched->second)
             : std::nullopt;
}

bool MaySwitchAccounting(const Scene& scene, int gpu) {
  return std::ranges::none_of(scene.world.faults(), [&](const Fault& fault) {
    return fault.kind == FaultKind::kNoPermission && fault.InForce(scene.now) &&
           fault.Concerns(gpu) && fault.OnField(kAccountingRecord);
  });
}

// The world's GPUs among the members, with the keys of each.
std::vector<std::pair<EntityKey, int>> GpusAmong(const Scene& scene,
                                                 const std::vector<EntityKey>& members) {
  std::vector<std::pair<EntityKey, int>> gpus;
  for (const EntityKey& key : members) {
    const int gpu = key.group == abi::DCGM_FE_GPU ? scene.state.start.gpus.WorldGpu(key.id) : -1;
    if (gpu >= 0) {
      gpus.emplace_back(key, gpu);
    }
  }
  return gpus;
}

// The sample times of the GPU's field while the process lived.
std::vector<SampleTime> SamplesOf(const Stay& stay, uint16_t field) {
  const Scene& scene = stay.scene;
  const Series* const series = scene.state.watches.Find({stay.key, field});
  if (series == nullptr) {
    return {};
  }
  const TimeUs until =
      SampledUntil(scene.world, stay.life.device.gpu, *FieldOfLibrary(field), scene.now);
  return series->Since(stay.life.started, std::min(until, stay.end()));
}

// The process's accounting record at the last reading of the GPU.
std::optional<ProcessLife> RecordOf(const Scene& scene, EntityKey key, int gpu, uint32_t pid) {
  const Series* const series = scene.state.watches.Find({key, kAccountingRecord});
  const Field& field = *FieldOfLibrary(kAccountingRecord);
  const std::optional<SampleTime> sample =
      series == nullptr ? std::nullopt
                        : series->Latest(SampledUntil(scene.world, gpu, field, scene.now));
  if (!sample || PresenceOf(scene.world, gpu, sample->t) != Presence::kHere) {
    return std::nullopt;
  }
  Reading record{.value = int64_t{pid}};
  ApplyFaultsToReading(scene.world, gpu, field, sample->t, scene.now, record);
  const std::optional<TimeUs> since = AccountedSince(scene, gpu, sample->t);
  if (!since || record.status != abi::DCGM_ST_OK ||
      !std::holds_alternative<int64_t>(record.value)) {
    return std::nullopt;
  }
  const std::optional<ProcessLife> life = scene.world.FindProcess(static_cast<int>(pid), sample->t);
  return life && life->device.gpu == gpu && life->started >= *since ? life : std::nullopt;
}

// The samples of a field of the GPU while the process lived, without blanks.
std::vector<int64_t> NumbersOf(const Stay& stay, uint16_t field) {
  std::vector<Delivery> deliveries;
  ReadingsSince(stay.scene, {stay.key, FieldOfLibrary(field), Reading{}}, stay.life.started,
                deliveries);
  std::vector<int64_t> numbers;
  for (const Delivery& delivery : deliveries) {
    const Reading& reading = delivery.reading;
    const auto* const number = std::get_if<int64_t>(&reading.value);
    if (number != nullptr && !reading.is_garbage && stay.Covers(reading.sampled_at.value_or(-1))) {
      numbers.push_back(*number);
    }
  }
  return numbers;
}

int64_t GainOf(const Stay& stay, uint16_t field) {
  const std::vector<int64_t> numbers = NumbersOf(stay, field);
  return numbers.empty() ? abi::DCGM_INT64_BLANK : numbers.back() - numbers.front();
}

std::optional<int64_t> MostOf(const Stay& stay, uint16_t field) {
  const std::vector<int64_t> numbers = NumbersOf(stay, field);
  return numbers.empty() ? std::nullopt : std::optional(std::ranges::max(numbers));
}

constexpr abi::dcgmStatSummaryInt32_t kBlankSpread = {abi::DCGM_INT32_BLANK, abi::DCGM_INT32_BLANK,
                                                      abi::DCGM_INT32_BLANK};
constexpr abi::dcgmStatSummaryInt64_t kBlankTraffic = {abi::DCGM_INT64_BLANK, abi::DCGM_INT64_BLANK,
                                                       abi::DCGM_INT64_BLANK};

abi::dcgmStatSummaryInt32_t SpreadOf(const Stay& stay, uint16_t field) {
  const std::vector<int64_t> numbers = NumbersOf(stay, field);
  if (numbers.empty()) {
    return kBlankSpread;
  }
  const auto [least, most] = std::ranges::minmax(numbers);
  const int64_t sum = std::accumulate(numbers.begin(), numbers.end(), int64_t{0});
  return {static_cast<int>(least), static_cast<int>(most),
          static_cast<int>(sum / static_cast<int64_t>(numbers.size()))};
}

// The driver's mean utilisation of a process at a sample, in percent; the first one covers all that
// the driver still has.
double UseAt(const World& world, Integral what, const ProcessFacts& process,
             const SampleTime& sample) {
  constexpr TimeUs kBufferUs = 16 * kSecondUs;
  constexpr double kPpmPerPercent = 10'000;
  const TimeUs from = std::max(process.started, sample.previous.value_or(sample.t - kBufferUs));
  if (from >= sample.t) {
    return 0;
  }
  const Int128 used = world.IntegrateProcess(what, process.pid, sample.t) -
                      world.IntegrateProcess(what, process.pid, from);
  return static_cast<double>(used) / static_cast<double>(sample.t - from) / kPpmPerPercent;
}

// As in DCGM, the sum over this process is divided by the number of samples of all processes.
void TellUse(const Stay& stay, abi::dcgmProcessUtilInfo_t& out) {
  const World& world = stay.scene.world;
  out = {.pid = static_cast<uint32_t>(stay.life.pid), .smUtil = 0, .memUtil = 0};
  int count = 0;
  for (const SampleTime& sample : SamplesOf(stay, kUseSamples)) {
    for (int i = 0; i < world.process_count(sample.t); ++i) {
      const ProcessFacts process = world.process(i, sample.t);
      if (process.device.gpu != stay.life.device.gpu) {
        continue;
      }
      const double sm = UseAt(world, Integral::kSmPpmUs, process, sample);
      const double memory = UseAt(world, Integral::kDramPpmUs, process, sample);
      const bool is_told = sm > 0 || memory > 0;
      count += is_told ? 1 : 0;
      out.smUtil += process.pid == stay.life.pid ? sm : 0;
      out.memUtil += process.pid == stay.life.pid ? memory : 0;
    }
  }
  out.smUtil /= std::max(count, 1);
  out.memUtil /= std::max(count, 1);
}

void TellOthers(const Stay& stay, abi::dcgmPidSingleInfo_t& out) {
  const World& world = stay.scene.world;
  std::vector<uint32_t> pids;
  for (const SampleTime& sample : SamplesOf(stay, kComputePids)) {
    for (int i = 0; i < world.process_count(sample.t); ++i) {
      const ProcessFacts process = world.process(i, sample.t);
      const auto pid = static_cast<uint32_t>(process.pid);
      if (process.device.gpu == stay.life.device.gpu && process.pid != stay.life.pid &&
          std::ranges::find(pids, pid) == pids.end()) {
        pids.push_back(pid);
      }
    }
  }
  pids.resize(std::min(pids.size(), std::size(out.otherComputePids)));
  std::ranges::copy(pids, std::begin(out.otherComputePids));
  out.numOtherComputePids = static_cast<int>(pids.size());
}

void TellXids(const Stay& stay, abi::dcgmPidSingleInfo_t& out) {
  std::vector<Delivery> events;
  ReadingsSince(stay.scene, {stay.key, FieldOfLibrary(field_ids::kXid), Reading{}},
                stay.life.started, events);
  for (const Delivery& event : events) {
    const TimeUs at = event.reading.sampled_at.value_or(-1);
    if (stay.Covers(at) && out.numXidCriticalErrors < std::ssize(out.xidCriticalErrorsTs)) {
      out.xidCriticalErrorsTs[out.numXidCriticalErrors++] = stay.scene.StampUs(at);
    }
  }
}

// Violations that no watch samples stay blank, and so does traffic, which the engine never reports.
void TellStay(const Stay& stay, abi::dcgmPidSingleInfo_t& out) {
  out = {};
  out.gpuId = stay.key.id;
  out.energyConsumed = GainOf(stay, 156);
  out.pcieRxBandwidth = kBlankTraffic;
  out.pcieTxBandwidth = kBlankTraffic;
  out.pcieReplays = MostOf(stay, 202).value_or(abi::DCGM_INT64_BLANK);
  out.startTime = stay.scene.StampUs(stay.life.started);
  out.endTime = stay.runs() ? 0 : stay.scene.StampUs(stay.life.stopped);
  TellUse(stay, out.processUtilization);
  out.smUtilization = SpreadOf(stay, 203);
  out.memoryUtilization = SpreadOf(stay, 204);
  out.eccSingleBit = static_cast<uint32_t>(abi::DCGM_INT32_BLANK);
  out.eccDoubleBit = static_cast<uint32_t>(MostOf(stay, 311).value_or(abi::DCGM_INT32_BLANK));
  out.memoryClock = SpreadOf(stay, 101);
  out.smClock = SpreadOf(stay, 100);
  TellXids(stay, out);
  TellOthers(stay, out);
  out.maxGpuMemoryUsed = stay.life.peak_memory_bytes;
  out.powerViolationTime = GainOf(stay, 240);
  out.thermalViolationTime = GainOf(stay, 241);
  out.reliabilityViolationTime = GainOf(stay, 245);
  out.boardLimitViolationTime = GainOf(stay, 243);
  out.lowUtilizationTime = GainOf(stay, 244);
  out.syncBoostTime = GainOf(stay, 242);
}

// A process of the world is on one GPU at most, so the summary equals that GPU's values.
void Summarise(abi::dcgmPidInfo_v2& out) {
  out.summary = out.gpus[0];
  out.summary.smUtilization = kBlankSpread;
  out.summary.memoryUtilization = kBlankSpread;
  out.summary.memoryClock = kBlankSpread;
  out.summary.smClock = kBlankSpread;
}

}  // namespace

int WatchPids(const Scene& scene, uint64_t group, const WatchTerms& terms) {
  std::vector<EntityKey> members;
  if (!MembersOf(scene, group, members)) {
    return abi::DCGM_ST_NOT_CONFIGURED;
  }
  std::vector<int> off;
  for (const auto& [key, gpu] : GpusAmong(scene, members)) {
    if (AccountedSince(scene, gpu, scene.now) || scene.world.mig_enabled(gpu, scene.now)) {
      continue;
    }
    if (!MaySwitchAccounting(scene, gpu)) {
      return abi::DCGM_ST_REQUIRES_ROOT;
    }
    off.push_back(gpu);
  }
  for (const int gpu : off) {
    scene.state.accounted_since[gpu] = scene.now;
  }
  return WatchMembers(scene, members, kPidFields, {EngineGroup(group), kPidFieldGroup}, terms);
}

int FillPidInfo(const Scene& scene, uint64_t group, abi::dcgmPidInfo_v2& out) {
  if (!scene.state.start.has_nvml) {
    return abi::DCGM_ST_NVML_NOT_LOADED;
  }
  if (out.pid == 0) {
    return abi::DCGM_ST_BADPARAM;
  }
  std::vector<EntityKey> members;
  if (!MembersOf(scene, group, members)) {
    return abi::DCGM_ST_NOT_CONFIGURED;
  }
  bool is_watched = false;
  for (const auto& [key, gpu] : GpusAmong(scene, members)) {
    is_watched = is_watched || scene.state.watches.Find({key, kAccountingRecord}) != nullptr;
    if (const std::optional<ProcessLife> life = RecordOf(scene, key, gpu, out.pid)) {
      out.numGpus = 1;
      TellStay({.scene = scene, .key = key, .life = *life}, out.gpus[0]);
      Summarise(out);
      return abi::DCGM_ST_OK;
    }
  }
  return is_watched ? abi::DCGM_ST_NO_DATA : abi::DCGM_ST_NOT_WATCHED;
}

}  // namespace podgpu::sim
