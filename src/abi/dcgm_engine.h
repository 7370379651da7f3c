// The engine's own state (modules, memory, CPU), and the calls with which tests inject values.
//
// podgpu's own declarations in the layout of dcgm_structs.h, dcgm_test_structs.h and dcgm_errors.h
// of DCGM 4.6.0, compared with 3.1.8 to 4.6.1; the same in 3.x and 4.x. Standard library only;
// plain data.
#pragma once

#include "abi/dcgm.h"

// NOLINTBEGIN(readability-identifier-naming): the names are the vendor's.
namespace podgpu::abi {

using dcgmModuleId_t = int;
enum : int {
  DcgmModuleIdCore = 0,
  DcgmModuleIdNvSwitch = 1,
  DcgmModuleIdVGPU = 2,
  DcgmModuleIdIntrospect = 3,
  DcgmModuleIdHealth = 4,
  DcgmModuleIdPolicy = 5,
  DcgmModuleIdConfig = 6,
  DcgmModuleIdDiag = 7,
  DcgmModuleIdProfiling = 8,
  DcgmModuleIdSysmon = 9,
  DcgmModuleIdMnDiag = 10,  // Since 4.3.1.
};

using dcgmModuleStatus_t = int;
enum : int {
  DcgmModuleStatusNotLoaded = 0,
  DcgmModuleStatusDenylisted = 1,
  DcgmModuleStatusFailed = 2,
  DcgmModuleStatusLoaded = 3,
  DcgmModuleStatusUnloaded = 4,
  DcgmModuleStatusPaused = 5,
};

// One module of the engine.
struct dcgmModuleGetStatusesModule_t {
  dcgmModuleId_t id;
  dcgmModuleStatus_t status;
};
static_assert(sizeof(dcgmModuleGetStatusesModule_t) == 8);

// dcgmModuleGetStatuses: a module is loaded at its first use.
struct dcgmModuleGetStatuses_v1 {
  uint32_t version;
  uint32_t numStatuses;
  dcgmModuleGetStatusesModule_t statuses[16];
};
static_assert(sizeof(dcgmModuleGetStatuses_v1) == 136 &&
              offsetof(dcgmModuleGetStatuses_v1, statuses) == 8);
constexpr uint32_t dcgmModuleGetStatuses_version1 = StructVersion<dcgmModuleGetStatuses_v1>(1);
static_assert(dcgmModuleGetStatuses_version1 == 0x01000088);

// dcgmIntrospectGetHostengineMemoryUsage.
struct dcgmIntrospectMemory_v1 {
  uint32_t version;
  long long bytesUsed;
};
static_assert(sizeof(dcgmIntrospectMemory_v1) == 16);
constexpr uint32_t dcgmIntrospectMemory_version1 = StructVersion<dcgmIntrospectMemory_v1>(1);
static_assert(dcgmIntrospectMemory_version1 == 0x01000010);

// dcgmIntrospectGetHostengineCpuUtilization: fractions of one core.
struct dcgmIntrospectCpuUtil_v1 {
  uint32_t version;
  double total;
  double kernel;
  double user;
};
static_assert(sizeof(dcgmIntrospectCpuUtil_v1) == 32);
constexpr uint32_t dcgmIntrospectCpuUtil_version1 = StructVersion<dcgmIntrospectCpuUtil_v1>(1);
static_assert(dcgmIntrospectCpuUtil_version1 == 0x01000020);

// One entry of a dcgmStatus_t list.
struct dcgmErrorInfo_t {
  uint32_t gpuId;
  int16_t fieldId;
  int status;
};
static_assert(sizeof(dcgmErrorInfo_t) == 12 && offsetof(dcgmErrorInfo_t, status) == 8);

// dcgmGetErrorMeta: text and severity of a DCGM_FR code.
struct dcgm_error_meta_t {
  int errorId;
  const char* msgFormat;
  const char* suggestion;
  int severity;
  int category;
};
static_assert(sizeof(dcgm_error_meta_t) == 32 && offsetof(dcgm_error_meta_t, severity) == 24);

// dcgmInjectFieldValue and dcgmInjectEntityFieldValue: the shape of a value, version 1.
using dcgmInjectFieldValue_v1 = dcgmFieldValue_v1;
constexpr uint32_t dcgmInjectFieldValue_version1 = StructVersion<dcgmInjectFieldValue_v1>(1);
static_assert(dcgmInjectFieldValue_version1 == 0x01001018);

// An entity to create.
struct dcgmMigHierarchyInfo_t {
  dcgmGroupEntityPair_t entity;
  dcgmGroupEntityPair_t parent;
  dcgmMigProfile_t sliceProfile;
};
static_assert(sizeof(dcgmMigHierarchyInfo_t) == 20);

// dcgmCreateFakeEntities; the call fills in the ids.
struct dcgmCreateFakeEntities_v2 {
  uint32_t version;
  uint32_t numToCreate;
  dcgmMigHierarchyInfo_t entityList[DCGM_MAX_HIERARCHY_INFO];
};
static_assert(sizeof(dcgmCreateFakeEntities_v2) == 8968 &&
              offsetof(dcgmCreateFakeEntities_v2, entityList) == 8);
constexpr uint32_t dcgmCreateFakeEntities_version2 = StructVersion<dcgmCreateFakeEntities_v2>(2);
static_assert(dcgmCreateFakeEntities_version2 == 0x02002308);

// dcgmSetEntityNvLinkLinkState, for a fake GPU or switch.
struct dcgmSetNvLinkLinkState_v1 {
  uint32_t version;
  dcgm_field_entity_group_t entityGroupId;
  dcgm_field_eid_t entityId;
  uint32_t linkId;
  dcgmNvLinkLinkState_t linkState;
  uint32_t unused;
};
static_assert(sizeof(dcgmSetNvLinkLinkState_v1) == 24);

// dcgmCreateMigEntity: a real instance.
struct dcgmCreateMigEntity_v1 {
  uint32_t version;
  dcgm_field_eid_t parentId;
  dcgmMigProfile_t profile;
  dcgmMigCreate_t createOption;
  uint32_t flags;
};
static_assert(sizeof(dcgmCreateMigEntity_v1) == 20);
constexpr uint32_t dcgmCreateMigEntity_version1 = StructVersion<dcgmCreateMigEntity_v1>(1);
static_assert(dcgmCreateMigEntity_version1 == 0x01000014);

// dcgmDeleteMigEntity.
struct dcgmDeleteMigEntity_v1 {
  uint32_t version;
  dcgm_field_entity_group_t entityGroupId;
  dcgm_field_eid_t entityId;
  uint32_t flags;
};
static_assert(sizeof(dcgmDeleteMigEntity_v1) == 16);
constexpr uint32_t dcgmDeleteMigEntity_version1 = StructVersion<dcgmDeleteMigEntity_v1>(1);
static_assert(dcgmDeleteMigEntity_version1 == 0x01000010);

}  // namespace podgpu::abi
// NOLINTEND(readability-identifier-naming)
