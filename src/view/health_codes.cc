#include "view/health_codes.h"

#include <array>
#include <span>
#include <string_view>

namespace podgpu {
namespace {

// DCGM_FR of dcgm_errors.h, DCGM 4.6.0, by number.
constexpr std::array<std::string_view, 132> kHealthCodes = {
    "OK",
    "UNKNOWN",
    "UNRECOGNIZED",
    "PCI_REPLAY_RATE",
    "VOLATILE_DBE_DETECTED",
    "VOLATILE_SBE_DETECTED",
    "PENDING_PAGE_RETIREMENTS",
    "RETIRED_PAGES_LIMIT",
    "RETIRED_PAGES_DBE_LIMIT",
    "CORRUPT_INFOROM",
    "CLOCK_THROTTLE_THERMAL",
    "POWER_UNREADABLE",
    "CLOCK_THROTTLE_POWER",
    "NVLINK_ERROR_THRESHOLD",
    "NVLINK_DOWN",
    "NVSWITCH_FATAL_ERROR",
    "NVSWITCH_NON_FATAL_ERROR",
    "NVSWITCH_DOWN",
    "NO_ACCESS_TO_FILE",
    "NVML_API",
    "DEVICE_COUNT_MISMATCH",
    "BAD_PARAMETER",
    "CANNOT_OPEN_LIB",
    "DENYLISTED_DRIVER",
    "NVML_LIB_BAD",
    "GRAPHICS_PROCESSES",
    "HOSTENGINE_CONN",
    "FIELD_QUERY",
    "BAD_CUDA_ENV",
    "PERSISTENCE_MODE",
    "LOW_BANDWIDTH",
    "HIGH_LATENCY",
    "CANNOT_GET_FIELD_TAG",
    "FIELD_VIOLATION",
    "FIELD_THRESHOLD",
    "FIELD_VIOLATION_DBL",
    "FIELD_THRESHOLD_DBL",
    "UNSUPPORTED_FIELD_TYPE",
    "FIELD_THRESHOLD_TS",
    "FIELD_THRESHOLD_TS_DBL",
    "THERMAL_VIOLATIONS",
    "THERMAL_VIOLATIONS_TS",
    "TEMP_VIOLATION",
    "THROTTLING_VIOLATION",
    "INTERNAL",
    "PCIE_GENERATION",
    "PCIE_WIDTH",
    "ABORTED",
    "TEST_DISABLED",
    "CANNOT_GET_STAT",
    "STRESS_LEVEL",
    "CUDA_API",
    "FAULTY_MEMORY",
    "CANNOT_SET_WATCHES",
    "CUDA_UNBOUND",
    "ECC_DISABLED",
    "MEMORY_ALLOC",
    "CUDA_DBE",
    "MEMORY_MISMATCH",
    "CUDA_DEVICE",
    "ECC_UNSUPPORTED",
    "ECC_PENDING",
    "MEMORY_BANDWIDTH",
    "TARGET_POWER",
    "API_FAIL",
    "API_FAIL_GPU",
    "CUDA_CONTEXT",
    "DCGM_API",
    "CONCURRENT_GPUS",
    "TOO_MANY_ERRORS",
    "NVLINK_CRC_ERROR_THRESHOLD",
    "NVLINK_ERROR_CRITICAL",
    "ENFORCED_POWER_LIMIT",
    "MEMORY_ALLOC_HOST",
    "GPU_OP_MODE",
    "NO_MEMORY_CLOCKS",
    "NO_GRAPHICS_CLOCKS",
    "HAD_TO_RESTORE_STATE",
    "L1TAG_UNSUPPORTED",
    "L1TAG_MISCOMPARE",
    "ROW_REMAP_FAILURE",
    "UNCONTAINED_ERROR",
    "EMPTY_GPU_LIST",
    "DBE_PENDING_PAGE_RETIREMENTS",
    "UNCORRECTABLE_ROW_REMAP",
    "PENDING_ROW_REMAP",
    "BROKEN_P2P_MEMORY_DEVICE",
    "BROKEN_P2P_WRITER_DEVICE",
    "NVSWITCH_NVLINK_DOWN",
    "EUD_BINARY_PERMISSIONS",
    "EUD_NON_ROOT_USER",
    "EUD_SPAWN_FAILURE",
    "EUD_TIMEOUT",
    "EUD_ZOMBIE",
    "EUD_NON_ZERO_EXIT_CODE",
    "EUD_TEST_FAILED",
    "FILE_CREATE_PERMISSIONS",
    "PAUSE_RESUME_FAILED",
    "PCIE_H_REPLAY_VIOLATION",
    "GPU_EXPECTED_NVLINKS_UP",
    "NVSWITCH_EXPECTED_NVLINKS_UP",
    "XID_ERROR",
    "SBE_VIOLATION",
    "DBE_VIOLATION",
    "PCIE_REPLAY_VIOLATION",
    "SBE_THRESHOLD_VIOLATION",
    "DBE_THRESHOLD_VIOLATION",
    "PCIE_REPLAY_THRESHOLD_VIOLATION",
    "CUDA_FM_NOT_INITIALIZED",
    "SXID_ERROR",
    "GFLOPS_THRESHOLD_VIOLATION",
    "NAN_VALUE",
    "FABRIC_MANAGER_TRAINING_ERROR",
    "BROKEN_P2P_PCIE_MEMORY_DEVICE",
    "BROKEN_P2P_PCIE_WRITER_DEVICE",
    "BROKEN_P2P_NVLINK_MEMORY_DEVICE",
    "BROKEN_P2P_NVLINK_WRITER_DEVICE",
    "TEST_SKIPPED",
    "SRAM_THRESHOLD",
    "NVLINK_EFFECTIVE_BER_THRESHOLD",
    "FALLEN_OFF_BUS",
    "NVLINK_SYMBOL_BER_THRESHOLD",
    "IMEX_UNHEALTHY",
    "FABRIC_PROBE_STATE",
    "BINARY_PERMISSIONS",
    "GPU_RECOVERY_RESET",
    "GPU_RECOVERY_REBOOT",
    "GPU_RECOVERY_DRAIN_P2P",
    "GPU_RECOVERY_DRAIN_RESET",
    "NCCL_ERROR",
    "RETEST_REQUESTED",
    "ERROR_SENTINEL",
};

// DCGM_ERROR_* and DCGM_FR_EC_* of dcgm_errors.h, by number.
constexpr std::array<std::string_view, 7> kSeverities = {"NONE",   "MONITOR", "ISOLATE", "UNKNOWN",
                                                         "TRIAGE", "CONFIG",  "RESET"};
constexpr std::array<std::string_view, 17> kCategories = {"NONE",
                                                          "PERF_THRESHOLD",
                                                          "PERF_VIOLATION",
                                                          "SOFTWARE_CONFIG",
                                                          "SOFTWARE_LIBRARY",
                                                          "SOFTWARE_XID",
                                                          "SOFTWARE_CUDA",
                                                          "SOFTWARE_EUD",
                                                          "SOFTWARE_OTHER",
                                                          "HARDWARE_THERMAL",
                                                          "HARDWARE_MEMORY",
                                                          "HARDWARE_NVLINK",
                                                          "HARDWARE_NVSWITCH",
                                                          "HARDWARE_PCIE",
                                                          "HARDWARE_POWER",
                                                          "HARDWARE_OTHER",
                                                          "INTERNAL_OTHER"};

std::string NameIn(std::span<const std::string_view> names, const HealthVerdict& verdict,
                   int32_t number) {
  if (verdict.code == 0) {
    return "NONE";
  }
  const bool is_known = number >= 0 && static_cast<size_t>(number) < names.size();
  return is_known ? std::string(names[static_cast<size_t>(number)]) : "UNKNOWN";
}

}  // namespace

std::string HealthCategoryName(const HealthVerdict& verdict) {
  return NameIn(kCategories, verdict, verdict.category);
}

std::string HealthSeverityName(const HealthVerdict& verdict) {
  return NameIn(kSeverities, verdict, verdict.severity);
}

std::string HealthCodeName(uint32_t code) {
  const std::string prefix = "DCGM_FR_";
  return code < kHealthCodes.size() ? prefix + std::string(kHealthCodes[code])
                                    : prefix + "UNKNOWN(" + std::to_string(code) + ")";
}

}  // namespace podgpu
