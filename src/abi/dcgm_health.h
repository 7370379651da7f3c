// Health watches.
//
// podgpu's own declarations in the layout of dcgm_structs.h of DCGM 4.6.0, compared with 3.1.8 to
// 4.6.1. The health response has one layout in 3.x and one in 4.x; the latter is larger than 1 MB
// and must be on the heap. Standard library only; plain data.
#pragma once

#include "abi/dcgm.h"

// NOLINTBEGIN(readability-identifier-naming): the names are the vendor's.
namespace podgpu::abi {

// The watched systems: bits.
using dcgmHealthSystems_t = uint32_t;
enum : uint32_t {
  DCGM_HEALTH_WATCH_PCIE = 0x1,
  DCGM_HEALTH_WATCH_NVLINK = 0x2,
  DCGM_HEALTH_WATCH_PMU = 0x4,
  DCGM_HEALTH_WATCH_MCU = 0x8,
  DCGM_HEALTH_WATCH_MEM = 0x10,
  DCGM_HEALTH_WATCH_SM = 0x20,
  DCGM_HEALTH_WATCH_INFOROM = 0x40,
  DCGM_HEALTH_WATCH_THERMAL = 0x80,
  DCGM_HEALTH_WATCH_POWER = 0x100,
  DCGM_HEALTH_WATCH_DRIVER = 0x200,
  DCGM_HEALTH_WATCH_NVSWITCH_NONFATAL = 0x400,
  DCGM_HEALTH_WATCH_NVSWITCH_FATAL = 0x800,
  DCGM_HEALTH_WATCH_CONNECTX = 0x1000,  // Since 4.5.3.
  DCGM_HEALTH_WATCH_IMEX = 0x2000,      // Since 4.6.1.
  DCGM_HEALTH_WATCH_ALL = 0xffffffff,
};

using dcgmHealthWatchResults_t = int;
enum : int {
  DCGM_HEALTH_RESULT_PASS = 0,
  DCGM_HEALTH_RESULT_WARN = 10,
  DCGM_HEALTH_RESULT_FAIL = 20,
};

// A severity of dcgmErrorSeverity_t: the library does not know the code.
inline constexpr int DCGM_ERROR_UNKNOWN = 3;

// Text of a finding; `code` is a DCGM_FR code.
struct dcgmDiagErrorDetail_t {
  char msg[1024];
  uint32_t code;
};
static_assert(sizeof(dcgmDiagErrorDetail_t) == 1028);

// One finding.
struct dcgmIncidentInfo_t {
  dcgmHealthSystems_t system;
  dcgmHealthWatchResults_t health;
  dcgmDiagErrorDetail_t error;
  dcgmGroupEntityPair_t entityInfo;
};
static_assert(sizeof(dcgmIncidentInfo_t) == 1044 && offsetof(dcgmIncidentInfo_t, error) == 8 &&
              offsetof(dcgmIncidentInfo_t, entityInfo) == 1036);

// dcgmHealthCheck, 4.x.
struct dcgmHealthResponse_v5 {
  uint32_t version;
  dcgmHealthWatchResults_t overallHealth;
  uint32_t incidentCount;
  dcgmIncidentInfo_t incidents[1024];
};
static_assert(sizeof(dcgmHealthResponse_v5) == 1069068 &&
              offsetof(dcgmHealthResponse_v5, incidents) == 12);
constexpr uint32_t dcgmHealthResponse_version5 = StructVersion<dcgmHealthResponse_v5>(5);
static_assert(dcgmHealthResponse_version5 == 0x0510500c);

// dcgmHealthCheck, 3.x.
struct dcgmHealthResponse_v4 {
  uint32_t version;
  dcgmHealthWatchResults_t overallHealth;
  uint32_t incidentCount;
  dcgmIncidentInfo_t incidents[64];
};
static_assert(sizeof(dcgmHealthResponse_v4) == 66828 &&
              offsetof(dcgmHealthResponse_v4, incidents) == 12);
constexpr uint32_t dcgmHealthResponse_version4 = StructVersion<dcgmHealthResponse_v4>(4);
static_assert(dcgmHealthResponse_version4 == 0x0401050c);

}  // namespace podgpu::abi
// NOLINTEND(readability-identifier-naming)
