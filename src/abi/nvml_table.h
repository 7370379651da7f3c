// Every entry point of libnvidia-ml that podgpu calls, written once.
//
// As dcgm_table.h: PODGPU_NVML_API lists result, symbol, capability and parameters, NvmlTable holds
// the pointers, load.cc resolves the list.  Names carry their version suffix, since the plain
// symbols are older interfaces.  Signatures: nvml.h of CUDA 13.3 (docs/abi.md).
#pragma once

#include <cstdint>

#include "abi/nvml.h"

namespace podgpu::abi {

// What a group of symbols serves.
enum class NvmlCapability : uint8_t {
  kCore,  // Identity of whole GPUs; in every driver since R450.
  kMig,   // Identity of MIG devices.
};
inline constexpr int kNvmlCapabilityCount = 2;

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
  X(nvmlReturn_t, nvmlDeviceGetComputeInstanceId, kMig, (nvmlDevice_t mig_device, uint32_t * id))

// The functions of one loaded library.
struct NvmlTable {
#define X(result, symbol, capability, parameters) result(*symbol) parameters = nullptr;
  PODGPU_NVML_API(X)
#undef X
};

}  // namespace podgpu::abi
