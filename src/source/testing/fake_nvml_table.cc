#include "source/testing/fake_nvml_table.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <iterator>
#include <tuple>
#include <type_traits>

#include "base/status.h"
#include "source/testing/fake_nvml_numbers.h"
#include "source/testing/fake_nvml_processes.h"

namespace podgpu {

using namespace abi;  // NOLINT(google-build-using-namespace): this file speaks the vendor's names.

namespace {

// The one FakeNvml that exists; the C functions have no context argument.
FakeNvml*& CurrentNvml() {
  // C functions have no context.
  // NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables)
  static FakeNvml* current = nullptr;
  return current;
}

enum class Symbol {
#define X(result, symbol, capability, parameters) symbol,
  PODGPU_NVML_API(X)
#undef X
};

constexpr std::array kSymbolNames = {
#define X(result, symbol, capability, parameters) #symbol,
    PODGPU_NVML_API(X)
#undef X
};

template <Symbol symbol>
struct Tag {
  static std::string name() { return kSymbolNames[static_cast<size_t>(symbol)]; }
};

// A handle is the address of the object that it stands for.
nvmlDevice_t HandleOf(FakeNvmlGpu& gpu) { return reinterpret_cast<nvmlDevice_t>(&gpu); }
nvmlDevice_t HandleOf(FakeMigDevice& mig) { return reinterpret_cast<nvmlDevice_t>(&mig); }

FakeNvmlGpu* AsGpu(nvmlDevice_t device) {
  for (FakeNvmlGpu& gpu : CurrentNvml()->gpus) {
    if (HandleOf(gpu) == device) {
      return &gpu;
    }
  }
  return nullptr;
}

FakeMigDevice* AsMig(nvmlDevice_t device) {
  for (FakeNvmlGpu& gpu : CurrentNvml()->gpus) {
    for (FakeMigDevice& mig : gpu.mig_devices) {
      if (HandleOf(mig) == device) {
        return &mig;
      }
    }
  }
  return nullptr;
}

// Outputs are pointers to complete types; handles are not.
template <typename T>
constexpr bool kIsHandle = std::is_same_v<T, nvmlDevice_t> || std::is_same_v<T, nvmlEventSet_t> ||
                           std::is_same_v<T, nvmlGpmSample_t>;
template <typename T>
constexpr bool kIsOut =
    std::is_pointer_v<T> && !kIsHandle<T> && !std::is_const_v<std::remove_pointer_t<T>>;

template <typename T>
void PutIfOut(T out, int64_t number) {
  if constexpr (kIsOut<T>) {
    if (out != nullptr) {
      Put(out, number);
    }
  }
}

}  // namespace

struct FakeNvmlCalls {
  static std::unique_lock<std::mutex> Lock() {
    return std::unique_lock<std::mutex>(CurrentNvml()->mutex_);
  }
  static nvmlReturn_t Enter(const std::string& symbol, nvmlDevice_t device,
                            std::unique_lock<std::mutex>& lock) {
    return CurrentNvml()->Enter(symbol, device, lock);
  }
  static void Spoil(const std::string& symbol, std::span<const FakeOut> outs) {
    CurrentNvml()->Spoil(symbol, outs);
  }
  static int64_t NumberOf(const std::string& symbol, nvmlDevice_t device) {
    return CurrentNvml()->NumberOf(symbol, device);
  }

  // -- outputs other than numbers

