// NVML's processes: lists, SM utilization samples, accounting.
//
// Conventions as in nvml.h; nvmlProcessInfo_t, the entry of the current lists, is in nvml.h.
#pragma once

#include <cstddef>
#include <cstdint>

#include "abi/nvml.h"

// NOLINTBEGIN(readability-identifier-naming): the names are the vendor's.
namespace podgpu::abi {

// One process in one sample, percent; nvmlDeviceGetProcessUtilization.
struct nvmlProcessUtilizationSample_t {
  uint32_t pid;
  unsigned long long timeStamp;  // Microseconds since 1970.
  uint32_t smUtil;
  uint32_t memUtil;
  uint32_t encUtil;
  uint32_t decUtil;
};
static_assert(sizeof(nvmlProcessUtilizationSample_t) == 32 &&
              offsetof(nvmlProcessUtilizationSample_t, timeStamp) == 8 &&
              offsetof(nvmlProcessUtilizationSample_t, smUtil) == 16);

// A utilization sample that also has JPG and OFA.
struct nvmlProcessUtilizationInfo_v1_t {
  unsigned long long timeStamp;  // Microseconds since 1970.
  uint32_t pid;
  uint32_t smUtil;
  uint32_t memUtil;
  uint32_t encUtil;
  uint32_t decUtil;
  uint32_t jpgUtil;
  uint32_t ofaUtil;
};
static_assert(sizeof(nvmlProcessUtilizationInfo_v1_t) == 40 &&
              offsetof(nvmlProcessUtilizationInfo_v1_t, pid) == 8);

// nvmlDeviceGetProcessesUtilizationInfo, since R545.
struct nvmlProcessesUtilizationInfo_v1_t {
  uint32_t version;
  uint32_t processSamplesCount;
  unsigned long long lastSeenTimeStamp;
  nvmlProcessUtilizationInfo_v1_t* procUtilArray;
};
constexpr uint32_t nvmlProcessesUtilizationInfo_v1 =
    sizeof(nvmlProcessesUtilizationInfo_v1_t) | (1U << 24U);
static_assert(nvmlProcessesUtilizationInfo_v1 == 0x01000018);

// A process over its whole life; nvmlDeviceGetAccountingStats.
struct nvmlAccountingStats_t {
  uint32_t gpuUtilization;            // Percent.
  uint32_t memoryUtilization;         // Percent.
  unsigned long long maxMemoryUsage;  // Bytes.
  unsigned long long time;            // Milliseconds; 0 while it runs.
  unsigned long long startTime;       // Microseconds since 1970.
  uint32_t isRunning;
  uint32_t reserved[5];
};
static_assert(sizeof(nvmlAccountingStats_t) == 56 &&
              offsetof(nvmlAccountingStats_t, isRunning) == 32);

// Accounting of a process with running sums, percent times 100 over all samples; CUDA 13.3.
struct nvmlAccountingStats_v2_t {
  uint32_t pid;
  uint32_t isRunning;
  uint32_t gpuUtilization;
  uint32_t memoryUtilization;
  unsigned long long maxMemoryUsage;
  uint32_t sampleCount;
  unsigned long long sumGpuUtil;
  unsigned long long sumFbUtil;
  unsigned long long time;
  unsigned long long startTime;
};
static_assert(sizeof(nvmlAccountingStats_v2_t) == 64 &&
              offsetof(nvmlAccountingStats_v2_t, sumGpuUtil) == 32);

}  // namespace podgpu::abi
// NOLINTEND(readability-identifier-naming)
