// The simulated NVML: event sets.
//
// The world's faults say what happens when.  A wait therefore looks for the first event after the
// last delivered one, up to now; then it sleeps, as in the real driver, until a fault begins or
// ends, the node is changed, or the time-out, which counts the machine's time; nvmlShutdown does
// not end it.  Events before registration are not delivered.  Events of the same time are ordered
// by GPU, type and data, so a change of the control log neither loses nor repeats one.
#include <algorithm>
#include <chrono>
#include <compare>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>
#include <vector>

#include "abi/nvml.h"
#include "abi/nvml_events.h"
#include "sim/nvml/call.h"
#include "sim/nvml/faults.h"
#include "sim/nvml/objects.h"

namespace podgpu::sim {

// One event of a GPU; compared in the order of delivery.
struct NvmlEvent {
  TimeUs at = 0;
  int gpu = 0;
  unsigned long long type = 0;
  unsigned long long data = 0;
  auto operator<=>(const NvmlEvent&) const = default;
};

}  // namespace podgpu::sim

// NOLINTBEGIN(readability-identifier-naming): the names are the vendor's.
namespace podgpu::abi {

struct nvmlEventSet_st {
  struct Registration {
    int gpu;
    unsigned long long types;
    sim::TimeUs since;
  };
  std::mutex mutex;
  std::vector<Registration> registrations;
  sim::NvmlEvent delivered;
};

}  // namespace podgpu::abi