  static nvmlReturn_t Answer(Tag<Symbol::nvmlInit_v2>) {
    CurrentNvml()->initialised += 1;
    return NVML_SUCCESS;
  }
  static nvmlReturn_t Answer(Tag<Symbol::nvmlShutdown>) {
    CurrentNvml()->initialised -= 1;
    return NVML_SUCCESS;
  }
  static nvmlReturn_t Answer(Tag<Symbol::nvmlDeviceGetHandleByUUID>, const char* uuid,
                             nvmlDevice_t* device) {
    const auto found = std::ranges::find(CurrentNvml()->gpus, uuid, &FakeNvmlGpu::uuid);
    if (found == CurrentNvml()->gpus.end()) {
      return NVML_ERROR_NOT_FOUND;
    }
    *device = HandleOf(*found);
    return NVML_SUCCESS;
  }
  static nvmlReturn_t Answer(Tag<Symbol::nvmlDeviceGetHandleByIndex_v2>, uint32_t index,
                             nvmlDevice_t* device) {
    if (index >= CurrentNvml()->gpus.size()) {
      return NVML_ERROR_INVALID_ARGUMENT;
    }
    *device = HandleOf(CurrentNvml()->gpus[index]);
    return CurrentNvml()->gpus[index].state;
  }
  static nvmlReturn_t Answer(Tag<Symbol::nvmlDeviceGetCount_v2>, uint32_t* count) {
    *count = static_cast<uint32_t>(CurrentNvml()->gpus.size());
    return NVML_SUCCESS;
  }
  static nvmlReturn_t Answer(Tag<Symbol::nvmlDeviceGetUUID>, nvmlDevice_t device, char* uuid,
                             uint32_t length) {
    const FakeMigDevice* mig = AsMig(device);
    return PutText(mig == nullptr ? AsGpu(device)->uuid : mig->uuid, uuid, length);
  }
  static nvmlReturn_t Answer(Tag<Symbol::nvmlDeviceGetName>, nvmlDevice_t device, char* name,
                             uint32_t length) {
    const FakeMigDevice* mig = AsMig(device);
    return PutText("NVIDIA H100 80GB HBM3" + (mig == nullptr ? "" : " MIG " + mig->profile), name,
                   length);
  }
  static nvmlReturn_t Answer(Tag<Symbol::nvmlDeviceGetMinorNumber>, nvmlDevice_t device,
                             uint32_t* minor_number) {
    *minor_number = AsGpu(device)->minor_number;
    return NVML_SUCCESS;
  }
  static nvmlReturn_t Answer(Tag<Symbol::nvmlDeviceGetPciInfo_v3>, nvmlDevice_t device,
                             nvmlPciInfo_t* pci) {
    Put(pci, AsGpu(device) - CurrentNvml()->gpus.data());
    return NVML_SUCCESS;
  }
  static nvmlReturn_t Answer(Tag<Symbol::nvmlDeviceGetMigMode>, nvmlDevice_t device, uint32_t* now,
                             uint32_t* pending) {
    *now = AsGpu(device)->mig_enabled ? 1 : 0;
    *pending = AsGpu(device)->mig_pending ? 1 - *now : *now;
    return NVML_SUCCESS;
  }
  static nvmlReturn_t Answer(Tag<Symbol::nvmlDeviceGetMaxMigDeviceCount>, nvmlDevice_t device,
                             uint32_t* count) {
    *count = static_cast<uint32_t>(AsGpu(device)->mig_devices.size());
    return NVML_SUCCESS;
  }
  static nvmlReturn_t Answer(Tag<Symbol::nvmlDeviceGetMigDeviceHandleByIndex>, nvmlDevice_t device,
                             uint32_t index, nvmlDevice_t* mig_device) {
    if (AsGpu(device) == nullptr || index >= AsGpu(device)->mig_devices.size()) {
      return NVML_ERROR_NOT_FOUND;
    }
    FakeMigDevice& mig = AsGpu(device)->mig_devices[index];
    *mig_device = HandleOf(mig);
    return mig.is_there ? NVML_SUCCESS : NVML_ERROR_NOT_FOUND;
  }
  static nvmlReturn_t Answer(Tag<Symbol::nvmlDeviceGetGpuInstanceId>, nvmlDevice_t device,
                             uint32_t* id) {
    *id = AsMig(device)->gpu_instance_id;
    return NVML_SUCCESS;
  }
  static nvmlReturn_t Answer(Tag<Symbol::nvmlDeviceGetComputeInstanceId>, nvmlDevice_t device,
                             uint32_t* id) {
    *id = AsMig(device)->compute_instance_id;
    return NVML_SUCCESS;
  }
  static nvmlReturn_t Answer(Tag<Symbol::nvmlDeviceGetFieldValues>, nvmlDevice_t device, int count,
                             nvmlFieldValue_t* values) {
    const size_t answered = std::min(static_cast<size_t>(count), CurrentNvml()->most_values);
    for (nvmlFieldValue_t& value : std::span(values, answered)) {
      const auto set = CurrentNvml()->values.find(value.fieldId);
      if (set != CurrentNvml()->values.end()) {
        value = set->second;
        continue;
      }
      value.timestamp = CurrentNvml()->stamp ? CurrentNvml()->stamp() : 1'700'000'000'000'000;
      value.valueType = NVML_VALUE_TYPE_UNSIGNED_LONG_LONG;
      value.nvmlReturn = NVML_SUCCESS;
      value.value.ullVal = static_cast<unsigned long long>(
          NumberOf("field " + std::to_string(value.fieldId), device));
    }
    return NVML_SUCCESS;
  }

