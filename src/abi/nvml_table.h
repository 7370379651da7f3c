// The only list of the entry points of libnvidia-ml that podgpu calls.
//
// As in dcgm_table.h: PODGPU_NVML_API lists result, symbol, capability and parameters, NvmlTable
// holds the pointers, load.cc resolves the list. Names carry their version suffix, because the
// plain symbols are older interfaces. Where a newer symbol may be missing, the older one is in the
// list too, and the caller uses the newest that exists. Signatures: nvml.h of CUDA 13.3.
#pragma once

#include <cstdint>

#include "abi/nvml.h"
#include "abi/nvml_events.h"
#include "abi/nvml_gpm.h"
#include "abi/nvml_processes.h"
#include "abi/nvml_readings.h"

namespace podgpu::abi {

// The purpose of a group of symbols.
enum class NvmlCapability : uint8_t {
  kCore,       // Identity of whole GPUs; in every driver since R450.
  kMig,        // Identity of MIG devices.
  kDevices,    // The list of GPUs.
  kEvents,     // XIDs.
  kProfiling,  // GPM; drivers since R520.
  kReading,    // Single readings: a missing symbol costs only its own fields.
};
inline constexpr int kNvmlCapabilityCount = 6;

// X(result, symbol, capability, parameters)
#define PODGPU_NVML_API(X)                                                                         \
  X(nvmlReturn_t, nvmlInit_v2, kCore, ())                                                          \
  X(nvmlReturn_t, nvmlShutdown, kCore, ())                                                         \
  X(const char*, nvmlErrorString, kCore, (nvmlReturn_t code))                                      \
  X(nvmlReturn_t, nvmlDeviceGetHandleByUUID, kCore, (const char* uuid, nvmlDevice_t* device))      \
  X(nvmlReturn_t, nvmlDeviceGetUUID, kCore, (nvmlDevice_t device, char* uuid, uint32_t length))    \
  X(nvmlReturn_t, nvmlDeviceGetMinorNumber, kCore, (nvmlDevice_t device, uint32_t * minor_number)) \
  X(nvmlReturn_t, nvmlDeviceGetMaxMigDeviceCount, kMig, (nvmlDevice_t device, uint32_t * count))   \
  X(nvmlReturn_t, nvmlDeviceGetMigDeviceHandleByIndex, kMig,                                       \
    (nvmlDevice_t device, uint32_t index, nvmlDevice_t * mig_device))                              \
  X(nvmlReturn_t, nvmlDeviceGetGpuInstanceId, kMig, (nvmlDevice_t mig_device, uint32_t * id))      \
  X(nvmlReturn_t, nvmlDeviceGetComputeInstanceId, kMig, (nvmlDevice_t mig_device, uint32_t * id))  \
  X(nvmlReturn_t, nvmlDeviceGetCount_v2, kDevices, (uint32_t * count))                             \
  X(nvmlReturn_t, nvmlDeviceGetHandleByIndex_v2, kDevices,                                         \
    (uint32_t index, nvmlDevice_t * device))                                                       \
  X(nvmlReturn_t, nvmlDeviceGetName, kDevices, (nvmlDevice_t device, char* name, uint32_t length)) \
  X(nvmlReturn_t, nvmlDeviceGetPciInfo_v3, kDevices, (nvmlDevice_t device, nvmlPciInfo_t * pci))   \
  X(nvmlReturn_t, nvmlSystemGetDriverVersion, kDevices, (char* version, uint32_t length))          \
  X(nvmlReturn_t, nvmlEventSetCreate, kEvents, (nvmlEventSet_t * set))                             \
  X(nvmlReturn_t, nvmlEventSetFree, kEvents, (nvmlEventSet_t set))                                 \
  X(nvmlReturn_t, nvmlEventSetWait_v2, kEvents,                                                    \
    (nvmlEventSet_t set, nvmlEventData_t * data, uint32_t timeout_ms))                             \
  X(nvmlReturn_t, nvmlDeviceRegisterEvents, kEvents,                                               \
    (nvmlDevice_t device, unsigned long long types, nvmlEventSet_t set))                           \
  X(nvmlReturn_t, nvmlDeviceGetSupportedEventTypes, kEvents,                                       \
    (nvmlDevice_t device, unsigned long long* types))                                              \
  X(nvmlReturn_t, nvmlGpmQueryDeviceSupport, kProfiling,                                           \
    (nvmlDevice_t device, nvmlGpmSupport_t * support))                                             \
  X(nvmlReturn_t, nvmlGpmSampleAlloc, kProfiling, (nvmlGpmSample_t * sample))                      \
  X(nvmlReturn_t, nvmlGpmSampleFree, kProfiling, (nvmlGpmSample_t sample))                         \
  X(nvmlReturn_t, nvmlGpmSampleGet, kProfiling, (nvmlDevice_t device, nvmlGpmSample_t sample))     \
  X(nvmlReturn_t, nvmlGpmMetricsGet, kProfiling, (nvmlGpmMetricsGet_t * metrics))                  \
  X(nvmlReturn_t, nvmlGpmMigSampleGet, kReading,                                                   \
    (nvmlDevice_t device, uint32_t gpu_instance_id, nvmlGpmSample_t sample))                       \
  X(nvmlReturn_t, nvmlSystemGetNVMLVersion, kReading, (char* version, uint32_t length))            \
  X(nvmlReturn_t, nvmlSystemGetCudaDriverVersion_v2, kReading, (int* version))                     \
  X(nvmlReturn_t, nvmlDeviceGetSerial, kReading,                                                   \
    (nvmlDevice_t device, char* serial, uint32_t length))                                          \
  X(nvmlReturn_t, nvmlDeviceGetVbiosVersion, kReading,                                             \
    (nvmlDevice_t device, char* version, uint32_t length))                                         \
  X(nvmlReturn_t, nvmlDeviceGetInforomVersion, kReading,                                           \
    (nvmlDevice_t device, int object, char* version, uint32_t length))                             \
  X(nvmlReturn_t, nvmlDeviceGetInforomImageVersion, kReading,                                      \
    (nvmlDevice_t device, char* version, uint32_t length))                                         \
  X(nvmlReturn_t, nvmlDeviceGetBrand, kReading, (nvmlDevice_t device, int* brand))                 \
  X(nvmlReturn_t, nvmlDeviceGetCudaComputeCapability, kReading,                                    \
    (nvmlDevice_t device, int* major, int* minor))                                                 \
  X(nvmlReturn_t, nvmlDeviceGetComputeMode, kReading, (nvmlDevice_t device, int* mode))            \
  X(nvmlReturn_t, nvmlDeviceGetPersistenceMode, kReading, (nvmlDevice_t device, int* mode))        \
  X(nvmlReturn_t, nvmlDeviceGetMigMode, kReading,                                                  \
    (nvmlDevice_t device, uint32_t * current, uint32_t * pending))                                 \
  X(nvmlReturn_t, nvmlDeviceGetVirtualizationMode, kReading, (nvmlDevice_t device, int* mode))     \
  X(nvmlReturn_t, nvmlDeviceGetUtilizationRates, kReading,                                         \
    (nvmlDevice_t device, nvmlUtilization_t * rates))                                              \
  X(nvmlReturn_t, nvmlDeviceGetEncoderUtilization, kReading,                                       \
    (nvmlDevice_t device, uint32_t * percent, uint32_t * period_us))                               \
  X(nvmlReturn_t, nvmlDeviceGetDecoderUtilization, kReading,                                       \
    (nvmlDevice_t device, uint32_t * percent, uint32_t * period_us))                               \
  X(nvmlReturn_t, nvmlDeviceGetMemoryInfo, kReading, (nvmlDevice_t device, nvmlMemory_t * memory)) \
  X(nvmlReturn_t, nvmlDeviceGetMemoryInfo_v2, kReading,                                            \
    (nvmlDevice_t device, nvmlMemory_v2_t * memory))                                               \
  X(nvmlReturn_t, nvmlDeviceGetBAR1MemoryInfo, kReading,                                           \
    (nvmlDevice_t device, nvmlBAR1Memory_t * memory))                                              \
  X(nvmlReturn_t, nvmlDeviceGetTemperature, kReading,                                              \
    (nvmlDevice_t device, int sensor, uint32_t* celsius))                                          \
  X(nvmlReturn_t, nvmlDeviceGetTemperatureV, kReading,                                             \
    (nvmlDevice_t device, nvmlTemperature_v1_t * temperature))                                     \
  X(nvmlReturn_t, nvmlDeviceGetTemperatureThreshold, kReading,                                     \
    (nvmlDevice_t device, int threshold, uint32_t* celsius))                                       \
  X(nvmlReturn_t, nvmlDeviceGetMarginTemperature, kReading,                                        \
    (nvmlDevice_t device, nvmlMarginTemperature_v1_t * margin))                                    \
  X(nvmlReturn_t, nvmlDeviceGetPowerUsage, kReading, (nvmlDevice_t device, uint32_t * value))      \
  X(nvmlReturn_t, nvmlDeviceGetTotalEnergyConsumption, kReading,                                   \
    (nvmlDevice_t device, unsigned long long* millijoules))                                        \
  X(nvmlReturn_t, nvmlDeviceGetEnforcedPowerLimit, kReading,                                       \
    (nvmlDevice_t device, uint32_t * value))                                                       \
  X(nvmlReturn_t, nvmlDeviceGetPowerManagementLimit, kReading,                                     \
    (nvmlDevice_t device, uint32_t * value))                                                       \
  X(nvmlReturn_t, nvmlDeviceGetPowerManagementDefaultLimit, kReading,                              \
    (nvmlDevice_t device, uint32_t * value))                                                       \
  X(nvmlReturn_t, nvmlDeviceGetPowerManagementLimitConstraints, kReading,                          \
    (nvmlDevice_t device, uint32_t * least, uint32_t * most))                                      \
  X(nvmlReturn_t, nvmlDeviceGetClockInfo, kReading,                                                \
    (nvmlDevice_t device, int clock, uint32_t* megahertz))                                         \
  X(nvmlReturn_t, nvmlDeviceGetMaxClockInfo, kReading,                                             \
    (nvmlDevice_t device, int clock, uint32_t* megahertz))                                         \
  X(nvmlReturn_t, nvmlDeviceGetApplicationsClock, kReading,                                        \
    (nvmlDevice_t device, int clock, uint32_t* megahertz))                                         \
  X(nvmlReturn_t, nvmlDeviceGetCurrentClocksEventReasons, kReading,                                \
    (nvmlDevice_t device, unsigned long long* reasons))                                            \
  X(nvmlReturn_t, nvmlDeviceGetCurrentClocksThrottleReasons, kReading,                             \
    (nvmlDevice_t device, unsigned long long* reasons))                                            \
  X(nvmlReturn_t, nvmlDeviceGetFanSpeed, kReading, (nvmlDevice_t device, uint32_t * value))        \
  X(nvmlReturn_t, nvmlDeviceGetPerformanceState, kReading, (nvmlDevice_t device, int* state))      \
  X(nvmlReturn_t, nvmlDeviceGetMemoryErrorCounter, kReading,                                       \
    (nvmlDevice_t device, int type, int counter, int location, unsigned long long* count))         \
  X(nvmlReturn_t, nvmlDeviceGetRetiredPages, kReading,                                             \
    (nvmlDevice_t device, int cause, uint32_t* count, unsigned long long* addresses))              \
  X(nvmlReturn_t, nvmlDeviceGetRowRemapperHistogram, kReading,                                     \
    (nvmlDevice_t device, nvmlRowRemapperHistogramValues_t * histogram))                           \
  X(nvmlReturn_t, nvmlDeviceGetPcieReplayCounter, kReading,                                        \
    (nvmlDevice_t device, uint32_t * value))                                                       \
  X(nvmlReturn_t, nvmlDeviceGetCurrPcieLinkGeneration, kReading,                                   \
    (nvmlDevice_t device, uint32_t * value))                                                       \
  X(nvmlReturn_t, nvmlDeviceGetCurrPcieLinkWidth, kReading,                                        \
    (nvmlDevice_t device, uint32_t * value))                                                       \
  X(nvmlReturn_t, nvmlDeviceGetMaxPcieLinkGeneration, kReading,                                    \
    (nvmlDevice_t device, uint32_t * value))                                                       \
  X(nvmlReturn_t, nvmlDeviceGetMaxPcieLinkWidth, kReading,                                         \
    (nvmlDevice_t device, uint32_t * value))                                                       \
  X(nvmlReturn_t, nvmlDeviceGetFieldValues, kReading,                                              \
    (nvmlDevice_t device, int count, nvmlFieldValue_t* values))                                    \
  X(nvmlReturn_t, nvmlDeviceGetNvLinkErrorCounter, kReading,                                       \
    (nvmlDevice_t device, uint32_t link, int counter, unsigned long long* count))                  \
  X(nvmlReturn_t, nvmlDeviceGetGridLicensableFeatures_v4, kReading,                                \
    (nvmlDevice_t device, nvmlGridLicensableFeatures_t * features))                                \
  X(nvmlReturn_t, nvmlDeviceGetComputeRunningProcesses_v3, kReading,                               \
    (nvmlDevice_t device, uint32_t * count, nvmlProcessInfo_t * processes))                        \
  X(nvmlReturn_t, nvmlDeviceGetComputeRunningProcesses_v2, kReading,                               \
    (nvmlDevice_t device, uint32_t * count, nvmlProcessInfo_t * processes))                        \
  X(nvmlReturn_t, nvmlDeviceGetGraphicsRunningProcesses_v3, kReading,                              \
    (nvmlDevice_t device, uint32_t * count, nvmlProcessInfo_t * processes))                        \
  X(nvmlReturn_t, nvmlDeviceGetGraphicsRunningProcesses_v2, kReading,                              \
    (nvmlDevice_t device, uint32_t * count, nvmlProcessInfo_t * processes))                        \
  X(nvmlReturn_t, nvmlDeviceGetMPSComputeRunningProcesses_v3, kReading,                            \
    (nvmlDevice_t device, uint32_t * count, nvmlProcessInfo_t * processes))                        \
  X(nvmlReturn_t, nvmlDeviceGetMPSComputeRunningProcesses_v2, kReading,                            \
    (nvmlDevice_t device, uint32_t * count, nvmlProcessInfo_t * processes))                        \
  X(nvmlReturn_t, nvmlDeviceGetProcessUtilization, kReading,                                       \
    (nvmlDevice_t device, nvmlProcessUtilizationSample_t * samples, uint32_t * count,              \
     unsigned long long last_seen_us))                                                             \
  X(nvmlReturn_t, nvmlDeviceGetProcessesUtilizationInfo, kReading,                                 \
    (nvmlDevice_t device, nvmlProcessesUtilizationInfo_v1_t * info))                               \
  X(nvmlReturn_t, nvmlDeviceGetAccountingMode, kReading, (nvmlDevice_t device, int* mode))         \
  X(nvmlReturn_t, nvmlDeviceSetAccountingMode, kReading, (nvmlDevice_t device, int mode))          \
  X(nvmlReturn_t, nvmlDeviceGetAccountingPids, kReading,                                           \
    (nvmlDevice_t device, uint32_t * count, uint32_t * pids))                                      \
  X(nvmlReturn_t, nvmlDeviceGetAccountingStats, kReading,                                          \
    (nvmlDevice_t device, uint32_t pid, nvmlAccountingStats_t * stats))                            \
  X(nvmlReturn_t, nvmlDeviceGetAccountingStats_v2, kReading,                                       \
    (nvmlDevice_t device, nvmlAccountingStats_v2_t * stats))

// The functions of one loaded library.
struct NvmlTable {
#define X(result, symbol, capability, parameters) result(*symbol) parameters = nullptr;
  PODGPU_NVML_API(X)
#undef X
};

}  // namespace podgpu::abi
