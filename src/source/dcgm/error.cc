#include "source/dcgm/error.h"

#include <algorithm>
#include <array>

#include "absl/strings/str_format.h"

namespace podgpu {
namespace {

struct DcgmCodeRow {
  abi::dcgmReturn_t code;
  absl::StatusCode status;
};

// The first five mean that a handle or an id is invalid (a restarted engine answers -5 and -14 to
// old group ids; observed with 4.6.0).
constexpr std::array<DcgmCodeRow, 21> kDcgmCodes = {{
    {abi::DCGM_ST_CONNECTION_NOT_VALID, absl::StatusCode::kUnavailable},
    {abi::DCGM_ST_TIMEOUT, absl::StatusCode::kUnavailable},
    {abi::DCGM_ST_NOT_CONFIGURED, absl::StatusCode::kUnavailable},
    {abi::DCGM_ST_NO_DATA, absl::StatusCode::kUnavailable},
    {abi::DCGM_ST_UNINITIALIZED, absl::StatusCode::kUnavailable},
    {abi::DCGM_ST_BADPARAM, absl::StatusCode::kInvalidArgument},
    {abi::DCGM_ST_VER_MISMATCH, absl::StatusCode::kFailedPrecondition},
    {abi::DCGM_ST_INIT_ERROR, absl::StatusCode::kFailedPrecondition},
    {abi::DCGM_ST_LIBRARY_NOT_FOUND, absl::StatusCode::kFailedPrecondition},
    {abi::DCGM_ST_NVML_NOT_LOADED, absl::StatusCode::kFailedPrecondition},
    {abi::DCGM_ST_MODULE_NOT_LOADED, absl::StatusCode::kFailedPrecondition},
    {abi::DCGM_ST_PROFILING_NOT_SUPPORTED, absl::StatusCode::kFailedPrecondition},
    {abi::DCGM_ST_PROFILING_LIBRARY_ERROR, absl::StatusCode::kFailedPrecondition},
    {abi::DCGM_ST_PROFILING_MULTI_PASS, absl::StatusCode::kFailedPrecondition},
    {abi::DCGM_ST_INSUFFICIENT_DRIVER_VERSION, absl::StatusCode::kFailedPrecondition},
    {abi::DCGM_ST_NOT_SUPPORTED, absl::StatusCode::kUnimplemented},
    {abi::DCGM_ST_FUNCTION_NOT_FOUND, absl::StatusCode::kUnimplemented},
    {abi::DCGM_ST_NO_PERMISSION, absl::StatusCode::kPermissionDenied},
    {abi::DCGM_ST_REQUIRES_ROOT, absl::StatusCode::kPermissionDenied},
    {abi::DCGM_ST_MAX_LIMIT, absl::StatusCode::kResourceExhausted},
    {abi::DCGM_ST_MEMORY, absl::StatusCode::kResourceExhausted},
}};

}  // namespace

std::string DcgmWords(const abi::DcgmTable& api, abi::dcgmReturn_t code) {
  const char* words = api.errorString(code);
  return words == nullptr ? absl::StrFormat("DCGM %d", code)
                          : absl::StrFormat("DCGM %d: %s", code, words);
}

Status DcgmStatus(const abi::DcgmTable& api, abi::dcgmReturn_t code, std::string_view what,
                  std::string_view remedy) {
  if (code == abi::DCGM_ST_OK) {
    return absl::OkStatus();
  }
  const auto found = std::ranges::find(kDcgmCodes, code, &DcgmCodeRow::code);
  const absl::StatusCode status =
      found == kDcgmCodes.end() ? absl::StatusCode::kInternal : found->status;
  return Status(status, absl::StrFormat("%s (%s)%s%s", what, DcgmWords(api, code),
                                        remedy.empty() ? "" : ". ", remedy));
}

}  // namespace podgpu
