// The entry of every function of the fake engine: takes the lock and applies the faults.
//
// The vendor's functions have no context argument, so they use the one FakeDcgm that exists
// (fake_dcgm_table.h).  They are static functions of structs, which the fake declares as friends.
// Test support; for the fake's own sources only.
#pragma once

#include <initializer_list>
#include <mutex>

#include "abi/dcgm_table.h"
#include "source/testing/fake_dcgm_table.h"

namespace podgpu {

struct FakeDcgmCalls {
  using Outs = std::initializer_list<FakeOut>;

  // The one FakeDcgm that exists, or null.
  static FakeDcgm*& Current() {
    // C functions have no context.
    // NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables)
    static FakeDcgm* current = nullptr;
    return current;
  }

  // Runs `body` under the lock unless the call must fail; a fault may then spoil `outs`.
  template <typename Body>
  static abi::dcgmReturn_t Call(const char* symbol, Outs outs, Body body) {
    FakeDcgm& fake = *Current();
    std::unique_lock<std::mutex> lock(fake.mutex_);
    abi::dcgmReturn_t code = fake.Enter(symbol, lock);
    if (code == abi::DCGM_ST_OK) {
      code = body(fake);
    }
    if (code == abi::DCGM_ST_OK) {
      fake.SpoilLocked(symbol, outs);
    }
    return code;
  }
  template <typename Body>
  static abi::dcgmReturn_t Connected(const char* symbol, Outs outs, Body body) {
    return Call(symbol, outs, [&](FakeDcgm& fake) {
      return fake.connected_ ? body(fake)
                             : static_cast<abi::dcgmReturn_t>(abi::DCGM_ST_CONNECTION_NOT_VALID);
    });
  }
  template <typename Out>
  static FakeOut Whole(Out* out) {
    return {out, sizeof(Out)};
  }
};

// The functions for health, paths and the like (fake_dcgm_findings.cc).
struct FakeDcgmFindings : FakeDcgmCalls {
  // NOLINTNEXTLINE(readability-function-size): seven parameters are the vendor's.
  static abi::dcgmReturn_t Since(abi::dcgmHandle_t handle, abi::dcgmGpuGrp_t group,
                                 abi::dcgmFieldGrp_t field_group, long long since_us,
                                 long long* next_us,
                                 abi::dcgmFieldValueEntityEnumeration_f callback, void* user);
  static abi::dcgmReturn_t HealthSet(abi::dcgmHandle_t handle, abi::dcgmGpuGrp_t group,
                                     abi::dcgmHealthSystems_t systems);
  static abi::dcgmReturn_t HealthCheck(abi::dcgmHandle_t handle, abi::dcgmGpuGrp_t group,
                                       void* response);
  // As the vendor's for the codes that tests use, and for codes that it does not know.
  static int SeverityOf(uint32_t code);
  static int CategoryOf(uint32_t code);
  static abi::dcgmReturn_t Paths(abi::dcgmHandle_t handle, abi::dcgmNvLinkP2PStatus_v1* status);
};

}  // namespace podgpu
