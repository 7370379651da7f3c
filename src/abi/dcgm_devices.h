// DCGM's facts about devices: attributes, MIG hierarchy and profiling groups.
//
// podgpu's own declarations in the layout of dcgm_structs.h of DCGM 4.6.0, compared with 3.1.8 to
// 4.6.1; the same in 3.x and 4.x. Missing numbers are blank (dcgm_codes.h), missing texts
// "<<<NULL>>>" or a variant of it. Only the outer `version` must be set before a call. Standard
// library only; plain data.
#pragma once

#include "abi/dcgm.h"

// NOLINTBEGIN(readability-identifier-naming): the names are the vendor's.
namespace podgpu::abi {

// One pair of clocks that can be set, MHz.
struct dcgmClockSet_v1 {
  int version;
  uint32_t memClock;
  uint32_t smClock;
};
static_assert(sizeof(dcgmClockSet_v1) == 12);

// All such pairs.
struct dcgmDeviceSupportedClockSets_v1 {
  uint32_t version;
  uint32_t count;
  dcgmClockSet_v1 clockSet[256];
};
static_assert(sizeof(dcgmDeviceSupportedClockSets_v1) == 3080 &&
              offsetof(dcgmDeviceSupportedClockSets_v1, clockSet) == 8);

// Temperature thresholds, degrees Celsius.
struct dcgmDeviceThermals_v1 {
  uint32_t version;
  uint32_t slowdownTemp;
  uint32_t shutdownTemp;
};
static_assert(sizeof(dcgmDeviceThermals_v1) == 12);

// Power limits, watts.
struct dcgmDevicePowerLimits_v1 {
  uint32_t version;
  uint32_t curPowerLimit;
  uint32_t defaultPowerLimit;
  uint32_t enforcedPowerLimit;
  uint32_t minPowerLimit;
  uint32_t maxPowerLimit;
};
static_assert(sizeof(dcgmDevicePowerLimits_v1) == 24 &&
              offsetof(dcgmDevicePowerLimits_v1, defaultPowerLimit) == 8);

// Identity of the board.
struct dcgmDeviceIdentifiers_v1 {
  uint32_t version;
  char brandName[DCGM_MAX_STR_LENGTH];
  char deviceName[DCGM_MAX_STR_LENGTH];  // "NVIDIA H100 80GB HBM3"
  char pciBusId[DCGM_MAX_STR_LENGTH];    // "00000000:1B:00.0"
  char serial[DCGM_MAX_STR_LENGTH];
  char uuid[DCGM_MAX_STR_LENGTH];  // "GPU-..."
  char vbios[DCGM_MAX_STR_LENGTH];
  char inforomImageVersion[DCGM_MAX_STR_LENGTH];
  uint32_t pciDeviceId;
  uint32_t pciSubSystemId;
  char driverVersion[DCGM_MAX_STR_LENGTH];
  uint32_t virtualizationMode;  // 0 none, 1 pass-through, 2 vGPU, 3 host vGPU, 4 host vSGA.
};
static_assert(sizeof(dcgmDeviceIdentifiers_v1) == 2064 &&
              offsetof(dcgmDeviceIdentifiers_v1, deviceName) == 260 &&
              offsetof(dcgmDeviceIdentifiers_v1, pciBusId) == 516 &&
              offsetof(dcgmDeviceIdentifiers_v1, serial) == 772 &&
              offsetof(dcgmDeviceIdentifiers_v1, uuid) == 1028 &&
              offsetof(dcgmDeviceIdentifiers_v1, vbios) == 1284 &&
              offsetof(dcgmDeviceIdentifiers_v1, pciDeviceId) == 1796 &&
              offsetof(dcgmDeviceIdentifiers_v1, driverVersion) == 1804);

// Memory at the time of the call, in MiB.
struct dcgmDeviceMemoryUsage_v1 {
  uint32_t version;
  uint32_t bar1Total;
  uint32_t fbTotal;
  uint32_t fbUsed;
  uint32_t fbFree;
};
static_assert(sizeof(dcgmDeviceMemoryUsage_v1) == 20);

// Switches of the board: 0 off, 1 on.
struct dcgmDeviceSettings_v2 {
  uint32_t version;
  uint32_t persistenceModeEnabled;
  uint32_t migModeEnabled;
  uint32_t confidentialComputeMode;
};
static_assert(sizeof(dcgmDeviceSettings_v2) == 16 &&
              offsetof(dcgmDeviceSettings_v2, migModeEnabled) == 8);

// dcgmGetDeviceAttributes: all of the above, read live.
struct dcgmDeviceAttributes_v3 {
  uint32_t version;
  dcgmDeviceSupportedClockSets_v1 clockSets;
  dcgmDeviceThermals_v1 thermalSettings;
  dcgmDevicePowerLimits_v1 powerLimits;
  dcgmDeviceIdentifiers_v1 identifiers;
  dcgmDeviceMemoryUsage_v1 memoryUsage;
  dcgmDeviceSettings_v2 settings;
};
static_assert(sizeof(dcgmDeviceAttributes_v3) == 5220 &&
              offsetof(dcgmDeviceAttributes_v3, thermalSettings) == 3084 &&
              offsetof(dcgmDeviceAttributes_v3, powerLimits) == 3096 &&
              offsetof(dcgmDeviceAttributes_v3, identifiers) == 3120 &&
              offsetof(dcgmDeviceAttributes_v3, memoryUsage) == 5184 &&
              offsetof(dcgmDeviceAttributes_v3, settings) == 5204);
constexpr uint32_t dcgmDeviceAttributes_version3 = StructVersion<dcgmDeviceAttributes_v3>(3);
static_assert(dcgmDeviceAttributes_version3 == 0x03001464);

// NVML's numbers of a GPU instance or compute instance.
struct dcgmMigEntityInfo_t {
  char gpuUuid[128];  // UUID of the parent GPU.
  uint32_t nvmlGpuIndex;
  uint32_t nvmlInstanceId;
  uint32_t nvmlComputeInstanceId;  // All ones for a GPU instance.
  uint32_t nvmlMigProfileId;
  uint32_t nvmlProfileSlices;
};
static_assert(sizeof(dcgmMigEntityInfo_t) == 148 &&
              offsetof(dcgmMigEntityInfo_t, nvmlInstanceId) == 132 &&
              offsetof(dcgmMigEntityInfo_t, nvmlComputeInstanceId) == 136 &&
              offsetof(dcgmMigEntityInfo_t, nvmlProfileSlices) == 144);

// One instance, its parent, its numbers.
struct dcgmMigHierarchyInfo_v2 {
  dcgmGroupEntityPair_t entity;
  dcgmGroupEntityPair_t parent;
  dcgmMigEntityInfo_t info;
};
static_assert(sizeof(dcgmMigHierarchyInfo_v2) == 164 &&
              offsetof(dcgmMigHierarchyInfo_v2, parent) == 8 &&
              offsetof(dcgmMigHierarchyInfo_v2, info) == 16);

// dcgmGetGpuInstanceHierarchy: a GPU instance is followed by its compute instances.
struct dcgmMigHierarchy_v2 {
  uint32_t version;
  uint32_t count;
  dcgmMigHierarchyInfo_v2 entityList[DCGM_MAX_HIERARCHY_INFO];
};
static_assert(sizeof(dcgmMigHierarchy_v2) == 73480 &&
              offsetof(dcgmMigHierarchy_v2, entityList) == 8);
constexpr uint32_t dcgmMigHierarchy_version2 = StructVersion<dcgmMigHierarchy_v2>(2);
static_assert(dcgmMigHierarchy_version2 == 0x02011f08);

// Fields that can be sampled together on one GPU.
struct dcgmProfMetricGroupInfo_v2 {
  uint16_t majorId;
  uint16_t minorId;
  uint32_t numFieldIds;
  uint16_t fieldIds[64];
};
static_assert(sizeof(dcgmProfMetricGroupInfo_v2) == 136 &&
              offsetof(dcgmProfMetricGroupInfo_v2, fieldIds) == 8);

// dcgmProfGetSupportedMetricGroups; `gpuId` is the input.
struct dcgmProfGetMetricGroups_v3 {
  uint32_t version;
  uint32_t unused;
  uint32_t gpuId;
  uint32_t numMetricGroups;
  dcgmProfMetricGroupInfo_v2 metricGroups[10];
};
static_assert(sizeof(dcgmProfGetMetricGroups_v3) == 1376 &&
              offsetof(dcgmProfGetMetricGroups_v3, gpuId) == 8 &&
              offsetof(dcgmProfGetMetricGroups_v3, metricGroups) == 16);
constexpr uint32_t dcgmProfGetMetricGroups_version3 = StructVersion<dcgmProfGetMetricGroups_v3>(3);
static_assert(dcgmProfGetMetricGroups_version3 == 0x03000560);

}  // namespace podgpu::abi
// NOLINTEND(readability-identifier-naming)
