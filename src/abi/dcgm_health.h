// Health watches and policies.
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

// dcgmHealthSet_v2.
struct dcgmHealthSetParams_v2 {
  uint32_t version;
  dcgmGpuGrp_t groupId;
  dcgmHealthSystems_t systems;
  long long updateInterval;  // us
  double maxKeepAge;         // s
};
static_assert(sizeof(dcgmHealthSetParams_v2) == 40 &&
              offsetof(dcgmHealthSetParams_v2, systems) == 16 &&
              offsetof(dcgmHealthSetParams_v2, maxKeepAge) == 32);
constexpr uint32_t dcgmHealthSetParams_version2 = StructVersion<dcgmHealthSetParams_v2>(2);
static_assert(dcgmHealthSetParams_version2 == 0x02000028);

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

// The conditions of a policy: bits.
using dcgmPolicyCondition_t = uint32_t;
enum : uint32_t {
  DCGM_POLICY_COND_DBE = 0x1,
  DCGM_POLICY_COND_PCI = 0x2,
  DCGM_POLICY_COND_MAX_PAGES_RETIRED = 0x4,
  DCGM_POLICY_COND_THERMAL = 0x8,
  DCGM_POLICY_COND_POWER = 0x10,
  DCGM_POLICY_COND_NVLINK = 0x20,
  DCGM_POLICY_COND_XID = 0x40,
};

// A condition's threshold.
struct dcgmPolicyConditionParams_t {
  int tag;  // 0: boolean, 1: llval.
  union {
    uint32_t boolean;
    unsigned long long llval;
  } val;
};
static_assert(sizeof(dcgmPolicyConditionParams_t) == 16 &&
              offsetof(dcgmPolicyConditionParams_t, val) == 8);

// dcgmPolicySet, dcgmPolicyGet; podgpu leaves modes and actions 0.
struct dcgmPolicy_v1 {
  uint32_t version;
  dcgmPolicyCondition_t condition;
  int mode;
  int isolation;
  int action;
  int validation;
  int response;
  // One for each bit of `condition`, in the order of the bits.
  dcgmPolicyConditionParams_t parms[7];
};
static_assert(sizeof(dcgmPolicy_v1) == 144 && offsetof(dcgmPolicy_v1, parms) == 32);
constexpr uint32_t dcgmPolicy_version1 = StructVersion<dcgmPolicy_v1>(1);
static_assert(dcgmPolicy_version1 == 0x01000090);

// An event of a policy, in place of the vendor's seven structs of this size, one for each
// condition. Four have no second number; their first is a counter, a violation or an XID.
struct dcgmPolicyEvent {
  long long timestamp;  // us
  uint32_t first;       // DBE: location; retired pages: by single-bit errors; NVLink: field id.
  uint32_t second;      // DBE: errors; retired pages: by double-bit errors; NVLink: counter.
};
static_assert(sizeof(dcgmPolicyEvent) == 16 && offsetof(dcgmPolicyEvent, second) == 12);

// Argument of the callback of dcgmPolicyRegister, 3.x.
struct dcgmPolicyCallbackResponse_v1 {
  uint32_t version;
  dcgmPolicyCondition_t condition;
  dcgmPolicyEvent val;
};
static_assert(sizeof(dcgmPolicyCallbackResponse_v1) == 24);
constexpr uint32_t dcgmPolicyCallbackResponse_version1 =
    StructVersion<dcgmPolicyCallbackResponse_v1>(1);
static_assert(dcgmPolicyCallbackResponse_version1 == 0x01000018);

// Argument of the callback of dcgmPolicyRegister_v2, 4.x.
struct dcgmPolicyCallbackResponse_v2 {
  uint32_t version;
  dcgmPolicyCondition_t condition;
  dcgmPolicyEvent val;
  uint32_t gpuId;
};
static_assert(sizeof(dcgmPolicyCallbackResponse_v2) == 32 &&
              offsetof(dcgmPolicyCallbackResponse_v2, gpuId) == 24);
constexpr uint32_t dcgmPolicyCallbackResponse_version2 =
    StructVersion<dcgmPolicyCallbackResponse_v2>(2);
static_assert(dcgmPolicyCallbackResponse_version2 == 0x02000020);

}  // namespace podgpu::abi
// NOLINTEND(readability-identifier-naming)
