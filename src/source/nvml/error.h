// NVML's return codes as statuses and as reasons why a value is absent.
//
// Pure but for the vendor's nvmlErrorString, which returns static text.  kUnavailable means that
// the driver went away under the library: LostConnection (source.h) recognises it, and the caller
// initialises again.
#pragma once

#include <string>
#include <string_view>

#include "abi/nvml_table.h"
#include "base/status.h"
#include "sample/value.h"

namespace podgpu {

// "NVML 15: GPU is lost", or without words for an unknown code.
std::string NvmlWords(const abi::NvmlTable& api, abi::nvmlReturn_t code);

// OK for 0; else "<what> (NVML 9: Driver Not Loaded)".
Status NvmlStatus(const abi::NvmlTable& api, abi::nvmlReturn_t code, std::string_view what);

// Whether the driver went away under the library, by code.
bool DriverIsGone(abi::nvmlReturn_t code);

// Whether a board or a driver does not have this at all.
inline bool IsLacking(abi::nvmlReturn_t code) {
  return code == abi::NVML_ERROR_NOT_SUPPORTED || code == abi::NVML_ERROR_FUNCTION_NOT_FOUND ||
         code == abi::NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
}

// Whether asking for more of the device is pointless: it is lost, or the driver has gone.
inline bool MakesPointless(abi::nvmlReturn_t code) {
  return code == abi::NVML_ERROR_GPU_IS_LOST || code == abi::NVML_ERROR_UNINITIALIZED ||
         code == abi::NVML_ERROR_DRIVER_NOT_LOADED;
}

// What a code other than 0 means for a cell.
Absence AbsenceOfNvmlCode(abi::nvmlReturn_t code);

}  // namespace podgpu