  // -- events

  static nvmlReturn_t Answer(Tag<Symbol::nvmlEventSetCreate>, nvmlEventSet_t* set) {
    *set = reinterpret_cast<nvmlEventSet_t>(CurrentNvml());
    return NVML_SUCCESS;
  }
  static nvmlReturn_t Answer(Tag<Symbol::nvmlEventSetFree>, nvmlEventSet_t /*set*/) {
    return NVML_SUCCESS;
  }
  static nvmlReturn_t Answer(Tag<Symbol::nvmlDeviceRegisterEvents>, nvmlDevice_t /*device*/,
                             unsigned long long /*types*/, nvmlEventSet_t /*set*/) {
    return NVML_SUCCESS;
  }
  static nvmlReturn_t Answer(Tag<Symbol::nvmlDeviceGetSupportedEventTypes>, nvmlDevice_t /*device*/,
                             unsigned long long* types) {
    *types = nvmlEventTypeXidCriticalError | nvmlEventTypeDoubleBitEccError;
    return NVML_SUCCESS;
  }
  // Waits only for a moment, whatever the time-out: no other thread could end the wait.
  static nvmlReturn_t Answer(Tag<Symbol::nvmlEventSetWait_v2>, nvmlEventSet_t /*set*/,
                             nvmlEventData_t* data, uint32_t timeout_ms) {
    std::unique_lock<std::mutex> lock(CurrentNvml()->mutex_, std::adopt_lock);
    std::list<nvmlEventData_t>& events = CurrentNvml()->events_;
    const bool has_event = CurrentNvml()->changed_.wait_for(
        lock, std::chrono::milliseconds(std::min(timeout_ms, 5U)), [&] { return !events.empty(); });
    lock.release();  // The caller owns the lock.
    if (!has_event) {
      return NVML_ERROR_TIMEOUT;
    }
    *data = events.front();
    events.pop_front();
    return NVML_SUCCESS;
  }

  // -- GPM

  static nvmlReturn_t Answer(Tag<Symbol::nvmlGpmQueryDeviceSupport>, nvmlDevice_t device,
                             nvmlGpmSupport_t* support) {
    support->isSupportedDevice = AsGpu(device)->has_gpm ? 1 : 0;
    return NVML_SUCCESS;
  }
  static nvmlReturn_t Answer(Tag<Symbol::nvmlGpmSampleAlloc>, nvmlGpmSample_t* sample) {
    *sample = reinterpret_cast<nvmlGpmSample_t>(++CurrentNvml()->samples_);  // Never dereferenced.
    return NVML_SUCCESS;
  }
  static nvmlReturn_t Answer(Tag<Symbol::nvmlGpmSampleFree>, nvmlGpmSample_t /*sample*/) {
    return NVML_SUCCESS;
  }
  static nvmlReturn_t Answer(Tag<Symbol::nvmlGpmSampleGet>, nvmlDevice_t /*device*/,
                             nvmlGpmSample_t /*sample*/) {
    return NVML_SUCCESS;
  }
  static nvmlReturn_t Answer(Tag<Symbol::nvmlGpmMigSampleGet>, nvmlDevice_t /*device*/,
                             uint32_t /*gpu_instance_id*/, nvmlGpmSample_t /*sample*/) {
    return NVML_SUCCESS;
  }
  static nvmlReturn_t Answer(Tag<Symbol::nvmlGpmMetricsGet>, nvmlGpmMetricsGet_t* request) {
    for (nvmlGpmMetric_t& metric : std::span(request->metrics).first(request->numMetrics)) {
      metric.nvmlReturn = NVML_SUCCESS;
      metric.value = CurrentNvml()->gpm ? CurrentNvml()->gpm(metric.metricId) : 7.0;
    }
    return NVML_SUCCESS;
  }

  // -- processes

