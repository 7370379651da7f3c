// NVML's events: XIDs, ECC errors, MIG changes of devices; bound and unbound drivers.
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

enum : unsigned long long {
  nvmlSystemEventTypeGpuDriverUnbind = 0x1,
  nvmlSystemEventTypeGpuDriverBind = 0x2,
};

struct nvmlSystemEventSet_st;
using nvmlSystemEventSet_t = nvmlSystemEventSet_st*;

// nvmlSystemEventSetCreate, since 12.9.
struct nvmlSystemEventSetCreateRequest_v1_t {
  uint32_t version;
  nvmlSystemEventSet_t set;
};
constexpr uint32_t nvmlSystemEventSetCreateRequest_v1 =
    sizeof(nvmlSystemEventSetCreateRequest_v1_t) | (1U << 24U);
static_assert(nvmlSystemEventSetCreateRequest_v1 == 0x01000010);

// nvmlSystemRegisterEvents.
struct nvmlSystemRegisterEventRequest_v1_t {
  uint32_t version;
  unsigned long long eventTypes;
  nvmlSystemEventSet_t set;
};
constexpr uint32_t nvmlSystemRegisterEventRequest_v1 =
    sizeof(nvmlSystemRegisterEventRequest_v1_t) | (1U << 24U);
static_assert(nvmlSystemRegisterEventRequest_v1 == 0x01000018);

// One system event.
struct nvmlSystemEventData_v1_t {
  unsigned long long eventType;
  uint32_t gpuId;
};
static_assert(sizeof(nvmlSystemEventData_v1_t) == 16);

// nvmlSystemEventSetWait.
struct nvmlSystemEventSetWaitRequest_v1_t {
  uint32_t version;
  uint32_t timeoutms;
  nvmlSystemEventSet_t set;
  nvmlSystemEventData_v1_t* data;
  uint32_t dataSize;
  uint32_t numEvent;
};
constexpr uint32_t nvmlSystemEventSetWaitRequest_v1 =
    sizeof(nvmlSystemEventSetWaitRequest_v1_t) | (1U << 24U);
static_assert(nvmlSystemEventSetWaitRequest_v1 == 0x01000020);

// nvmlSystemEventSetFree.
struct nvmlSystemEventSetFreeRequest_v1_t {
  uint32_t version;
  nvmlSystemEventSet_t set;
};
constexpr uint32_t nvmlSystemEventSetFreeRequest_v1 =
    sizeof(nvmlSystemEventSetFreeRequest_v1_t) | (1U << 24U);
static_assert(nvmlSystemEventSetFreeRequest_v1 == 0x01000010);

}  // namespace podgpu::abi
// NOLINTEND(readability-identifier-naming)
