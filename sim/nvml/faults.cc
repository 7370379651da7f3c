#include "sim/nvml/faults.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <ctime>

#include "sim/nvml/session.h"

namespace podgpu::sim {
namespace {

using enum FaultKind;

constexpr int kHangPollMs = 10;
constexpr uint64_t kFaultsOnCalls =
    FaultBit(kHang) | FaultBit(kSlow) | FaultBit(kError) | FaultBit(kNoPermission);
constexpr uint64_t kFaultsOnPresence =
    FaultBit(kGpuLost) | FaultBit(kGpuDetached) | FaultBit(kBindUnbind);
constexpr uint64_t kFaultsOnValues =
    FaultBit(kBlank) | FaultBit(kError) | FaultBit(kNoPermission) | FaultBit(kNodata);

bool MayHave(const World& world, uint64_t kinds) { return (world.fault_kinds() & kinds) != 0; }

// Indexed by BlankReason.
constexpr std::array<abi::nvmlReturn_t, 4> kBlankCodes = {
    abi::NVML_ERROR_UNKNOWN, abi::NVML_ERROR_NOT_FOUND, abi::NVML_ERROR_NOT_SUPPORTED,
    abi::NVML_ERROR_NO_PERMISSION};

bool IsOnValues(const Fault& fault) {
  return fault.As<ErrorTarget>(FaultNumber::kTarget) == ErrorTarget::kValue;
}

bool IsOfNvml(const Fault& fault) { return fault.Get(FaultNumber::kCode) > 0; }

// Whether the fault applies to the call.
bool AppliesToNvmlCall(const Fault& fault, std::string_view call, int gpu) {
  const bool of_others = fault.kind == kError && (IsOnValues(fault) || !IsOfNvml(fault));
  return !of_others && fault.OnCall(call) && fault.Concerns(gpu);
}

// The fault of that kind that applies to the call now; null when there is none.
const Fault* NvmlCallFault(FaultKind kind, std::string_view call, int gpu) {
  const NvmlTarget now = NvmlSession::Get().System();
  if (now.result != abi::NVML_SUCCESS || !MayHave(*now.world, FaultBit(kind))) {
    return nullptr;
  }
  const auto faults = now.world->faults();
  const auto found = std::ranges::find_if(faults, [&](const Fault& fault) {
    return fault.kind == kind && fault.InForce(now.now) && AppliesToNvmlCall(fault, call, gpu);
  });
  return found == faults.end() ? nullptr : &*found;
}

// A fault that names calls applies to values only if it also names fields.
bool OnAnyField(const Fault& fault, std::span<const uint16_t> fields) {
  const bool on_values = IsOnValues(fault) || fault.calls.empty() || !fault.fields.empty();
  return on_values &&
         std::ranges::any_of(fields, [&](uint16_t field) { return fault.OnField(field); });
}

// The code that the fault returns in place of a value.
abi::nvmlReturn_t ValueCode(const Fault& fault) {
  switch (fault.kind) {
    case kBlank:
      return kBlankCodes.at(static_cast<size_t>(fault.Get(FaultNumber::kReason)));
    case kNoPermission:
      return abi::NVML_ERROR_NO_PERMISSION;
    case kNodata:
      return abi::NVML_ERROR_NO_DATA;
    case kError:
      if (IsOnValues(fault)) {
        return IsOfNvml(fault) ? static_cast<int>(fault.Get(FaultNumber::kCode))
                               : abi::NVML_ERROR_UNKNOWN;
      }
      return abi::NVML_SUCCESS;
    default:
      return abi::NVML_SUCCESS;
  }
}

}  // namespace

abi::nvmlReturn_t ApplyNvmlFaults(std::string_view call, int gpu) {
  const NvmlTarget now = NvmlSession::Get().System();
  if (now.result != abi::NVML_SUCCESS || !MayHave(*now.world, kFaultsOnCalls)) {
    return abi::NVML_SUCCESS;
  }
  while (NvmlCallFault(kHang, call, gpu) != nullptr) {
    SleepInDriver(kHangPollMs);
  }
  if (const Fault* const slow = NvmlCallFault(kSlow, call, gpu)) {
    SleepInDriver(static_cast<int>(slow->Get(FaultNumber::kMs)));
  }
  if (NvmlCallFault(kNoPermission, call, gpu) != nullptr) {
    return abi::NVML_ERROR_NO_PERMISSION;
  }
  const Fault* const error = NvmlCallFault(kError, call, gpu);
  return error == nullptr ? abi::NVML_SUCCESS : static_cast<int>(error->Get(FaultNumber::kCode));
}

bool IsNvmlGpuGone(const World& world, int gpu, TimeUs t) {
  return MayHave(world, kFaultsOnPresence) && (world.FaultAt(kGpuLost, gpu, t) != nullptr ||
                                               world.FaultAt(kGpuDetached, gpu, t) != nullptr ||
                                               world.FaultAt(kBindUnbind, gpu, t) != nullptr);
}

abi::nvmlReturn_t NvmlValueFault(const World& world, int gpu, std::span<const uint16_t> fields,
                                 TimeUs t) {
  if (fields.empty() || !MayHave(world, kFaultsOnValues)) {
    return abi::NVML_SUCCESS;
  }
  for (const Fault& fault : world.faults()) {
    if (fault.InForce(t) && fault.Concerns(gpu) && OnAnyField(fault, fields)) {
      if (const abi::nvmlReturn_t code = ValueCode(fault); code != abi::NVML_SUCCESS) {
        return code;
      }
    }
  }
  return abi::NVML_SUCCESS;
}

bool IsNvmlGarbage(const World& world, std::string_view call, int gpu,
                   std::span<const uint16_t> fields, TimeUs t) {
  if (!MayHave(world, FaultBit(kGarbage))) {
    return false;
  }
  return std::ranges::any_of(world.faults(), [&](const Fault& fault) {
    return fault.kind == kGarbage && fault.InForce(t) && fault.Concerns(gpu) &&
           (fault.OnCall(call) || OnAnyField(fault, fields));
  });
}

void SleepInDriver(int ms) {
  constexpr int64_t kNsPerMs = 1'000'000;
  timespec left{.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * kNsPerMs};
  // This simulates a call that blocks in the kernel.
  while (nanosleep(&left, &left) != 0 && errno == EINTR) {
  }
}

}  // namespace podgpu::sim