  template <Symbol symbol>
  static nvmlReturn_t Answer(Tag<symbol>, nvmlDevice_t device, uint32_t* count,
                             nvmlProcessInfo_t* processes) {
    const FakeMigDevice* mig = AsMig(device);
    const FakeNvmlGpu* gpu = AsGpu(device);
    for (const FakeNvmlGpu& candidate : CurrentNvml()->gpus) {
      const bool holds = std::ranges::any_of(
          candidate.mig_devices, [&](const FakeMigDevice& part) { return &part == mig; });
      gpu = holds ? &candidate : gpu;
    }
    const std::string name = Tag<symbol>::name();
    const bool graphics = name.find("Graphics") != std::string::npos;
    const bool mps = name.find("MPS") != std::string::npos;
    return PutFakeList(graphics ? std::vector<nvmlProcessInfo_t>() : ListedOn(*gpu, mig, mps),
                       count, processes);
  }
  static nvmlReturn_t Answer(Tag<Symbol::nvmlDeviceGetProcessUtilization>, nvmlDevice_t device,
                             nvmlProcessUtilizationSample_t* samples, uint32_t* count,
                             unsigned long long last_seen_us) {
    const auto told = SamplesSince(*AsGpu(device), last_seen_us);
    return told.empty() ? NVML_ERROR_NOT_FOUND : PutFakeList(told, count, samples);
  }
  static nvmlReturn_t Answer(Tag<Symbol::nvmlDeviceGetProcessesUtilizationInfo>,
                             nvmlDevice_t device, nvmlProcessesUtilizationInfo_v1_t* info) {
    const auto told = RecordsSince(*AsGpu(device), info->lastSeenTimeStamp);
    return told.empty() ? NVML_ERROR_NOT_FOUND
                        : PutFakeList(told, &info->processSamplesCount, info->procUtilArray);
  }
  static nvmlReturn_t Answer(Tag<Symbol::nvmlDeviceGetAccountingMode>, nvmlDevice_t device,
                             int* mode) {
    *mode = AsGpu(device)->accounting.is_on ? 1 : 0;
    return NVML_SUCCESS;
  }
  static nvmlReturn_t Answer(Tag<Symbol::nvmlDeviceSetAccountingMode>, nvmlDevice_t device,
                             int mode) {
    return SetFakeAccounting(*AsGpu(device), mode);
  }
  static nvmlReturn_t Answer(Tag<Symbol::nvmlDeviceGetAccountingPids>, nvmlDevice_t device,
                             uint32_t* count, uint32_t* pids) {
    return PutFakeAccounted(*AsGpu(device), count, pids);
  }
  static nvmlReturn_t Answer(Tag<Symbol::nvmlDeviceGetAccountingStats>, nvmlDevice_t device,
                             uint32_t pid, nvmlAccountingStats_t* stats) {
    return PutFakeLife(*AsGpu(device), pid, *stats);
  }
  static nvmlReturn_t Answer(Tag<Symbol::nvmlDeviceGetAccountingStats_v2>, nvmlDevice_t device,
                             nvmlAccountingStats_v2_t* stats) {
    return PutFakeLife(*AsGpu(device), stats->pid, *stats);
  }

  // -- texts and numbers

