#include "sim/nvml/call.h"

#include <algorithm>
#include <span>

#include "sim/nvml/faults.h"

namespace podgpu::sim {
namespace {

NvmlTarget NvmlFailure(abi::nvmlReturn_t result) {
  NvmlTarget target;
  target.result = result;
  return target;
}

bool SuitsScope(NvmlScope scope, bool is_mig) {
  return scope == NvmlScope::kAny || (scope == NvmlScope::kMig) == is_mig;
}

// A whole GPU rejects a call for MIG devices as invalid; a MIG device does not support GPU calls.
abi::nvmlReturn_t ScopeRefusal(NvmlScope scope) {
  return scope == NvmlScope::kMig ? abi::NVML_ERROR_INVALID_ARGUMENT
                                  : abi::NVML_ERROR_NOT_SUPPORTED;
}

std::span<const uint16_t> FedBy(const NvmlCall& call) {
  return {call.feeds.begin(), std::ranges::find(call.feeds, 0)};
}

}  // namespace

NvmlTarget BeginNvmlCall(const NvmlCall& call) {
  NvmlSession& session = NvmlSession::Get();
  NvmlTarget target = session.Find(call.device);
  if (target.result != abi::NVML_SUCCESS) {
    return target;
  }
  const abi::nvmlReturn_t met = ApplyNvmlFaults(call.name, target.device.gpu);
  if (met != abi::NVML_SUCCESS) {
    return NvmlFailure(met);
  }
  target = session.Find(call.device);  // A fault may have blocked the call for a while.
  if (target.result != abi::NVML_SUCCESS) {
    return target;
  }
  if (IsNvmlGpuGone(*target.world, target.device.gpu, target.now)) {
    return NvmlFailure(abi::NVML_ERROR_GPU_IS_LOST);
  }
  if (!SuitsScope(call.scope, target.is_mig())) {
    return NvmlFailure(ScopeRefusal(call.scope));
  }
  const abi::nvmlReturn_t refused =
      NvmlValueFault(*target.world, target.device.gpu, FedBy(call), target.now);
  return refused == abi::NVML_SUCCESS ? target : NvmlFailure(refused);
}

NvmlTarget BeginNvmlSystemCall(std::string_view name) {
  NvmlSession& session = NvmlSession::Get();
  const NvmlTarget target = session.System();
  if (target.result != abi::NVML_SUCCESS) {
    return target;
  }
  const abi::nvmlReturn_t met = ApplyNvmlFaults(name, -1);
  return met == abi::NVML_SUCCESS ? session.System() : NvmlFailure(met);
}

NvmlTarget BeginNvmlHandleCall(std::string_view name, const NvmlTarget& target) {
  const int gpu = target.result == abi::NVML_SUCCESS ? target.device.gpu : -1;
  const NvmlTarget system = NvmlSession::Get().System();
  if (system.result != abi::NVML_SUCCESS) {
    return system;
  }
  if (const abi::nvmlReturn_t met = ApplyNvmlFaults(name, gpu); met != abi::NVML_SUCCESS) {
    return NvmlFailure(met);
  }
  if (target.result == abi::NVML_SUCCESS && IsNvmlGpuGone(*target.world, gpu, target.now)) {
    return NvmlFailure(abi::NVML_ERROR_GPU_IS_LOST);
  }
  return target;
}

bool IsAnswerGarbage(const NvmlCall& call, const NvmlTarget& target) {
  return IsNvmlGarbage(*target.world, call.name, target.device.gpu, FedBy(call), target.now);
}

abi::nvmlReturn_t PutNvmlText(std::string_view text, char* buffer, unsigned length) {
  if (buffer == nullptr) {
    return abi::NVML_ERROR_INVALID_ARGUMENT;
  }
  if (text.empty()) {
    return abi::NVML_ERROR_NOT_SUPPORTED;
  }
  if (text.size() >= length) {
    return abi::NVML_ERROR_INSUFFICIENT_SIZE;
  }
  std::ranges::copy(text, buffer);
  buffer[text.size()] = '\0';
  return abi::NVML_SUCCESS;
}

}  // namespace podgpu::sim
