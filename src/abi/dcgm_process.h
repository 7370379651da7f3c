// DCGM's facts about processes: dcgmGetPidInfo and the blobs of accounting fields.
//
// podgpu's own declarations in the layout of dcgm_structs.h of DCGM 4.6.0, compared with 3.1.8 to
// 4.6.1; the same in 3.x and 4.x. Most numbers of a process are those of its whole GPU during the
// life of the process; in particular, energy is never divided among processes. Standard library
// only; plain data.
#pragma once

#include "abi/dcgm_health.h"

// NOLINTBEGIN(readability-identifier-naming): the names are the vendor's.
namespace podgpu::abi {

// Smallest, largest and mean of a 64-bit quantity.
struct dcgmStatSummaryInt64_t {
  long long minValue;
  long long maxValue;
  long long average;
};
// Smallest, largest and mean of a 32-bit quantity.
struct dcgmStatSummaryInt32_t {
  int minValue;
  int maxValue;
  int average;
};
// Smallest, largest and mean of a real quantity.
struct dcgmStatSummaryFp64_t {
  double minValue;
  double maxValue;
  double average;
};
static_assert(sizeof(dcgmStatSummaryInt64_t) == 24 && sizeof(dcgmStatSummaryInt32_t) == 12 &&
              sizeof(dcgmStatSummaryFp64_t) == 24);

// Samples of this process among all samples of its GPU.
struct dcgmProcessUtilInfo_t {
  uint32_t pid;
  double smUtil;
  double memUtil;
};
static_assert(sizeof(dcgmProcessUtilInfo_t) == 24 && offsetof(dcgmProcessUtilInfo_t, smUtil) == 8);

// Health of one system during the life of the process. The vendor nests it without a name.
struct dcgmPidHealth {
  dcgmHealthSystems_t system;
  dcgmHealthWatchResults_t health;
};
static_assert(sizeof(dcgmPidHealth) == 8);

// A process on one GPU; times in microseconds, violation times in nanoseconds.
struct dcgmPidSingleInfo_t {
  uint32_t gpuId;
  long long energyConsumed;  // mJ, of the whole GPU.
  dcgmStatSummaryInt64_t pcieRxBandwidth;
  dcgmStatSummaryInt64_t pcieTxBandwidth;
  long long pcieReplays;
  long long startTime;
  long long endTime;  // 0 while it runs.
  dcgmProcessUtilInfo_t processUtilization;
  dcgmStatSummaryInt32_t smUtilization;      // Percent, of the whole GPU.
  dcgmStatSummaryInt32_t memoryUtilization;  // Percent, of the whole GPU.
  uint32_t eccSingleBit;
  uint32_t eccDoubleBit;
  dcgmStatSummaryInt32_t memoryClock;  // MHz
  dcgmStatSummaryInt32_t smClock;      // MHz
  int numXidCriticalErrors;
  long long xidCriticalErrorsTs[10];
  int numOtherComputePids;
  uint32_t otherComputePids[16];
  int numOtherGraphicsPids;
  uint32_t otherGraphicsPids[16];
  long long maxGpuMemoryUsed;  // Bytes.
  long long powerViolationTime;
  long long thermalViolationTime;
  long long reliabilityViolationTime;
  long long boardLimitViolationTime;
  long long lowUtilizationTime;
  long long syncBoostTime;
  dcgmHealthWatchResults_t overallHealth;
  uint32_t incidentCount;
  dcgmPidHealth systems[10];
};
static_assert(sizeof(dcgmPidSingleInfo_t) == 536 &&
              offsetof(dcgmPidSingleInfo_t, energyConsumed) == 8 &&
              offsetof(dcgmPidSingleInfo_t, startTime) == 72 &&
              offsetof(dcgmPidSingleInfo_t, processUtilization) == 88 &&
              offsetof(dcgmPidSingleInfo_t, smUtilization) == 112 &&
              offsetof(dcgmPidSingleInfo_t, xidCriticalErrorsTs) == 176 &&
              offsetof(dcgmPidSingleInfo_t, otherGraphicsPids) == 328 &&
              offsetof(dcgmPidSingleInfo_t, maxGpuMemoryUsed) == 392 &&
              offsetof(dcgmPidSingleInfo_t, syncBoostTime) == 440 &&
              offsetof(dcgmPidSingleInfo_t, systems) == 456);

// dcgmGetPidInfo; `pid` is the input.
struct dcgmPidInfo_v2 {
  uint32_t version;
  uint32_t pid;
  uint32_t unused;
  int numGpus;
  dcgmPidSingleInfo_t summary;
  dcgmPidSingleInfo_t gpus[DCGM_MAX_NUM_DEVICES];
};
static_assert(sizeof(dcgmPidInfo_v2) == 17704 && offsetof(dcgmPidInfo_v2, numGpus) == 12 &&
              offsetof(dcgmPidInfo_v2, summary) == 16 && offsetof(dcgmPidInfo_v2, gpus) == 552);
constexpr uint32_t dcgmPidInfo_version2 = StructVersion<dcgmPidInfo_v2>(2);
static_assert(dcgmPidInfo_version2 == 0x02004528);

// The blob of field 205.
struct dcgmDevicePidAccountingStats_v1 {
  uint32_t version;
  uint32_t pid;
  uint32_t gpuUtilization;     // Percent.
  uint32_t memoryUtilization;  // Percent.
  unsigned long long maxMemoryUsage;
  unsigned long long startTimestamp;  // us
  unsigned long long activeTimeUsec;  // 0 while it runs.
};
static_assert(sizeof(dcgmDevicePidAccountingStats_v1) == 40 &&
              offsetof(dcgmDevicePidAccountingStats_v1, maxMemoryUsage) == 16);
constexpr uint32_t dcgmDevicePidAccountingStats_version1 =
    StructVersion<dcgmDevicePidAccountingStats_v1>(1);
static_assert(dcgmDevicePidAccountingStats_version1 == 0x01000028);

// The blob of fields 220 and 221.
struct dcgmRunningProcess_v1 {
  uint32_t version;
  uint32_t pid;
  unsigned long long memoryUsed;  // Bytes.
};
static_assert(sizeof(dcgmRunningProcess_v1) == 16);
constexpr uint32_t dcgmRunningProcess_version1 = StructVersion<dcgmRunningProcess_v1>(1);
static_assert(dcgmRunningProcess_version1 == 0x01000010);

}  // namespace podgpu::abi
// NOLINTEND(readability-identifier-naming)
