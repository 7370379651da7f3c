// The only list of the entry points of libdcgm that podgpu calls.
//
// PODGPU_DCGM_API lists result, symbol, capability and parameters. DcgmTable is a struct of
// function pointers made from it, and load.cc resolves the same list. All calls into the vendor
// library go through a table; tests fill one with their own functions. Pointers of a capability
// that the loaded library lacks are null (load.h reports them). Signatures: dcgm_agent.h of DCGM
// 4.6.0, the same in 3.x.
#pragma once

#include <cstdint>

#include "abi/dcgm.h"
#include "abi/dcgm_connect.h"
#include "abi/dcgm_cpus.h"
#include "abi/dcgm_devices.h"
#include "abi/dcgm_health.h"
#include "abi/dcgm_links.h"

namespace podgpu::abi {

// The purpose of a group of symbols.
enum class DcgmCapability : uint8_t {
  kCore,        // Required; all are in 3.0 and later.
  kVersion,     // Versions of library and engine in messages.
  kMig,         // GPU instances.
  kProfiling,   // The profiling fields that a GPU has.
  kConnection,  // Connection strings with a scheme, since 4.5.
  kLinks,       // NVLinks and switches.
  kPaths,       // Paths between GPUs, since 4.3.
  kCpus,        // CPUs of Grace boards, since 3.3.1.
  kSamples,     // Samples between two readings.
  kHealth,      // Health watches.
  kErrorKinds,  // Severity and category of a health error.
};
inline constexpr int kDcgmCapabilityCount = 11;

// X(result, symbol, capability, parameters)
#define PODGPU_DCGM_API(X)                                                                         \
  X(const char*, errorString, kCore, (dcgmReturn_t code))                                          \
  X(const dcgm_field_meta_t*, DcgmFieldGetById, kCore, (uint16_t field))                           \
  X(dcgmReturn_t, dcgmInit, kCore, ())                                                             \
  X(dcgmReturn_t, dcgmShutdown, kCore, ())                                                         \
  X(dcgmReturn_t, dcgmStartEmbedded_v2, kCore, (dcgmStartEmbeddedV2Params_v1 * parameters))        \
  X(dcgmReturn_t, dcgmConnect_v2, kCore,                                                           \
    (const char* address, dcgmConnectV2Params_v2* parameters, dcgmHandle_t* handle))               \
  X(dcgmReturn_t, dcgmDisconnect, kCore, (dcgmHandle_t handle))                                    \
  X(dcgmReturn_t, dcgmGetAllDevices, kCore, (dcgmHandle_t handle, uint32_t * ids, int* count))     \
  X(dcgmReturn_t, dcgmGetGpuStatus, kCore,                                                         \
    (dcgmHandle_t handle, uint32_t gpu, DcgmEntityStatus_t * status))                              \
  X(dcgmReturn_t, dcgmGetDeviceAttributes, kCore,                                                  \
    (dcgmHandle_t handle, uint32_t gpu, dcgmDeviceAttributes_v3 * attributes))                     \
  X(dcgmReturn_t, dcgmGroupCreate, kCore,                                                          \
    (dcgmHandle_t handle, dcgmGroupType_t type, const char* name, dcgmGpuGrp_t* group))            \
  X(dcgmReturn_t, dcgmGroupAddEntity, kCore,                                                       \
    (dcgmHandle_t handle, dcgmGpuGrp_t group, dcgm_field_entity_group_t entity_group,              \
     dcgm_field_eid_t entity))                                                                     \
  X(dcgmReturn_t, dcgmGroupDestroy, kCore, (dcgmHandle_t handle, dcgmGpuGrp_t group))              \
  X(dcgmReturn_t, dcgmFieldGroupCreate, kCore,                                                     \
    (dcgmHandle_t handle, int count, const uint16_t* fields, const char* name,                     \
     dcgmFieldGrp_t* field_group))                                                                 \
  X(dcgmReturn_t, dcgmFieldGroupDestroy, kCore, (dcgmHandle_t handle, dcgmFieldGrp_t field_group)) \
  X(dcgmReturn_t, dcgmWatchFields, kCore,                                                          \
    (dcgmHandle_t handle, dcgmGpuGrp_t group, dcgmFieldGrp_t field_group, long long period_us,     \
     double keep_s, int keep_samples))                                                             \
  X(dcgmReturn_t, dcgmUnwatchFields, kCore,                                                        \
    (dcgmHandle_t handle, dcgmGpuGrp_t group, dcgmFieldGrp_t field_group))                         \
  X(dcgmReturn_t, dcgmEntitiesGetLatestValues, kCore,                                              \
    (dcgmHandle_t handle, dcgmGroupEntityPair_t * entities, uint32_t entity_count,                 \
     uint16_t * fields, uint32_t field_count, uint32_t flags, dcgmFieldValue_v2 * values))         \
  X(dcgmReturn_t, dcgmVersionInfo, kVersion, (dcgmVersionInfo_v2 * version))                       \
  X(dcgmReturn_t, dcgmHostengineVersionInfo, kVersion,                                             \
    (dcgmHandle_t handle, dcgmVersionInfo_v2 * version))                                           \
  X(dcgmReturn_t, dcgmGetGpuInstanceHierarchy, kMig,                                               \
    (dcgmHandle_t handle, dcgmMigHierarchy_v2 * hierarchy))                                        \
  X(dcgmReturn_t, dcgmProfGetSupportedMetricGroups, kProfiling,                                    \
    (dcgmHandle_t handle, dcgmProfGetMetricGroups_v3 * groups))                                    \
  X(dcgmReturn_t, dcgmConnect_v3, kConnection,                                                     \
    (const char* address, dcgmConnectV3Params_v1* parameters, dcgmHandle_t* handle))               \
  X(dcgmReturn_t, dcgmGetNvLinkLinkStatus, kLinks, (dcgmHandle_t handle, void* status))            \
  X(dcgmReturn_t, dcgmGetNvLinkP2PStatus, kPaths,                                                  \
    (dcgmHandle_t handle, dcgmNvLinkP2PStatus_v1 * status))                                        \
  X(dcgmReturn_t, dcgmGetCpuHierarchy, kCpus,                                                      \
    (dcgmHandle_t handle, dcgmCpuHierarchy_v1 * hierarchy))                                        \
  X(dcgmReturn_t, dcgmGetValuesSince_v2, kSamples,                                                 \
    (dcgmHandle_t handle, dcgmGpuGrp_t group, dcgmFieldGrp_t field_group, long long since_us,      \
     long long* next_us, dcgmFieldValueEntityEnumeration_f callback, void* user))                  \
  X(dcgmReturn_t, dcgmHealthSet, kHealth,                                                          \
    (dcgmHandle_t handle, dcgmGpuGrp_t group, dcgmHealthSystems_t systems))                        \
  X(dcgmReturn_t, dcgmHealthCheck, kHealth,                                                        \
    (dcgmHandle_t handle, dcgmGpuGrp_t group, void* response))                                     \
  X(int, dcgmErrorGetPriorityByCode, kErrorKinds, (uint32_t code))                                 \
  X(int, dcgmErrorGetCategoryByCode, kErrorKinds, (uint32_t code))

// The functions of one loaded library.
struct DcgmTable {
#define X(result, symbol, capability, parameters) result(*symbol) parameters = nullptr;
  PODGPU_DCGM_API(X)
#undef X
};

}  // namespace podgpu::abi
