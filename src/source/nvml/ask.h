// Helpers that call a symbol of NVML and convert its result; shared by call.cc and call_identity.cc
// only.  Called on the thread that calls NVML.
#pragma once

#include <cstdint>
#include <limits>

#include "source/nvml/call.h"

namespace podgpu {

// Calls `function`; returns an error code when the library lacks it.
template <typename Function, typename... Arguments>
abi::nvmlReturn_t Call(Function* function, Arguments... arguments) {
  return function == nullptr ? abi::NVML_ERROR_FUNCTION_NOT_FOUND : function(arguments...);
}

inline NvmlRaw OfUnsigned(abi::nvmlReturn_t code, uint32_t number) {
  if (code == abi::NVML_SUCCESS && number == std::numeric_limits<uint32_t>::max()) {
    return NvmlRaw::Failure(abi::NVML_ERROR_UNKNOWN);  // All bits set means "not available".
  }
  return NvmlRaw::Number(code, number);
}

inline NvmlRaw OfUnsigned64(abi::nvmlReturn_t code, unsigned long long number) {
  if (code == abi::NVML_SUCCESS && number > std::numeric_limits<int64_t>::max()) {
    return NvmlRaw::Failure(abi::NVML_ERROR_UNKNOWN);
  }
  return NvmlRaw::Number(code, static_cast<int64_t>(number));
}

// For modes, states and versions, which are never negative.
inline NvmlRaw OfState(abi::nvmlReturn_t code, int number) {
  return code == abi::NVML_SUCCESS && number < 0 ? NvmlRaw::Failure(abi::NVML_ERROR_UNKNOWN)
                                                 : NvmlRaw::Number(code, number);
}

inline NvmlRaw OfSigned(abi::nvmlReturn_t code, int number) {
  return NvmlRaw::Number(code, number);
}

template <typename Function>
NvmlRaw AskUnsigned(Function* function, abi::nvmlDevice_t device) {
  uint32_t number = 0;
  const abi::nvmlReturn_t code = Call(function, device, &number);
  return OfUnsigned(code, number);
}

template <typename Function>
NvmlRaw AskUnsigned(Function* function, abi::nvmlDevice_t device, int argument) {
  uint32_t number = 0;
  const abi::nvmlReturn_t code = Call(function, device, argument, &number);
  return OfUnsigned(code, number);
}

template <typename Function>
NvmlRaw AskState(Function* function, abi::nvmlDevice_t device) {
  int number = 0;
  const abi::nvmlReturn_t code = Call(function, device, &number);
  return OfState(code, number);
}

// Handles the recipes kLicense, kMode, kGpuText, kSystemText and kSystemNumber.
NvmlRaw AskNvmlIdentity(const abi::NvmlTable& api, const NvmlTarget& device,
                        const NvmlRecipe& recipe);

}  // namespace podgpu
