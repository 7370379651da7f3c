#include "source/dcgm/error.h"

#include <string>

#include "gtest/gtest.h"

#include "source/source.h"
#include "source/testing/fake_dcgm_table.h"

namespace podgpu {
namespace {

TEST(DcgmStatus, ContainsTheCallTheVendorsTextAndTheRemedy) {
  const FakeDcgm fake;
  const abi::DcgmTable api = fake.Library().api;
  EXPECT_TRUE(DcgmStatus(api, 0, "x").ok());
  EXPECT_EQ(
      std::string(DcgmStatus(api, -21, "the engine x does not answer", "Start it").message()),
      "the engine x does not answer (DCGM -21: The connection to the host engine is not valid "
      "any longer). Start it");
  EXPECT_EQ(std::string(DcgmStatus(api, -999, "x").message()), "x (DCGM -999)");
}

TEST(DcgmStatus, MapsEachCode) {
  using enum absl::StatusCode;
  const struct {
    abi::dcgmReturn_t code;
    absl::StatusCode expected;
  } rows[] = {
      {abi::DCGM_ST_CONNECTION_NOT_VALID, kUnavailable},
      {abi::DCGM_ST_TIMEOUT, kUnavailable},
      {abi::DCGM_ST_NOT_CONFIGURED, kUnavailable},
      {abi::DCGM_ST_NO_DATA, kUnavailable},
      {abi::DCGM_ST_UNINITIALIZED, kUnavailable},
      {abi::DCGM_ST_BADPARAM, kInvalidArgument},
      {abi::DCGM_ST_VER_MISMATCH, kFailedPrecondition},
      {abi::DCGM_ST_INIT_ERROR, kFailedPrecondition},
      {abi::DCGM_ST_LIBRARY_NOT_FOUND, kFailedPrecondition},
      {abi::DCGM_ST_NVML_NOT_LOADED, kFailedPrecondition},
      {abi::DCGM_ST_MODULE_NOT_LOADED, kFailedPrecondition},
      {abi::DCGM_ST_PROFILING_NOT_SUPPORTED, kFailedPrecondition},
      {abi::DCGM_ST_PROFILING_LIBRARY_ERROR, kFailedPrecondition},
      {abi::DCGM_ST_PROFILING_MULTI_PASS, kFailedPrecondition},
      {abi::DCGM_ST_INSUFFICIENT_DRIVER_VERSION, kFailedPrecondition},
      {abi::DCGM_ST_NOT_SUPPORTED, kUnimplemented},
      {abi::DCGM_ST_FUNCTION_NOT_FOUND, kUnimplemented},
      {abi::DCGM_ST_NO_PERMISSION, kPermissionDenied},
      {abi::DCGM_ST_REQUIRES_ROOT, kPermissionDenied},
      {abi::DCGM_ST_MAX_LIMIT, kResourceExhausted},
      {abi::DCGM_ST_MEMORY, kResourceExhausted},
      {abi::DCGM_ST_GENERIC_ERROR, kInternal},
      {-999, kInternal},
  };
  const FakeDcgm fake;
  const abi::DcgmTable api = fake.Library().api;
  for (const auto& row : rows) {
    const Status status = DcgmStatus(api, row.code, "x");
    EXPECT_EQ(status.code(), row.expected) << row.code;
    EXPECT_EQ(LostConnection(status), row.expected == kUnavailable) << row.code;
  }
}

}  // namespace
}  // namespace podgpu
