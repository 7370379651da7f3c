// DCGM's numbers: return codes, entity groups, enumerations, limits and blank values.
//
// podgpu's own declarations under the vendor's names, so podgpu and the simulated libraries build
// without vendor headers. Source of every number: dcgm_structs.h and dcgm_fields.h of DCGM 4.6.0,
// compared with 3.1.8 to 4.6.1; comments mark numbers that are newer than 3.0. All enumerations of
// DCGM are as wide as int; here they are integer aliases with named constants, so an unknown number
// from a newer library can be stored. Standard library only; constants, any thread.
#pragma once

#include <cstdint>

// NOLINTBEGIN(readability-identifier-naming): the names are the vendor's.
namespace podgpu::abi {

// Result of every call: 0, or a negative error.
using dcgmReturn_t = int;
enum : int {
  DCGM_ST_OK = 0,
  DCGM_ST_BADPARAM = -1,
  DCGM_ST_GENERIC_ERROR = -3,
  DCGM_ST_MEMORY = -4,
  DCGM_ST_NOT_CONFIGURED = -5,
  DCGM_ST_NOT_SUPPORTED = -6,
  DCGM_ST_INIT_ERROR = -7,
  DCGM_ST_NVML_ERROR = -8,
  DCGM_ST_PENDING = -9,
  DCGM_ST_UNINITIALIZED = -10,
  DCGM_ST_TIMEOUT = -11,
  DCGM_ST_VER_MISMATCH = -12,
  DCGM_ST_UNKNOWN_FIELD = -13,
  DCGM_ST_NO_DATA = -14,
  DCGM_ST_STALE_DATA = -15,
  DCGM_ST_NOT_WATCHED = -16,
  DCGM_ST_NO_PERMISSION = -17,
  DCGM_ST_GPU_IS_LOST = -18,
  DCGM_ST_RESET_REQUIRED = -19,
  DCGM_ST_FUNCTION_NOT_FOUND = -20,
  DCGM_ST_CONNECTION_NOT_VALID = -21,
  DCGM_ST_GPU_NOT_SUPPORTED = -22,
  DCGM_ST_GROUP_INCOMPATIBLE = -23,
  DCGM_ST_MAX_LIMIT = -24,
  DCGM_ST_LIBRARY_NOT_FOUND = -25,
  DCGM_ST_DUPLICATE_KEY = -26,
  DCGM_ST_REQUIRES_ROOT = -29,
  DCGM_ST_INSUFFICIENT_SIZE = -31,
  DCGM_ST_FIELD_UNSUPPORTED_BY_API = -32,
  DCGM_ST_MODULE_NOT_LOADED = -33,
  DCGM_ST_IN_USE = -34,
  DCGM_ST_GROUP_IS_EMPTY = -35,
  DCGM_ST_PROFILING_NOT_SUPPORTED = -36,
  DCGM_ST_PROFILING_LIBRARY_ERROR = -37,
  DCGM_ST_PROFILING_MULTI_PASS = -38,
  DCGM_ST_INSUFFICIENT_DRIVER_VERSION = -44,
  DCGM_ST_INSTANCE_NOT_FOUND = -45,
  DCGM_ST_COMPUTE_INSTANCE_NOT_FOUND = -46,
  DCGM_ST_INSUFFICIENT_RESOURCES = -49,
  DCGM_ST_PAUSED = -54,
  DCGM_ST_ALREADY_INITIALIZED = -55,
  DCGM_ST_NVML_NOT_LOADED = -56,
  DCGM_ST_NVML_DRIVER_TIMEOUT = -57,
  DCGM_ST_GPUS_DETACHED = -67,  // Since 4.5.
};

// Kind of an entity id.
using dcgm_field_entity_group_t = int;
enum : int {
  DCGM_FE_NONE = 0,
  DCGM_FE_GPU = 1,
  DCGM_FE_VGPU = 2,
  DCGM_FE_SWITCH = 3,
  DCGM_FE_GPU_I = 4,   // MIG GPU instance.
  DCGM_FE_GPU_CI = 5,  // MIG compute instance.
  DCGM_FE_LINK = 6,
  DCGM_FE_CPU = 7,       // Since 3.3.1.
  DCGM_FE_CPU_CORE = 8,  // Since 3.3.1.
  DCGM_FE_CONNECTX = 9,  // Since 4.1.
};
using dcgm_field_eid_t = uint32_t;

// dcgm_field_meta_t::fieldType and the type of a value: one letter.
enum : int {
  DCGM_FT_BINARY = 'b',
  DCGM_FT_DOUBLE = 'd',
  DCGM_FT_INT64 = 'i',
  DCGM_FT_STRING = 's',
  DCGM_FT_TIMESTAMP = 't',
};
enum : int { DCGM_FS_GLOBAL = 0, DCGM_FS_ENTITY = 1 };  // dcgm_field_meta_t::scope

// Values at or above a blank mean "no value"; the three values after it tell the reason.
constexpr int32_t DCGM_INT32_BLANK = 0x7ffffff0;
constexpr int64_t DCGM_INT64_BLANK = 0x7ffffffffffffff0;
constexpr int64_t DCGM_INT64_NOT_FOUND = DCGM_INT64_BLANK + 1;
constexpr int64_t DCGM_INT64_NOT_SUPPORTED = DCGM_INT64_BLANK + 2;
constexpr int64_t DCGM_INT64_NOT_PERMISSIONED = DCGM_INT64_BLANK + 3;
constexpr double DCGM_FP64_BLANK = 140737488355328.0;  // 2^47
constexpr double DCGM_FP64_NOT_FOUND = DCGM_FP64_BLANK + 1;
constexpr double DCGM_FP64_NOT_SUPPORTED = DCGM_FP64_BLANK + 2;
constexpr double DCGM_FP64_NOT_PERMISSIONED = DCGM_FP64_BLANK + 3;
constexpr const char* DCGM_STR_BLANK = "<<<NULL>>>";
constexpr const char* DCGM_STR_NOT_FOUND = "<<<NOT_FOUND>>>";
constexpr const char* DCGM_STR_NOT_SUPPORTED = "<<<NOT_SUPPORTED>>>";
constexpr const char* DCGM_STR_NOT_PERMISSIONED = "<<<NOT_PERM>>>";

// Limits.
constexpr int DCGM_MAX_NUM_DEVICES = 32;
constexpr int DCGM_MAX_STR_LENGTH = 256;
constexpr int DCGM_MAX_BLOB_LENGTH = 4096;
constexpr int DCGM_MAX_FIELD_IDS_PER_FIELD_GROUP = 128;  // The client refuses the 128th.
constexpr int DCGM_GROUP_MAX_ENTITIES_V1 = 64;           // 3.x
constexpr int DCGM_GROUP_MAX_ENTITIES_V2 = 1024;         // 4.x
constexpr int DCGM_MAX_HIERARCHY_INFO = 448;
constexpr int DCGM_MAX_INSTANCES_PER_GPU = 8;
constexpr int DCGM_MAX_NUM_CPUS = 8;
constexpr int DCGM_MAX_NUM_SWITCHES = 12;
constexpr int DCGM_NVLINK_MAX_LINKS_PER_GPU_V1 = 18;       // To 4.5.
constexpr int DCGM_NVLINK_MAX_LINKS_PER_GPU = 36;          // 4.6
constexpr int DCGM_NVLINK_MAX_LINKS_PER_NVSWITCH_V1 = 64;  // 3.x
constexpr int DCGM_NVLINK_MAX_LINKS_PER_NVSWITCH_V2 = 256;

using dcgmOperationMode_t = int;
enum : int { DCGM_OPERATION_MODE_AUTO = 1, DCGM_OPERATION_MODE_MANUAL = 2 };

using dcgmGroupType_t = int;
enum : int {
  DCGM_GROUP_DEFAULT = 0,  // All GPUs.
  DCGM_GROUP_EMPTY = 1,
  DCGM_GROUP_DEFAULT_NVSWITCHES = 2,
  DCGM_GROUP_DEFAULT_INSTANCES = 3,
  DCGM_GROUP_DEFAULT_COMPUTE_INSTANCES = 4,
  DCGM_GROUP_DEFAULT_EVERYTHING = 5,
};

// Groups that always exist.
enum : uint32_t {
  DCGM_GROUP_ALL_GPUS = 0x7fffffff,
  DCGM_GROUP_ALL_NVSWITCHES = 0x7ffffffe,
  DCGM_GROUP_ALL_INSTANCES = 0x7ffffffd,
  DCGM_GROUP_ALL_COMPUTE_INSTANCES = 0x7ffffffc,
  DCGM_GROUP_ALL_ENTITIES = 0x7ffffffb,
  DCGM_GROUP_NULL = 0x7ffffffa,
  DCGM_EMBEDDED_HANDLE = 0x7fffffff,  // The handle of the engine in this process.
};

enum : uint32_t {
  DCGM_FV_FLAG_LIVE_DATA = 1,  // Ask the driver now.  Crashes the engine on profiling fields.
  DCGM_GEGE_FLAG_ONLY_SUPPORTED = 1,
};

// dcgmGetGpuStatus.
using DcgmEntityStatus_t = int;
enum : int {
  DcgmEntityStatusUnknown = 0,
  DcgmEntityStatusOk = 1,
  DcgmEntityStatusUnsupported = 2,
  DcgmEntityStatusInaccessible = 3,
  DcgmEntityStatusLost = 4,
  DcgmEntityStatusFake = 5,
  DcgmEntityStatusDisabled = 6,
  DcgmEntityStatusDetached = 7,
};

using dcgmNvLinkLinkState_t = int;
enum : int {
  DcgmNvLinkLinkStateNotSupported = 0,
  DcgmNvLinkLinkStateDisabled = 1,
  DcgmNvLinkLinkStateDown = 2,
  DcgmNvLinkLinkStateUp = 3,
};

// The version word of a versioned struct: its size, with a number in the top byte.
template <typename Struct>
constexpr uint32_t StructVersion(uint32_t number) {
  static_assert(sizeof(Struct) < (1U << 24U));
  return static_cast<uint32_t>(sizeof(Struct)) | (number << 24U);
}

}  // namespace podgpu::abi
// NOLINTEND(readability-identifier-naming)
