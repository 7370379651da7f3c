// NVML's readings: sensors, counters and the one call that reads many values.
//
// Conventions as in nvml.h. nvmlDeviceGetFieldValues takes an array of nvmlFieldValue_t with
// fieldId and scopeId set and fills in the rest; the call's result concerns only the call, and each
// value has its own result.
#pragma once

#include <cstddef>
#include <cstdint>

#include "abi/nvml.h"

// NOLINTBEGIN(readability-identifier-naming): the names are the vendor's.
namespace podgpu::abi {

// Arguments of the calls. Vendor names without NVML_ where they would clash in C++.
enum : int { NVML_TEMPERATURE_GPU = 0 };
enum : int {
  NVML_TEMPERATURE_THRESHOLD_SHUTDOWN = 0,
  NVML_TEMPERATURE_THRESHOLD_SLOWDOWN = 1,
  NVML_TEMPERATURE_THRESHOLD_MEM_MAX = 2,
  NVML_TEMPERATURE_THRESHOLD_GPU_MAX = 3,
  NVML_TEMPERATURE_THRESHOLD_COUNT = 8,
};
enum : int {
  NVML_CLOCK_GRAPHICS = 0,
  NVML_CLOCK_SM = 1,
  NVML_CLOCK_MEM = 2,
  NVML_CLOCK_VIDEO = 3,
  NVML_CLOCK_COUNT = 4,
};
enum : int { NVML_PCIE_UTIL_TX_BYTES = 0, NVML_PCIE_UTIL_RX_BYTES = 1 };
enum : int { NVML_MEMORY_ERROR_TYPE_CORRECTED = 0, NVML_MEMORY_ERROR_TYPE_UNCORRECTED = 1 };
enum : int { NVML_VOLATILE_ECC = 0, NVML_AGGREGATE_ECC = 1 };
enum : int {
  NVML_MEMORY_LOCATION_L1_CACHE = 0,
  NVML_MEMORY_LOCATION_L2_CACHE = 1,
  NVML_MEMORY_LOCATION_DEVICE_MEMORY = 2,
  NVML_MEMORY_LOCATION_REGISTER_FILE = 3,
  NVML_MEMORY_LOCATION_TEXTURE_MEMORY = 4,
  NVML_MEMORY_LOCATION_TEXTURE_SHM = 5,
  NVML_MEMORY_LOCATION_CBU = 6,
  NVML_MEMORY_LOCATION_SRAM = 7,
  NVML_MEMORY_LOCATION_COUNT = 8,
};
enum : int {
  NVML_PAGE_RETIREMENT_CAUSE_MULTIPLE_SINGLE_BIT_ECC_ERRORS = 0,
  NVML_PAGE_RETIREMENT_CAUSE_DOUBLE_BIT_ECC_ERROR = 1,
};
enum : int {
  NVML_NVLINK_ERROR_DL_REPLAY = 0,
  NVML_NVLINK_ERROR_DL_RECOVERY = 1,
  NVML_NVLINK_ERROR_DL_CRC_FLIT = 2,
  NVML_NVLINK_ERROR_DL_CRC_DATA = 3,
};
enum : int { NVML_FEATURE_DISABLED = 0, NVML_FEATURE_ENABLED = 1 };
constexpr uint32_t NVML_NVLINK_MAX_LINKS = 36;
constexpr uint32_t NVML_ALL_LINKS =
    0xffffffff;  // As scopeId: the sum of all links; podgpu chose the name.

// Architectures with different readings.
enum : uint32_t {
  NVML_DEVICE_ARCH_VOLTA = 5,
  NVML_DEVICE_ARCH_TURING = 6,
  NVML_DEVICE_ARCH_AMPERE = 7,
  NVML_DEVICE_ARCH_ADA = 8,
  NVML_DEVICE_ARCH_HOPPER = 9,
  NVML_DEVICE_ARCH_BLACKWELL = 10,
  NVML_DEVICE_ARCH_UNKNOWN = 0xffffffff,
};

// Type of an nvmlValue_t.
enum : int {
  NVML_VALUE_TYPE_DOUBLE = 0,
  NVML_VALUE_TYPE_UNSIGNED_INT = 1,
  NVML_VALUE_TYPE_UNSIGNED_LONG = 2,
  NVML_VALUE_TYPE_UNSIGNED_LONG_LONG = 3,
  NVML_VALUE_TYPE_SIGNED_LONG_LONG = 4,
  NVML_VALUE_TYPE_SIGNED_INT = 5,
  NVML_VALUE_TYPE_UNSIGNED_SHORT = 6,
};

// A value of any type.
union nvmlValue_t {
  double dVal;
  int siVal;
  uint32_t uiVal;
  unsigned long ulVal;
  unsigned long long ullVal;
  long long sllVal;
  uint16_t usVal;
};
static_assert(sizeof(nvmlValue_t) == 8);

// One value of nvmlDeviceGetFieldValues.
struct nvmlFieldValue_t {
  uint32_t fieldId;
  uint32_t scopeId;       // A link's number, or 0.
  long long timestamp;    // Microseconds since 1970.
  long long latencyUsec;  // Duration of the reading.
  int valueType;
  nvmlReturn_t nvmlReturn;
  nvmlValue_t value;
};
static_assert(sizeof(nvmlFieldValue_t) == 40 && offsetof(nvmlFieldValue_t, timestamp) == 8 &&
              offsetof(nvmlFieldValue_t, valueType) == 24 &&
              offsetof(nvmlFieldValue_t, nvmlReturn) == 28 &&
              offsetof(nvmlFieldValue_t, value) == 32);

// Number of memory banks by remaining spare rows.
struct nvmlRowRemapperHistogramValues_t {
  uint32_t max;
  uint32_t high;
  uint32_t partial;
  uint32_t low;
  uint32_t none;
};
static_assert(sizeof(nvmlRowRemapperHistogramValues_t) == 20);

// A temperature, degrees Celsius; nvmlDeviceGetTemperatureV, since 12.8.
struct nvmlTemperature_v1_t {
  uint32_t version;
  int sensorType;
  int temperature;
};
constexpr uint32_t nvmlTemperature_v1 = sizeof(nvmlTemperature_v1_t) | (1U << 24U);
static_assert(nvmlTemperature_v1 == 0x0100000c);

// Degrees Celsius below the slowdown; nvmlDeviceGetMarginTemperature, since 12.8.
struct nvmlMarginTemperature_v1_t {
  uint32_t version;
  int marginTemperature;
};
constexpr uint32_t nvmlMarginTemperature_v1 = sizeof(nvmlMarginTemperature_v1_t) | (1U << 24U);
static_assert(nvmlMarginTemperature_v1 == 0x01000008);

// Expiry date of a licence.
struct nvmlGridLicenseExpiry_t {
  uint32_t year;
  uint16_t month;
  uint16_t day;
  uint16_t hour;
  uint16_t min;
  uint16_t sec;
  uint8_t status;
};
static_assert(sizeof(nvmlGridLicenseExpiry_t) == 16);

// A product that needs a licence.
struct nvmlGridLicensableFeature_t {
  int featureCode;  // 1: virtual GPUs.
  uint32_t featureState;
  char licenseInfo[128];
  char productName[128];
  uint32_t featureEnabled;
  nvmlGridLicenseExpiry_t licenseExpiry;
};
static_assert(sizeof(nvmlGridLicensableFeature_t) == 284 &&
              offsetof(nvmlGridLicensableFeature_t, featureEnabled) == 264);

// nvmlDeviceGetGridLicensableFeatures_v4.
struct nvmlGridLicensableFeatures_t {
  int isGridLicenseSupported;
  uint32_t licensableFeaturesCount;
  nvmlGridLicensableFeature_t gridLicensableFeatures[3];
};
static_assert(sizeof(nvmlGridLicensableFeatures_t) == 860);

}  // namespace podgpu::abi
// NOLINTEND(readability-identifier-naming)