  template <Symbol symbol>
  static nvmlReturn_t Answer(Tag<symbol>, char* text, uint32_t length) {
    return PutText("text of " + Tag<symbol>::name(), text, length);
  }
  template <Symbol symbol>
  static nvmlReturn_t Answer(Tag<symbol>, nvmlDevice_t /*device*/, char* text, uint32_t length) {
    return PutText("text of " + Tag<symbol>::name(), text, length);
  }
  template <Symbol symbol>
  static nvmlReturn_t Answer(Tag<symbol>, nvmlDevice_t /*device*/, int /*object*/, char* text,
                             uint32_t length) {
    return PutText("text of " + Tag<symbol>::name(), text, length);
  }
  template <Symbol symbol, typename... Arguments>
  static nvmlReturn_t Answer(Tag<symbol>, Arguments... arguments) {
    nvmlDevice_t device = nullptr;
    const auto note = [&](auto argument) {
      if constexpr (std::is_same_v<decltype(argument), nvmlDevice_t>) {
        device = argument;
      }
    };
    (note(arguments), ...);
    const int64_t number = NumberOf(Tag<symbol>::name(), device);
    (PutIfOut(arguments, number), ...);
    return NVML_SUCCESS;
  }
};

namespace {

void AddOut(std::vector<FakeOut>& /*outs*/, size_t /*before*/) {}

// Records the outputs of a call.  The length of a text follows it; the length of an array precedes
// it.
template <typename First, typename... Rest>
void AddOut(std::vector<FakeOut>& outs, size_t before, First first, Rest... rest) {
  size_t number = 0;
  if constexpr (std::is_arithmetic_v<First>) {
    number = static_cast<size_t>(first);
  } else if constexpr (kIsOut<First>) {
    using Pointee = std::remove_pointer_t<First>;
    size_t count = 1;
    if constexpr (std::is_same_v<Pointee, char>) {
      count = std::get<0>(std::tuple(rest...));
    } else if constexpr (std::is_same_v<Pointee, nvmlFieldValue_t>) {
      count = before;
    }
    if (first != nullptr && !kIsHandle<Pointee>) {  // An invalid handle would crash.
      outs.push_back({first, count * sizeof(Pointee)});
    }
  }
  AddOut(outs, number, rest...);
}

template <typename... Arguments>
std::vector<FakeOut> OutsOf(Arguments... arguments) {
  std::vector<FakeOut> outs;
  AddOut(outs, 0, arguments...);
  return outs;
}

template <typename First, typename... Rest>
nvmlDevice_t DeviceIn(First first, Rest... /*rest*/) {
  if constexpr (std::is_same_v<First, nvmlDevice_t>) {
    return first;
  }
  return nullptr;
}
nvmlDevice_t DeviceIn() { return nullptr; }

// Returns whether a call about a device has no device.
template <typename First, typename... Rest>
bool IsAboutNoDevice(First first, Rest... /*rest*/) {
  if constexpr (std::is_same_v<First, nvmlDevice_t>) {
    return first == nullptr;
  }
  return false;
}
bool IsAboutNoDevice() { return false; }

template <Symbol symbol, typename Pointer>
struct Fake;

template <Symbol symbol, typename... Arguments>
struct Fake<symbol, nvmlReturn_t (*)(Arguments...)> {
  static nvmlReturn_t Do(Arguments... arguments) {
    const std::string name = Tag<symbol>::name();
    if constexpr (symbol == Symbol::nvmlInit_v2) {
      if (CurrentNvml()->before_init) {
        CurrentNvml()->before_init();
      }
      CurrentNvml()->initialisations += 1;
    }
    if (IsAboutNoDevice(arguments...)) {
      return NVML_ERROR_INVALID_ARGUMENT;
    }
    std::unique_lock<std::mutex> lock = FakeNvmlCalls::Lock();
    if (const nvmlReturn_t code = FakeNvmlCalls::Enter(name, DeviceIn(arguments...), lock);
        code != NVML_SUCCESS) {
      return code;
    }
    if (const nvmlDevice_t device = DeviceIn(arguments...);
        device != nullptr && AsGpu(device) == nullptr && AsMig(device) == nullptr) {
      return NVML_ERROR_INVALID_ARGUMENT;  // A handle of an earlier layout.
    }
    const nvmlReturn_t code = FakeNvmlCalls::Answer(Tag<symbol>(), arguments...);
    const std::vector<FakeOut> outs = OutsOf(arguments...);
    FakeNvmlCalls::Spoil(name, outs);
    return code;
  }
};

const char* ErrorString(nvmlReturn_t code) { return code == 4 ? "No Permission" : nullptr; }

template <Symbol symbol>
struct Fake<symbol, const char* (*)(nvmlReturn_t)> {
  static constexpr auto Do = ErrorString;
};

}  // namespace

FakeNvml::FakeNvml() {
  PODGPU_CHECK(CurrentNvml() == nullptr);
  CurrentNvml() = this;
}

FakeNvml::~FakeNvml() { CurrentNvml() = nullptr; }

NvmlLibrary FakeNvml::Library() const {
  NvmlLibrary library;
  library.name = "libnvidia-ml.so.1";
  library.has.fill(true);
  library.has[static_cast<size_t>(NvmlCapability::kMig)] = has_mig;
  if (!has_mig) {
    library.off = {"MIG UUIDs: off, libnvidia-ml.so.1 lacks nvmlDeviceGetGpuInstanceId"};
  }
#define X(result, symbol, capability, parameters) \
  library.api.symbol =                            \
      without.contains(#symbol) ? nullptr : Fake<Symbol::symbol, decltype(NvmlTable::symbol)>::Do;
  PODGPU_NVML_API(X)
#undef X
  return library;
}

}  // namespace podgpu