namespace {

using namespace podgpu::abi;  // NOLINT(google-build-using-namespace): they are all about it.
using namespace podgpu::sim;  // NOLINT(google-build-using-namespace): and about its answers.

using EventSets = NvmlObjects<nvmlEventSet_st>;

constexpr uint32_t kWholeGpu = 0xffffffff;

unsigned long long SupportedTypes(const NvmlTarget& on) {
  const GpuFacts& gpu = on.gpu();
  unsigned long long types = nvmlEventTypeXidCriticalError | nvmlEventTypeGpuUnavailableError;
  if (gpu.has_ecc) {
    types |= nvmlEventTypeSingleBitEccError | nvmlEventTypeDoubleBitEccError |
             nvmlEventTypeGpuRecoveryAction;
  }
  if (gpu.has_retired_pages) {
    types |= nvmlEventTypeDramRetirementEvent;
  }
  if (gpu.mig_capable) {
    types |= nvmlEventMigConfigChange;
  }
  return types;
}

// Calls visit(type, data) for each event that a GPU reports when the fault begins.
template <typename Visit>
void ForEachEvent(const Fault& fault, const GpuFacts& gpu, const Visit& visit) {
  switch (fault.kind) {
    case FaultKind::kXid:
      visit(nvmlEventTypeXidCriticalError, fault.Amount(FaultNumber::kXid));
      return;
    case FaultKind::kGpuLost:
      visit(nvmlEventTypeXidCriticalError, fault.Amount(FaultNumber::kXid));
      visit(nvmlEventTypeGpuUnavailableError, 0);
      return;
    case FaultKind::kGpuDetached:
    case FaultKind::kBindUnbind:
      visit(nvmlEventTypeGpuUnavailableError, 0);
      return;
    case FaultKind::kMigSet:
    case FaultKind::kMigMode:
      visit(nvmlEventMigConfigChange, 0);
      return;
    case FaultKind::kEcc:
      if (fault.As<EccError>(FaultNumber::kEccError) == EccError::kSingleBit) {
        visit(nvmlEventTypeSingleBitEccError, 0);
        return;
      }
      visit(nvmlEventTypeDoubleBitEccError, 0);
      visit(nvmlEventTypeGpuRecoveryAction, 1);  // A reset.
      if (gpu.has_retired_pages) {
        visit(nvmlEventTypeDramRetirementEvent, 0);
      }
      return;
    default:
      return;
  }
}

// Returns the first event after the last one that the set delivered, up to now.
std::optional<NvmlEvent> NextEvent(const nvmlEventSet_st& set, const World& world, TimeUs now) {
  std::optional<NvmlEvent> next;
  for (const nvmlEventSet_st::Registration& one : set.registrations) {
    for (const Fault& fault : world.faults()) {
      if (!fault.Concerns(one.gpu) || fault.at <= one.since || fault.at > now) {
        continue;
      }
      ForEachEvent(fault, world.gpu(one.gpu), [&](unsigned long long type, int64_t data) {
        const NvmlEvent event{fault.at, one.gpu, type, static_cast<unsigned long long>(data)};
        if ((one.types & type) != 0 && event > set.delivered && (!next || event < *next)) {
          next = event;
        }
      });
    }
  }
  return next;
}

// Returns the next time at which a fault begins or ends; INT64_MAX: none does.
TimeUs NextChange(const World& world, TimeUs now) {
  TimeUs next = INT64_MAX;
  for (const Fault& fault : world.faults()) {
    for (const TimeUs edge : {fault.at, fault.until}) {
      next = edge > now ? std::min(next, edge) : next;
    }
  }
  return next;
}

// Delivers the event: the set does not report it again.
void Deliver(nvmlEventSet_st& set, const NvmlTarget& now, const NvmlEvent& event,
             nvmlEventData_t& data) {
  set.delivered = event;
  NvmlTarget on = now;
  on.device = {.gpu = event.gpu};
  data = {.device = NvmlSession::Get().Handle(on),
          .eventType = event.type,
          .eventData = event.data,
          .gpuInstanceId = kWholeGpu,
          .computeInstanceId = kWholeGpu};
}

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

nvmlReturn_t nvmlEventSetCreate(nvmlEventSet_t* set) {
  const NvmlTarget target = BeginNvmlSystemCall(__func__);
  if (target.result != NVML_SUCCESS) {
    return target.result;
  }
  if (set == nullptr) {
    return NVML_ERROR_INVALID_ARGUMENT;
  }
  *set = EventSets::Get().Make();
  return NVML_SUCCESS;
}

nvmlReturn_t nvmlEventSetFree(nvmlEventSet_t set) {
  return EventSets::Get().Free(set) ? NVML_SUCCESS : NVML_ERROR_INVALID_ARGUMENT;
}

nvmlReturn_t nvmlDeviceGetSupportedEventTypes(nvmlDevice_t device, unsigned long long* types) {
  return AnswerNvml({__func__, device}, types, [](const NvmlTarget& on) {
    return NvmlNumber(static_cast<int64_t>(SupportedTypes(on)));
  });
}

nvmlReturn_t nvmlDeviceRegisterEvents(nvmlDevice_t device, unsigned long long types,
                                      nvmlEventSet_t set) {
  return AskNvml({__func__, device}, [&](const NvmlTarget& on) {
    const std::shared_ptr<nvmlEventSet_st> found = EventSets::Get().Find(set);
    if (found == nullptr) {
      return NVML_ERROR_INVALID_ARGUMENT;
    }
    if ((types & ~SupportedTypes(on)) != 0) {
      return NVML_ERROR_NOT_SUPPORTED;
    }
    const std::lock_guard<std::mutex> lock(found->mutex);
    found->registrations.push_back({on.device.gpu, types, on.now});
    return NVML_SUCCESS;
  });
}

nvmlReturn_t nvmlEventSetWait_v2(nvmlEventSet_t set, nvmlEventData_t* data, unsigned timeout_ms) {
  const std::shared_ptr<nvmlEventSet_st> found = EventSets::Get().Find(set);
  if (data == nullptr || found == nullptr) {
    return NVML_ERROR_INVALID_ARGUMENT;
  }
  for (std::chrono::microseconds left = std::chrono::milliseconds(timeout_ms);;) {
    const uint64_t seen = NvmlSession::Get().Changes();
    const NvmlTarget now = BeginNvmlSystemCall(__func__);
    if (now.result != NVML_SUCCESS) {
      return now.result;
    }
    {
      const std::lock_guard<std::mutex> lock(found->mutex);
      if (const auto event = NextEvent(*found, *now.world, now.now)) {
        Deliver(*found, now, *event, *data);
        return NVML_SUCCESS;
      }
    }
    if (left.count() <= 0) {
      return NVML_ERROR_TIMEOUT;
    }
    left = NvmlSession::Get().Sleep(NextChange(*now.world, now.now), seen, left);
  }
}

}  // extern "C"
#pragma GCC visibility pop
// NOLINTEND(readability-identifier-naming)
