// The simulated NVML: event sets of devices and of the system.
//
// The world's faults say what happens when.  A wait therefore looks for the first event after the
// last delivered one, up to now, and looks again every 10 ms until the time-out, which counts real
// time.  Events before registration are not delivered.  Events of the same time are ordered by GPU,
// type and data, so a change of the control log neither loses nor repeats one.
#include <algorithm>
#include <compare>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
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

struct nvmlSystemEventSet_st {
  std::mutex mutex;
  unsigned long long types = 0;
  sim::NvmlEvent delivered;
};

}  // namespace podgpu::abi

namespace {

using namespace podgpu::abi;  // NOLINT(google-build-using-namespace): they are all about it.
using namespace podgpu::sim;  // NOLINT(google-build-using-namespace): and about its answers.

using EventSets = NvmlObjects<nvmlEventSet_st>;
using SystemEventSets = NvmlObjects<nvmlSystemEventSet_st>;

constexpr unsigned kEventPollMs = 10;
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

// The same for system events: a driver unbinds a GPU, or binds it again.
std::optional<NvmlEvent> NextSystemEvent(const nvmlSystemEventSet_st& set, const World& world,
                                         TimeUs now) {
  std::optional<NvmlEvent> next;
  const auto offer = [&](const NvmlEvent& event) {
    if (event.at <= now && (set.types & event.type) != 0 && event > set.delivered &&
        (!next || event < *next)) {
      next = event;
    }
  };
  for (const Fault& fault : world.faults()) {
    if (fault.kind != FaultKind::kGpuDetached && fault.kind != FaultKind::kBindUnbind) {
      continue;
    }
    for (int gpu = 0; gpu < world.gpu_count(); ++gpu) {
      if (fault.Concerns(gpu)) {
        offer({fault.at, gpu, nvmlSystemEventTypeGpuDriverUnbind, 0});
        offer({fault.until, gpu, nvmlSystemEventTypeGpuDriverBind, 0});
      }
    }
  }
  return next;
}

// Calls find(target) every 10 ms until it returns true or the time-out ends.
template <typename Find>
nvmlReturn_t WaitFor(std::string_view call, unsigned timeout_ms, const Find& find) {
  for (unsigned left_ms = timeout_ms;;) {
    const NvmlTarget now = BeginNvmlSystemCall(call);
    if (now.result != NVML_SUCCESS) {
      return now.result;
    }
    if (find(now)) {
      return NVML_SUCCESS;
    }
    if (left_ms == 0) {
      return NVML_ERROR_TIMEOUT;
    }
    const unsigned pause_ms = std::min(left_ms, kEventPollMs);
    SleepInDriver(static_cast<int>(pause_ms));
    left_ms -= pause_ms;
  }
}

nvmlReturn_t WaitForDevice(std::string_view call, nvmlEventSet_t set, unsigned timeout_ms,
                           nvmlEventData_t& data) {
  const std::shared_ptr<nvmlEventSet_st> found = EventSets::Get().Find(set);
  if (found == nullptr) {
    return NVML_ERROR_INVALID_ARGUMENT;
  }
  return WaitFor(call, timeout_ms, [&](const NvmlTarget& now) {
    const std::lock_guard<std::mutex> lock(found->mutex);
    const std::optional<NvmlEvent> event = NextEvent(*found, *now.world, now.now);
    if (!event) {
      return false;
    }
    found->delivered = *event;
    NvmlTarget on = now;
    on.device = {.gpu = event->gpu};
    data = {.device = NvmlSession::Get().Handle(on),
            .eventType = event->type,
            .eventData = event->data,
            .gpuInstanceId = kWholeGpu,
            .computeInstanceId = kWholeGpu};
    return true;
  });
}

// The PCI address in one number: domain, bus and device, as their function 0 has it.
uint32_t PciNumber(const World& world, int gpu) {
  unsigned domain = 0;
  unsigned bus = 0;
  unsigned device = 0;
  const std::string bus_id(world.gpu(gpu).pci_bus_id);  // "00000000:1B:00.0"
  // NOLINTNEXTLINE(cert-err34-c): the world's own text.
  sscanf(bus_id.c_str(), "%8x:%2x:%2x", &domain, &bus, &device);
  return domain << 16U | bus << 8U | device << 3U;
}

// Whether the request is valid and of the version that this library knows.
template <typename Request>
nvmlReturn_t CheckRequest(std::string_view call, const Request* request, uint32_t version) {
  const NvmlTarget target = BeginNvmlSystemCall(call);
  if (target.result != NVML_SUCCESS) {
    return target.result;
  }
  if (request == nullptr) {
    return NVML_ERROR_INVALID_ARGUMENT;
  }
  return request->version == version ? NVML_SUCCESS : NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
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
  return data == nullptr ? NVML_ERROR_INVALID_ARGUMENT
                         : WaitForDevice(__func__, set, timeout_ms, *data);
}

// The first layout ends before the instances' ids.
nvmlReturn_t nvmlEventSetWait(nvmlEventSet_t set, void* data, unsigned timeout_ms) {
  if (data == nullptr) {
    return NVML_ERROR_INVALID_ARGUMENT;
  }
  nvmlEventData_t event{};
  const nvmlReturn_t result = WaitForDevice(__func__, set, timeout_ms, event);
  if (result == NVML_SUCCESS) {
    std::memcpy(data, &event, offsetof(nvmlEventData_t, gpuInstanceId));
  }
  return result;
}

nvmlReturn_t nvmlSystemEventSetCreate(nvmlSystemEventSetCreateRequest_v1_t* request) {
  const nvmlReturn_t result = CheckRequest(__func__, request, nvmlSystemEventSetCreateRequest_v1);
  if (result == NVML_SUCCESS) {
    request->set = SystemEventSets::Get().Make();
  }
  return result;
}

nvmlReturn_t nvmlSystemEventSetFree(nvmlSystemEventSetFreeRequest_v1_t* request) {
  const nvmlReturn_t result = CheckRequest(__func__, request, nvmlSystemEventSetFreeRequest_v1);
  if (result != NVML_SUCCESS) {
    return result;
  }
  return SystemEventSets::Get().Free(request->set) ? NVML_SUCCESS : NVML_ERROR_INVALID_ARGUMENT;
}

nvmlReturn_t nvmlSystemRegisterEvents(nvmlSystemRegisterEventRequest_v1_t* request) {
  const nvmlReturn_t result = CheckRequest(__func__, request, nvmlSystemRegisterEventRequest_v1);
  if (result != NVML_SUCCESS) {
    return result;
  }
  const std::shared_ptr<nvmlSystemEventSet_st> set = SystemEventSets::Get().Find(request->set);
  if (set == nullptr) {
    return NVML_ERROR_INVALID_ARGUMENT;
  }
  const TimeUs now = NvmlSession::Get().System().now;
  const std::lock_guard<std::mutex> lock(set->mutex);
  set->types |= request->eventTypes;
  // Events up to now count as delivered, so only later ones come.
  set->delivered = {now, std::numeric_limits<int>::max(), 0, 0};
  return NVML_SUCCESS;
}

nvmlReturn_t nvmlSystemEventSetWait(nvmlSystemEventSetWaitRequest_v1_t* request) {
  const nvmlReturn_t result = CheckRequest(__func__, request, nvmlSystemEventSetWaitRequest_v1);
  if (result != NVML_SUCCESS) {
    return result;
  }
  const std::shared_ptr<nvmlSystemEventSet_st> set = SystemEventSets::Get().Find(request->set);
  if (set == nullptr || request->data == nullptr || request->dataSize == 0) {
    return NVML_ERROR_INVALID_ARGUMENT;
  }
  request->numEvent = 0;
  return WaitFor(__func__, request->timeoutms, [&](const NvmlTarget& now) {
    const std::lock_guard<std::mutex> lock(set->mutex);
    while (request->numEvent < request->dataSize) {
      const std::optional<NvmlEvent> event = NextSystemEvent(*set, *now.world, now.now);
      if (!event) {
        break;
      }
      set->delivered = *event;
      request->data[request->numEvent] = {.eventType = event->type,
                                          .gpuId = PciNumber(*now.world, event->gpu)};
      ++request->numEvent;
    }
    return request->numEvent > 0;
  });
}

}  // extern "C"
#pragma GCC visibility pop
// NOLINTEND(readability-identifier-naming)
