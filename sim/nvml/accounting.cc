// The simulated NVML: process accounting, the driver's record of each process from start to end.
//
// Accounting is on from the start where the scenario says so.  A client may switch it on or off.  A
// face writes nothing that other programs read, so only that client's program sees the change.
// Accounting is off again after the driver is reloaded, and always off in MIG mode.  A process has
// a record if it started while accounting was on.  There is one record per pid and 4,000 at most;
// the records of the processes that ended first are dropped first.
#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "abi/nvml.h"
#include "abi/nvml_processes.h"
#include "sim/nvml/lists.h"
#include "sim/world/sample_periods.h"

// NOLINTBEGIN(readability-identifier-naming): the names are the vendor's.
namespace {

using namespace podgpu::abi;  // NOLINT(google-build-using-namespace): they are all about it.
using namespace podgpu::sim;  // NOLINT(google-build-using-namespace): and about its answers.

constexpr size_t kMostAccounted = 4'000;
constexpr uint16_t kAccountingField = 205;
constexpr int64_t kUsPerMs = 1'000;
constexpr Int128 kPpmPerPercent = 10'000;

struct Accounting {
  bool is_on = false;
  TimeUs since = 0;          // When the mode last changed.
  TimeUs driver_since = -1;  // When the driver that got the mode was loaded.
};

// What clients of this program have changed.
class AccountingBook {
 public:
  static AccountingBook& Get() {
    // NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): as NvmlSession::Get.
    static AccountingBook* const book = std::make_unique<AccountingBook>().release();
    return *book;
  }

  Accounting Of(const NvmlTarget& on) {
    const TimeUs driver_since = on.world->DriverSince(on.now);
    const Key key{NvmlSession::Get().NodePath(), on.device.gpu};
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found = gpus_.find(key);
    Accounting accounting{.is_on = driver_since == 0 && on.world->accounts_processes()};
    if (found != gpus_.end() && found->second.driver_since == driver_since) {
      accounting = found->second;
    }
    accounting.driver_since = driver_since;
    accounting.is_on = accounting.is_on && !InMigMode(on);
    return accounting;
  }
  void Put(const NvmlTarget& on, const Accounting& accounting) {
    const Key key{NvmlSession::Get().NodePath(), on.device.gpu};
    const std::lock_guard<std::mutex> lock(mutex_);
    gpus_[key] = accounting;
  }

