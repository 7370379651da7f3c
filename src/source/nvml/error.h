// Converts NVML's return codes to statuses and to reasons for absent values.
//
// Pure, except for the vendor's nvmlErrorString, which returns static text. kUnavailable means that
// the driver was unloaded while the library was in use: LostConnection (source.h) is true, and the
// caller initialises again.
#pragma once

#include <string>
#include <string_view>

#include "abi/nvml_table.h"
#include "base/status.h"
#include "sample/value.h"

namespace podgpu {

// Returns for example "NVML 15: GPU is lost"; only the number for an unknown code.
std::string NvmlWords(const abi::NvmlTable& api, abi::nvmlReturn_t code);

// Returns OK for 0; else "<what> (NVML 9: Driver Not Loaded)".
Status NvmlStatus(const abi::NvmlTable& api, abi::nvmlReturn_t code, std::string_view what);

// Returns whether the code means that the driver was unloaded.
bool DriverIsGone(abi::nvmlReturn_t code);

// Returns whether the code means that the board or the driver does not support the call.
inline bool IsLacking(abi::nvmlReturn_t code) {
  return code == abi::NVML_ERROR_NOT_SUPPORTED || code == abi::NVML_ERROR_FUNCTION_NOT_FOUND ||
         code == abi::NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
}

// Returns whether further calls about the device are useless: it is lost, or the driver was
// unloaded.
inline bool MakesPointless(abi::nvmlReturn_t code) {
  return code == abi::NVML_ERROR_GPU_IS_LOST || code == abi::NVML_ERROR_UNINITIALIZED ||
         code == abi::NVML_ERROR_DRIVER_NOT_LOADED;
}

// Returns the absence that a code other than 0 means for a cell.
Absence AbsenceOfNvmlCode(abi::nvmlReturn_t code);

}  // namespace podgpu
