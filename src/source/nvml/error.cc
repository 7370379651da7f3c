#include "source/nvml/error.h"

#include <algorithm>
#include <array>

#include "absl/strings/str_format.h"

namespace podgpu {
namespace {

struct NvmlCodeRow {
  abi::nvmlReturn_t code;
  Absence absence;
  absl::StatusCode status;
};

constexpr std::array<NvmlCodeRow, 16> kNvmlCodes = {{
    {abi::NVML_ERROR_UNINITIALIZED, Absence::kSourceDown, absl::StatusCode::kUnavailable},
    {abi::NVML_ERROR_INVALID_ARGUMENT, Absence::kNotSupported, absl::StatusCode::kInternal},
    {abi::NVML_ERROR_NOT_SUPPORTED, Absence::kNotSupported, absl::StatusCode::kUnimplemented},
    {abi::NVML_ERROR_NO_PERMISSION, Absence::kNotPermitted, absl::StatusCode::kPermissionDenied},
    {abi::NVML_ERROR_NOT_FOUND, Absence::kNotFound, absl::StatusCode::kNotFound},
    {abi::NVML_ERROR_DRIVER_NOT_LOADED, Absence::kSourceDown, absl::StatusCode::kUnavailable},
    {abi::NVML_ERROR_TIMEOUT, Absence::kSourceDown, absl::StatusCode::kDeadlineExceeded},
    {abi::NVML_ERROR_FUNCTION_NOT_FOUND, Absence::kNotSupported, absl::StatusCode::kUnimplemented},
    {abi::NVML_ERROR_GPU_IS_LOST, Absence::kDeviceLost, absl::StatusCode::kNotFound},
    {abi::NVML_ERROR_RESET_REQUIRED, Absence::kDeviceLost, absl::StatusCode::kFailedPrecondition},
    {abi::NVML_ERROR_LIB_RM_VERSION_MISMATCH, Absence::kSourceDown,
     absl::StatusCode::kFailedPrecondition},
    {abi::NVML_ERROR_IN_USE, Absence::kCountersTaken, absl::StatusCode::kFailedPrecondition},
    {abi::NVML_ERROR_NO_DATA, Absence::kNoData, absl::StatusCode::kNotFound},
    {abi::NVML_ERROR_DEPRECATED, Absence::kNotSupported, absl::StatusCode::kUnimplemented},
    {abi::NVML_ERROR_NOT_READY, Absence::kNoData, absl::StatusCode::kNotFound},
    {abi::NVML_ERROR_GPU_NOT_FOUND, Absence::kDeviceLost, absl::StatusCode::kNotFound},
}};

const NvmlCodeRow* Find(abi::nvmlReturn_t code) {
  const auto found = std::ranges::find(kNvmlCodes, code, &NvmlCodeRow::code);
  return found == kNvmlCodes.end() ? nullptr : &*found;
}

}  // namespace

std::string NvmlWords(const abi::NvmlTable& api, abi::nvmlReturn_t code) {
  const char* words = api.nvmlErrorString(code);
  return words == nullptr ? absl::StrFormat("NVML %d", code)
                          : absl::StrFormat("NVML %d: %s", code, words);
}

Status NvmlStatus(const abi::NvmlTable& api, abi::nvmlReturn_t code, std::string_view what) {
  if (code == abi::NVML_SUCCESS) {
    return absl::OkStatus();
  }
  const NvmlCodeRow* row = Find(code);
  return Status(row == nullptr ? absl::StatusCode::kInternal : row->status,
                absl::StrFormat("%s (%s)", what, NvmlWords(api, code)));
}

bool DriverIsGone(abi::nvmlReturn_t code) {
  return code == abi::NVML_ERROR_UNINITIALIZED || code == abi::NVML_ERROR_DRIVER_NOT_LOADED;
}

Absence AbsenceOfNvmlCode(abi::nvmlReturn_t code) {
  const NvmlCodeRow* row = Find(code);
  return row == nullptr ? Absence::kBlank : row->absence;
}

}  // namespace podgpu
