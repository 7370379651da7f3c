#include "doctor/call_trace.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <list>
#include <map>
#include <memory>
#include <type_traits>

#include "absl/strings/str_format.h"

#include "abi/dcgm_table.h"
#include "abi/nvml_table.h"
#include "base/mutex.h"

namespace podgpu {
namespace {

using abi::DcgmTable;
using abi::NvmlTable;

// Calls that wait on purpose, or that only return a text.
constexpr std::array<std::string_view, 4> kUntraced = {"nvmlEventSetWait_v2", "nvmlErrorString",
                                                       "errorString", "DcgmFieldGetById"};

struct OpenCall {
  std::string_view name;
  std::optional<uint32_t> gpu;
  Instant began{};
};

// The calls of this process.
class Trace {
 public:
  void Use(const Clock& clock) {
    MutexLock lock(mutex_);
    clock_ = &clock;
  }

  std::list<OpenCall>::iterator Begin(std::string_view name, std::optional<uint32_t> gpu) {
    MutexLock lock(mutex_);
    return running_.insert(running_.end(), {name, gpu, clock_->Now()});
  }

  void End(std::list<OpenCall>::iterator call) {
    MutexLock lock(mutex_);
    const Duration took = clock_->Now() - call->began;
    ++summary_.calls;
    if (took > summary_.slowest.took || summary_.slowest.name.empty()) {
      summary_.slowest = {call->name, call->gpu, took};
    }
    running_.erase(call);
  }

  void Learn(abi::nvmlDevice_t handle, uint32_t gpu) {
    MutexLock lock(mutex_);
    gpus_[handle] = gpu;
  }

  std::optional<uint32_t> GpuOf(abi::nvmlDevice_t handle) const {
    MutexLock lock(mutex_);
    const auto found = gpus_.find(handle);
    return found == gpus_.end() ? std::nullopt : std::optional(found->second);
  }

  // Calls are in the order in which they began.
  std::optional<TracedCall> Running(Instant since) const {
    MutexLock lock(mutex_);
    const auto call = std::ranges::find_if(
        running_, [since](const OpenCall& running) { return running.began >= since; });
    if (call == running_.end()) {
      return std::nullopt;
    }
    return TracedCall{call->name, call->gpu, clock_->Now() - call->began};
  }

  std::optional<TracedCall> Newest(Instant since) const {
    MutexLock lock(mutex_);
    if (running_.empty() || running_.back().began < since) {
      return std::nullopt;
    }
    const OpenCall& call = running_.back();
    return TracedCall{call.name, call.gpu, clock_->Now() - call.began};
  }

  CallSummary Summary() const {
    MutexLock lock(mutex_);
    return summary_;
  }

  void Forget() {
    MutexLock lock(mutex_);
    summary_ = {};
  }

