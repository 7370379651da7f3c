// NVML's events: XIDs, ECC errors, MIG changes of devices.
//
// Conventions as in nvml.h. One thread waits on a set; the wait blocks up to its timeout.
#pragma once

#include <cstddef>
#include <cstdint>

#include "abi/nvml.h"

// NOLINTBEGIN(readability-identifier-naming): the names are the vendor's.
namespace podgpu::abi {

// Events of a device set, as a mask.
enum : unsigned long long {
  nvmlEventTypeSingleBitEccError = 0x1,
  nvmlEventTypeDoubleBitEccError = 0x2,
  nvmlEventTypePState = 0x4,
  nvmlEventTypeXidCriticalError = 0x8,
  nvmlEventTypeClock = 0x10,
  nvmlEventTypePowerSourceChange = 0x80,
  nvmlEventMigConfigChange = 0x100,
  nvmlEventTypeSingleBitEccErrorStorm = 0x200,
  nvmlEventTypeDramRetirementEvent = 0x400,
  nvmlEventTypeDramRetirementFailure = 0x800,
  nvmlEventTypeNonFatalPoisonError = 0x1000,
  nvmlEventTypeFatalPoisonError = 0x2000,
  nvmlEventTypeGpuUnavailableError = 0x4000,
  nvmlEventTypeGpuRecoveryAction = 0x8000,
};

struct nvmlEventSet_st;
using nvmlEventSet_t = nvmlEventSet_st*;

// One event; nvmlEventSetWait_v2.
struct nvmlEventData_t {
  nvmlDevice_t device;
  unsigned long long eventType;
  unsigned long long eventData;  // The XID's number.
  uint32_t gpuInstanceId;        // All ones: the whole GPU.
  uint32_t computeInstanceId;
};
static_assert(sizeof(nvmlEventData_t) == 32 && offsetof(nvmlEventData_t, gpuInstanceId) == 24);

}  // namespace podgpu::abi
// NOLINTEND(readability-identifier-naming)
