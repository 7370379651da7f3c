// NVML's core: codes, handles, and the structs that identify a device.
//
// podgpu's own declarations under the vendor's names, in the layout of nvml.h of CUDA 13.3, checked
// against the copy in DCGM 4.6.0. nvmlReturn_t and the enumerations are as wide as int and are
// integers here, so an unknown code of a newer driver can be stored. All ones means "no value". A
// versioned struct begins with size | number << 24. Standard library only; plain data.
#pragma once

#include <cstddef>
#include <cstdint>

// NOLINTBEGIN(readability-identifier-naming): the names are the vendor's.
namespace podgpu::abi {

// Result of every call: 0, or a positive error.
using nvmlReturn_t = int;
enum : int {
  NVML_SUCCESS = 0,
  NVML_ERROR_UNINITIALIZED = 1,
  NVML_ERROR_INVALID_ARGUMENT = 2,
  NVML_ERROR_NOT_SUPPORTED = 3,
  NVML_ERROR_NO_PERMISSION = 4,
  NVML_ERROR_ALREADY_INITIALIZED = 5,
  NVML_ERROR_NOT_FOUND = 6,
  NVML_ERROR_INSUFFICIENT_SIZE = 7,
  NVML_ERROR_INSUFFICIENT_POWER = 8,
  NVML_ERROR_DRIVER_NOT_LOADED = 9,
  NVML_ERROR_TIMEOUT = 10,
  NVML_ERROR_IRQ_ISSUE = 11,
  NVML_ERROR_LIBRARY_NOT_FOUND = 12,
  NVML_ERROR_FUNCTION_NOT_FOUND = 13,
  NVML_ERROR_CORRUPTED_INFOROM = 14,
  NVML_ERROR_GPU_IS_LOST = 15,
  NVML_ERROR_RESET_REQUIRED = 16,
  NVML_ERROR_OPERATING_SYSTEM = 17,
  NVML_ERROR_LIB_RM_VERSION_MISMATCH = 18,
  NVML_ERROR_IN_USE = 19,
  NVML_ERROR_MEMORY = 20,
  NVML_ERROR_NO_DATA = 21,
  NVML_ERROR_VGPU_ECC_NOT_SUPPORTED = 22,
  NVML_ERROR_INSUFFICIENT_RESOURCES = 23,
  NVML_ERROR_FREQ_NOT_SUPPORTED = 24,
  NVML_ERROR_ARGUMENT_VERSION_MISMATCH = 25,
  NVML_ERROR_DEPRECATED = 26,
  NVML_ERROR_NOT_READY = 27,
  NVML_ERROR_GPU_NOT_FOUND = 28,
  NVML_ERROR_INVALID_STATE = 29,
  NVML_ERROR_RESET_TYPE_NOT_SUPPORTED = 30,
  NVML_ERROR_UNKNOWN = 999,
};

// A GPU or a MIG device (one compute instance); valid until nvmlShutdown.
struct nvmlDevice_st;
using nvmlDevice_t = nvmlDevice_st*;

// Buffer sizes that fit any text of their kind.
constexpr uint32_t NVML_DEVICE_UUID_V2_BUFFER_SIZE = 96;
constexpr uint32_t NVML_DEVICE_NAME_V2_BUFFER_SIZE = 96;
constexpr uint32_t NVML_DEVICE_SERIAL_BUFFER_SIZE = 30;
constexpr uint32_t NVML_DEVICE_VBIOS_VERSION_BUFFER_SIZE = 32;
constexpr uint32_t NVML_SYSTEM_DRIVER_VERSION_BUFFER_SIZE = 80;
constexpr uint32_t NVML_SYSTEM_NVML_VERSION_BUFFER_SIZE = 80;

enum : uint32_t { NVML_DEVICE_MIG_DISABLE = 0, NVML_DEVICE_MIG_ENABLE = 1 };

// PCI location of the board; nvmlDeviceGetPciInfo_v3.
struct nvmlPciInfo_t {
  char busIdLegacy[16];  // Domain of four digits.
  uint32_t domain;
  uint32_t bus;
  uint32_t device;
  uint32_t pciDeviceId;
  uint32_t pciSubSystemId;
  char busId[32];  // Domain of eight digits: "00000000:65:00.0".
};
static_assert(sizeof(nvmlPciInfo_t) == 68 && offsetof(nvmlPciInfo_t, domain) == 16 &&
              offsetof(nvmlPciInfo_t, busId) == 36);

// Framebuffer, in bytes; `used` includes the driver's reserved part.
struct nvmlMemory_t {
  unsigned long long total;
  unsigned long long free;
  unsigned long long used;
};
static_assert(sizeof(nvmlMemory_t) == 24);

// Memory with the reserved part separate; needs driver 510.
struct nvmlMemory_v2_t {
  uint32_t version;
  unsigned long long total;
  unsigned long long reserved;
  unsigned long long free;
  unsigned long long used;
};
static_assert(sizeof(nvmlMemory_v2_t) == 40 && offsetof(nvmlMemory_v2_t, total) == 8 &&
              offsetof(nvmlMemory_v2_t, used) == 32);
constexpr uint32_t nvmlMemory_v2 = sizeof(nvmlMemory_v2_t) | (2U << 24U);
static_assert(nvmlMemory_v2 == 0x02000028);

// Mapped memory, bytes.
struct nvmlBAR1Memory_t {
  unsigned long long bar1Total;
  unsigned long long bar1Free;
  unsigned long long bar1Used;
};
static_assert(sizeof(nvmlBAR1Memory_t) == 24);

// Percent over the last sample period.
struct nvmlUtilization_t {
  uint32_t gpu;
  uint32_t memory;
};
static_assert(sizeof(nvmlUtilization_t) == 8);

// One process that holds a context; ids are all ones outside MIG.
struct nvmlProcessInfo_t {
  uint32_t pid;
  unsigned long long usedGpuMemory;  // Bytes.
  uint32_t gpuInstanceId;
  uint32_t computeInstanceId;
};
static_assert(sizeof(nvmlProcessInfo_t) == 24 && offsetof(nvmlProcessInfo_t, usedGpuMemory) == 8 &&
              offsetof(nvmlProcessInfo_t, gpuInstanceId) == 16);

}  // namespace podgpu::abi
// NOLINTEND(readability-identifier-naming)