 private:
  mutable Mutex mutex_;
  const Clock* clock_ PODGPU_GUARDED_BY(mutex_) = nullptr;
  std::list<OpenCall> running_ PODGPU_GUARDED_BY(mutex_);
  std::map<abi::nvmlDevice_t, uint32_t> gpus_ PODGPU_GUARDED_BY(mutex_);
  CallSummary summary_ PODGPU_GUARDED_BY(mutex_);
};

// One per process, because the vendor's functions have no context argument.  Lives until the
// process ends, because a call that hangs may end at any time.
Trace& TheTrace() {
  // NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): see above.
  static Trace* const trace = std::make_unique<Trace>().release();
  return *trace;
}

// The vendor's function behind a wrapper.  A check loads the library again while a call of an
// earlier check still hangs, so it is written and read at once.
template <auto kMember>
struct OriginalOf;
template <typename Table, typename Function, Function Table::*kMember>
struct OriginalOf<kMember> {
  static std::atomic<Function>& Get() {
    static std::atomic<Function> function = nullptr;
    return function;
  }
};

template <auto kMember>
std::string_view& NameOf() {
  static std::string_view name;
  return name;
}

std::optional<uint32_t> GpuIn() { return std::nullopt; }
template <typename First, typename... Rest>
std::optional<uint32_t> GpuIn(First first, Rest... /*rest*/) {
  if constexpr (std::is_same_v<First, abi::nvmlDevice_t>) {
    return TheTrace().GpuOf(first);
  } else {
    return std::nullopt;
  }
}

// The wrapper of one symbol.
template <typename Table, auto kMember, typename Signature>
struct Wrapper;
template <typename Table, auto kMember, typename Result, typename... Arguments>
struct Wrapper<Table, kMember, Result (*Table::*)(Arguments...)> {
  static Result Call(Arguments... arguments) {
    std::optional<uint32_t> gpu = GpuIn(arguments...);
    const auto original = OriginalOf<kMember>::Get().load();
    const auto call = TheTrace().Begin(NameOf<kMember>(), gpu);
    const Result result = original(arguments...);
    TheTrace().End(call);
    return result;
  }
};
// The call that tells which handle belongs to which index.
template <>
struct Wrapper<NvmlTable, &NvmlTable::nvmlDeviceGetHandleByIndex_v2,
               decltype(&NvmlTable::nvmlDeviceGetHandleByIndex_v2)> {
  static abi::nvmlReturn_t Call(uint32_t index, abi::nvmlDevice_t* device) {
    const auto call = TheTrace().Begin("nvmlDeviceGetHandleByIndex_v2", index);
    const auto original = OriginalOf<&NvmlTable::nvmlDeviceGetHandleByIndex_v2>::Get().load();
    const abi::nvmlReturn_t result = original(index, device);
    TheTrace().End(call);
    if (result == abi::NVML_SUCCESS) {
      TheTrace().Learn(*device, index);
    }
    return result;
  }
};

struct Row {
  std::string_view name;
  void (*take)(void* address);
  void* wrapper;
};

template <typename Table, auto kMember>
Row RowOf(std::string_view name) {
  NameOf<kMember>() = name;
  return {name,
          [](void* address) {
            auto& original = OriginalOf<kMember>::Get();
            original = reinterpret_cast<decltype(original.load())>(address);
          },
          reinterpret_cast<void*>(&Wrapper<Table, kMember, decltype(kMember)>::Call)};
}

const Row* FindRow(std::string_view name) {
#define X(result, symbol, capability, parameters) RowOf<NvmlTable, &NvmlTable::symbol>(#symbol),
  static const std::array nvml_rows = {PODGPU_NVML_API(X)};
#undef X
#define X(result, symbol, capability, parameters) RowOf<DcgmTable, &DcgmTable::symbol>(#symbol),
  static const std::array dcgm_rows = {PODGPU_DCGM_API(X)};
#undef X
  if (std::ranges::count(kUntraced, name) > 0) {
    return nullptr;
  }
  if (const auto* row = std::ranges::find(nvml_rows, name, &Row::name); row != nvml_rows.end()) {
    return row;
  }
  const auto* row = std::ranges::find(dcgm_rows, name, &Row::name);
  return row == dcgm_rows.end() ? nullptr : row;
}

}  // namespace

std::string Words(const TracedCall& call) {
  return call.gpu ? absl::StrFormat("%s on GPU %d", call.name, *call.gpu) : std::string(call.name);
}

TracingLoader::TracingLoader(LibraryLoader& loader, const Clock& clock) : loader_(loader) {
  TheTrace().Use(clock);
}

void* TracingLoader::Symbol(void* library, const char* symbol) {
  void* const address = loader_.Symbol(library, symbol);
  const Row* const row = address == nullptr ? nullptr : FindRow(symbol);
  if (row == nullptr) {
    return address;
  }
  row->take(address);
  return row->wrapper;
}

std::optional<TracedCall> TracingLoader::Running(Instant since) {
  return TheTrace().Running(since);
}
std::optional<TracedCall> TracingLoader::Newest(Instant since) { return TheTrace().Newest(since); }
CallSummary TracingLoader::Summary() { return TheTrace().Summary(); }
void TracingLoader::Forget() { TheTrace().Forget(); }

}  // namespace podgpu