 private:
  using Key = std::pair<std::string, int>;  // The node and its GPU.
  std::mutex mutex_;  // Guards the map: the loading program calls from any thread.
  std::map<Key, Accounting> gpus_;
};

// Running processes by ascending pid, then ended ones, the latest first.
std::vector<ProcessLife> AccountedLives(const NvmlTarget& on, const Accounting& accounting) {
  std::vector<ProcessLife> lives;
  std::set<int> pids;
  const auto add = [&](const ProcessLife& life) {
    if (life.started >= accounting.since && pids.insert(life.pid).second) {
      lives.push_back(life);
    }
  };
  for (const ProcessFacts& process : ProcessesOn(on)) {
    add(on.world->FindProcess(process.pid, on.now).value_or(ProcessLife{}));
  }
  for (const ProcessLife& life :
       on.world->EndedProcesses(on.device.gpu, accounting.since, on.now, kMostAccounted)) {
    add(life);
  }
  lives.resize(std::min(lives.size(), kMostAccounted));
  return lives;
}

bool IsRunning(const ProcessLife& life, TimeUs now) { return life.stopped > now; }

uint32_t LifetimePercent(const NvmlTarget& on, const ProcessLife& life, Integral what) {
  const TimeUs lived = std::min(life.stopped, on.now) - life.started;
  const Int128 whole = kPpmPerPercent * std::max<TimeUs>(lived, 1);
  const Int128 sum = on.world->IntegrateProcess(what, life.pid, on.now);
  return static_cast<uint32_t>((sum * 2 + whole) / (whole * 2));
}

// Sum of the first `samples` samples of its life, in hundredths of a percent.
unsigned long long SampledSum(const NvmlTarget& on, const ProcessLife& life, Integral what,
                              int64_t samples) {
  constexpr Int128 kPpmPerHundredth = 100;
  const Int128 sum =
      on.world->IntegrateProcess(what, life.pid, life.started + SampleBoundary(samples));
  const Int128 whole = kPpmPerHundredth * kSecondUs;
  return static_cast<unsigned long long>((sum * kSamplesPerSecond * 2 + whole) / (whole * 2));
}

void TellLife(const NvmlTarget& on, const ProcessLife& life, auto& stats) {
  const bool runs = IsRunning(life, on.now);
  stats.gpuUtilization = LifetimePercent(on, life, Integral::kSmPpmUs);
  stats.memoryUtilization = LifetimePercent(on, life, Integral::kDramPpmUs);
  stats.maxMemoryUsage = static_cast<unsigned long long>(life.peak_memory_bytes);
  stats.time = runs ? 0 : static_cast<unsigned long long>((life.stopped - life.started) / kUsPerMs);
  stats.startTime = static_cast<unsigned long long>(NvmlSession::Get().StampUs(life.started));
  stats.isRunning = runs ? 1 : 0;
}

void TellSums(const NvmlTarget& on, const ProcessLife& life, nvmlAccountingStats_v2_t& stats) {
  const int64_t samples = SampleCount(std::min(life.stopped, on.now) - life.started);
  stats.sampleCount = static_cast<uint32_t>(samples);
  stats.sumGpuUtil = SampledSum(on, life, Integral::kSmPpmUs, samples);
  stats.sumFbUtil = SampledSum(on, life, Integral::kDramPpmUs, samples);
}

// Calls use_life(life) with the latest process that had that pid.
template <typename UseLife>
nvmlReturn_t FindAccounted(const NvmlTarget& on, uint32_t pid, const UseLife& use_life) {
  const Accounting accounting = AccountingBook::Get().Of(on);
  if (!accounting.is_on) {
    return NVML_ERROR_NOT_SUPPORTED;
  }
  const std::vector<ProcessLife> lives = AccountedLives(on, accounting);
  const auto found = std::ranges::find(lives, static_cast<int>(pid), &ProcessLife::pid);
  if (found == lives.end()) {
    return NVML_ERROR_NOT_FOUND;
  }
  use_life(*found);
  return NVML_SUCCESS;
}

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

nvmlReturn_t nvmlDeviceGetAccountingMode(nvmlDevice_t device, int* mode) {
  return AnswerNvml({__func__, device}, mode, [](const NvmlTarget& on) {
    return NvmlNumber(AccountingBook::Get().Of(on).is_on ? 1 : 0);
  });
}

nvmlReturn_t nvmlDeviceSetAccountingMode(nvmlDevice_t device, int mode) {
  return AskNvml({__func__, device}, [mode](const NvmlTarget& on) -> nvmlReturn_t {
    Accounting accounting = AccountingBook::Get().Of(on);
    if (InMigMode(on)) {
      return NVML_ERROR_NOT_SUPPORTED;
    }
    if (mode != 0 && mode != 1) {
      return NVML_ERROR_INVALID_ARGUMENT;
    }
    if (accounting.is_on != (mode == 1)) {
      accounting = {mode == 1, on.now, accounting.driver_since};
      AccountingBook::Get().Put(on, accounting);
    }
    return NVML_SUCCESS;
  });
}

nvmlReturn_t nvmlDeviceGetAccountingStats(nvmlDevice_t device, unsigned pid,
                                          nvmlAccountingStats_t* stats) {
  return AskNvml(
      {__func__, device, {kAccountingField}},
      [&](const NvmlTarget& on) {
        return FindAccounted(on, pid, [&](const ProcessLife& life) {
          *stats = {};
          TellLife(on, life, *stats);
        });
      },
      stats);
}

nvmlReturn_t nvmlDeviceGetAccountingStats_v2(nvmlDevice_t device, nvmlAccountingStats_v2_t* stats) {
  return AskNvml(
      {__func__, device, {kAccountingField}},
      [&](const NvmlTarget& on) {
        return FindAccounted(on, stats->pid, [&](const ProcessLife& life) {
          TellLife(on, life, *stats);
          TellSums(on, life, *stats);
        });
      },
      stats);
}

nvmlReturn_t nvmlDeviceGetAccountingPids(nvmlDevice_t device, unsigned* count, unsigned* pids) {
  const NvmlCall call{.name = __func__, .device = device};
  const NvmlTarget on = BeginNvmlCall(call);
  if (on.result != NVML_SUCCESS) {
    return on.result;
  }
  if (count == nullptr) {
    return NVML_ERROR_INVALID_ARGUMENT;
  }
  const Accounting accounting = AccountingBook::Get().Of(on);
  if (!accounting.is_on) {
    return NVML_ERROR_NOT_SUPPORTED;
  }
  std::vector<unsigned> list;
  for (const ProcessLife& life : AccountedLives(on, accounting)) {
    list.push_back(static_cast<unsigned>(life.pid));
  }
  return PutNvmlList(call, on, list, *count, pids);
}

// NVIDIA's Python bindings ask for it before they ask for the pids.
nvmlReturn_t nvmlDeviceGetAccountingBufferSize(nvmlDevice_t device, unsigned* size) {
  return AnswerNvml({__func__, device}, size, [](const NvmlTarget& on) {
    return NvmlNumberIf(AccountingBook::Get().Of(on).is_on, kMostAccounted);
  });
}

}  // extern "C"
#pragma GCC visibility pop
// NOLINTEND(readability-identifier-naming)
