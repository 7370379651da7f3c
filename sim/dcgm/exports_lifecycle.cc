// Exported: init and shutdown, starting and connecting to engines, the versions and texts of
// library and engine, and the facts about a field.
#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <string_view>

#include "abi/dcgm_connect.h"
#include "sim/dcgm/fields.h"
#include "sim/dcgm/generation.h"
#include "sim/dcgm/library.h"

namespace podgpu::sim {
namespace {

// Texts of return codes, ascending by code.
struct CodeText {
  int code;
  const char* text;
};
constexpr auto kCodeTexts = std::to_array<CodeText>({
    {abi::DCGM_ST_GPUS_DETACHED, "GPUs are detached from the driver"},
    {abi::DCGM_ST_NVML_DRIVER_TIMEOUT, "the driver did not answer in time"},
    {abi::DCGM_ST_NVML_NOT_LOADED, "NVML is not loaded"},
    {abi::DCGM_ST_ALREADY_INITIALIZED, "already initialized"},
    {abi::DCGM_ST_PAUSED, "the module is paused"},
    {abi::DCGM_ST_INSUFFICIENT_RESOURCES, "not enough resources"},
    {abi::DCGM_ST_COMPUTE_INSTANCE_NOT_FOUND, "no such compute instance"},
    {abi::DCGM_ST_INSTANCE_NOT_FOUND, "no such GPU instance"},
    {abi::DCGM_ST_INSUFFICIENT_DRIVER_VERSION, "the driver is too old"},
    {abi::DCGM_ST_PROFILING_MULTI_PASS, "the fields cannot be profiled in one pass"},
    {abi::DCGM_ST_PROFILING_LIBRARY_ERROR, "the profiling library reported an error"},
    {abi::DCGM_ST_PROFILING_NOT_SUPPORTED, "profiling is not supported"},
    {abi::DCGM_ST_GROUP_IS_EMPTY, "the group is empty"},
    {abi::DCGM_ST_IN_USE, "in use"},
    {abi::DCGM_ST_MODULE_NOT_LOADED, "the module that answers this is not loaded"},
    {abi::DCGM_ST_FIELD_UNSUPPORTED_BY_API, "the field cannot be read by this call"},
    {abi::DCGM_ST_INSUFFICIENT_SIZE, "the buffer is too small"},
    {abi::DCGM_ST_REQUIRES_ROOT, "root is required"},
    {abi::DCGM_ST_DUPLICATE_KEY, "the name is in use"},
    {abi::DCGM_ST_LIBRARY_NOT_FOUND, "a library was not found"},
    {abi::DCGM_ST_MAX_LIMIT, "a limit was reached"},
    {abi::DCGM_ST_GROUP_INCOMPATIBLE, "the group does not suit the call"},
    {abi::DCGM_ST_GPU_NOT_SUPPORTED, "the GPU is not supported"},
    {abi::DCGM_ST_CONNECTION_NOT_VALID, "the connection to the engine is not valid"},
    {abi::DCGM_ST_FUNCTION_NOT_FOUND, "the function was not found"},
    {abi::DCGM_ST_RESET_REQUIRED, "the GPU needs a reset"},
    {abi::DCGM_ST_GPU_IS_LOST, "the GPU is lost"},
    {abi::DCGM_ST_NO_PERMISSION, "no permission"},
    {abi::DCGM_ST_NOT_WATCHED, "the field is not watched"},
    {abi::DCGM_ST_STALE_DATA, "only stale data"},
    {abi::DCGM_ST_NO_DATA, "no data"},
    {abi::DCGM_ST_UNKNOWN_FIELD, "unknown field"},
    {abi::DCGM_ST_VER_MISMATCH, "the version of the struct is not accepted"},
    {abi::DCGM_ST_TIMEOUT, "the engine did not answer in time"},
    {abi::DCGM_ST_UNINITIALIZED, "not initialized"},
    {abi::DCGM_ST_PENDING, "pending"},
    {abi::DCGM_ST_NVML_ERROR, "NVML reported an error"},
    {abi::DCGM_ST_INIT_ERROR, "initialization error"},
    {abi::DCGM_ST_NOT_SUPPORTED, "not supported"},
    {abi::DCGM_ST_NOT_CONFIGURED, "no such group"},
    {abi::DCGM_ST_MEMORY, "out of memory"},
    {abi::DCGM_ST_GENERIC_ERROR, "generic error"},
    {abi::DCGM_ST_BADPARAM, "bad parameter"},
    {abi::DCGM_ST_OK, "success"},
});
static_assert(std::ranges::is_sorted(kCodeTexts, {}, &CodeText::code));

int FillVersion(std::string_view version, abi::dcgmVersionInfo_v2* out) {
  if (out == nullptr) {
    return abi::DCGM_ST_BADPARAM;
  }
  if (out->version != abi::dcgmVersionInfo_version2) {
    return abi::DCGM_ST_VER_MISMATCH;
  }
  const std::string text = "version:" + std::string(version) + ";arch:x86_64;buildtype:Simulated";
  std::memcpy(out->rawBuildInfoString, text.c_str(), text.size() + 1);
  return abi::DCGM_ST_OK;
}

int ConnectWith(const char* address, bool is_unix, uint32_t timeout_ms, abi::dcgmHandle_t* handle) {
  if (address == nullptr || handle == nullptr) {
    return abi::DCGM_ST_BADPARAM;
  }
  return TheLibrary().Connect(address, is_unix, timeout_ms, *handle);
}

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

abi::dcgmReturn_t dcgmInit() {
  return CallLibrary(__func__, [] { return TheLibrary().Init(); });
}

abi::dcgmReturn_t dcgmShutdown() {
  return CallLibrary(__func__, [] { return TheLibrary().Shutdown(); });
}

abi::dcgmReturn_t dcgmStartEmbedded(abi::dcgmOperationMode_t mode, abi::dcgmHandle_t* handle) {
  return CallLibrary(__func__, [&] {
    return handle == nullptr ? abi::DCGM_ST_BADPARAM : TheLibrary().StartEmbedded(mode, *handle);
  });
}

abi::dcgmReturn_t dcgmStartEmbedded_v2(abi::dcgmStartEmbeddedV2Params_v1* params) {
  return CallLibrary(__func__, [&]() -> int {
    if (params == nullptr) {
      return abi::DCGM_ST_BADPARAM;
    }
    if (!IsStartWord(params->version)) {
      return abi::DCGM_ST_VER_MISMATCH;
    }
    return TheLibrary().StartEmbedded(params->opMode, params->dcgmHandle);
  });
}

abi::dcgmReturn_t dcgmStopEmbedded(abi::dcgmHandle_t handle) {
  return CallLibrary(__func__, [&] { return TheLibrary().StopEmbedded(handle); });
}

abi::dcgmReturn_t dcgmConnect_v2(const char* address, abi::dcgmConnectV2Params_v2* params,
                                 abi::dcgmHandle_t* handle) {
  return CallLibrary(__func__, [&]() -> int {
    if (params == nullptr) {
      return abi::DCGM_ST_BADPARAM;
    }
    if (params->version == abi::dcgmConnectV2Params_version1) {
      return ConnectWith(address, false, 0, handle);
    }
    if (params->version != abi::dcgmConnectV2Params_version2) {
      return abi::DCGM_ST_VER_MISMATCH;
    }
    return ConnectWith(address, params->addressIsUnixSocket != 0, params->timeoutMs, handle);
  });
}

#if PODGPU_DCGM_MAJOR == 4
abi::dcgmReturn_t dcgmConnect_v3(const char* address, abi::dcgmConnectV3Params_v1* params,
                                 abi::dcgmHandle_t* handle) {
  return CallLibrary(__func__, [&]() -> int {
    if (params == nullptr || address == nullptr) {
      return abi::DCGM_ST_BADPARAM;
    }
    if (params->version != abi::dcgmConnectV3Params_version1) {
      return abi::DCGM_ST_VER_MISMATCH;
    }
    const std::string_view text = address;
    constexpr std::string_view kTcp = "tcp://";
    constexpr std::string_view kUnix = "unix://";
    if (text.starts_with(kUnix)) {
      return ConnectWith(address + kUnix.size(), true, params->timeoutMs, handle);
    }
    if (text.starts_with(kTcp)) {
      return ConnectWith(address + kTcp.size(), false, params->timeoutMs, handle);
    }
    // An address without a scheme is a host (DCGM 4.6.0, seen with dcgmi).
    return text.find("://") == std::string_view::npos
               ? ConnectWith(address, false, params->timeoutMs, handle)
               : abi::DCGM_ST_BADPARAM;
  });
}
#endif

abi::dcgmReturn_t dcgmDisconnect(abi::dcgmHandle_t handle) {
  return CallLibrary(__func__, [&] { return TheLibrary().Disconnect(handle); });
}

abi::dcgmReturn_t dcgmVersionInfo(abi::dcgmVersionInfo_v2* out) {
  return CallLibrary(__func__, [&] { return FillVersion(kDcgmVersion, out); });
}

abi::dcgmReturn_t dcgmHostengineVersionInfo(abi::dcgmHandle_t handle,
                                            abi::dcgmVersionInfo_v2* out) {
  return Call(handle, __func__, Concern().Filling(out), [&](const Scene& scene) {
    return FillVersion(EngineRelease(scene.world, scene.now), out);
  });
}

// NOLINTNEXTLINE(readability-identifier-naming): the name is the vendor's.
const char* errorString(abi::dcgmReturn_t code) {
  const auto* const found = std::ranges::lower_bound(kCodeTexts, code, {}, &CodeText::code);
  return found != kCodeTexts.end() && found->code == code ? found->text : nullptr;
}

int DcgmFieldsInit() { return 0; }
int DcgmFieldsTerm() { return 0; }

const abi::dcgm_field_meta_t* DcgmFieldGetById(unsigned short id) { return FieldMeta(id); }

}  // extern "C"
#pragma GCC visibility pop

}  // namespace podgpu::sim
