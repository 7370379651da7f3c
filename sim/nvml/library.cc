// The simulated libnvidia-ml.so.1: initialisation, versions, and the look-up of devices.
//
// Every name of the vendor's library is exported (names.txt); the ones that no file here
// defines answer NVML_ERROR_NOT_SUPPORTED from generated weak definitions.
#include <string_view>

#include "abi/nvml.h"
#include "sim/nvml/call.h"

// NOLINTBEGIN(readability-identifier-naming): the names are the vendor's.
namespace {

using namespace podgpu::abi;  // NOLINT(google-build-using-namespace): they are all about it.
using namespace podgpu::sim;  // NOLINT(google-build-using-namespace): and about its answers.

struct ErrorText {
  nvmlReturn_t code;
  const char* text;
};

constexpr ErrorText kErrorTexts[] = {
    {NVML_SUCCESS, "Success"},
    {NVML_ERROR_UNINITIALIZED, "Uninitialized"},
    {NVML_ERROR_INVALID_ARGUMENT, "Invalid Argument"},
    {NVML_ERROR_NOT_SUPPORTED, "Not Supported"},
    {NVML_ERROR_NO_PERMISSION, "Insufficient Permissions"},
    {NVML_ERROR_ALREADY_INITIALIZED, "Already Initialized"},
    {NVML_ERROR_NOT_FOUND, "Not Found"},
    {NVML_ERROR_INSUFFICIENT_SIZE, "Insufficient Size"},
    {NVML_ERROR_INSUFFICIENT_POWER, "Insufficient External Power"},
    {NVML_ERROR_DRIVER_NOT_LOADED, "Driver Not Loaded"},
    {NVML_ERROR_TIMEOUT, "Timeout"},
    {NVML_ERROR_IRQ_ISSUE, "Interrupt Request Issue"},
    {NVML_ERROR_LIBRARY_NOT_FOUND, "NVML Shared Library Not Found"},
    {NVML_ERROR_FUNCTION_NOT_FOUND, "Function Not Found"},
    {NVML_ERROR_CORRUPTED_INFOROM, "Corrupted infoROM"},
    {NVML_ERROR_GPU_IS_LOST, "GPU is lost"},
    {NVML_ERROR_RESET_REQUIRED, "GPU requires reset"},
    {NVML_ERROR_OPERATING_SYSTEM, "GPU access blocked by the operating system"},
    {NVML_ERROR_LIB_RM_VERSION_MISMATCH, "Driver/library version mismatch"},
    {NVML_ERROR_IN_USE, "In use by another client"},
    {NVML_ERROR_MEMORY, "Insufficient Memory"},
    {NVML_ERROR_NO_DATA, "No data"},
    {NVML_ERROR_VGPU_ECC_NOT_SUPPORTED, "vGPU with ECC is not supported"},
    {NVML_ERROR_INSUFFICIENT_RESOURCES, "Insufficient Resources"},
    {NVML_ERROR_FREQ_NOT_SUPPORTED, "Frequency not supported"},
    {NVML_ERROR_ARGUMENT_VERSION_MISMATCH, "Argument version mismatch"},
    {NVML_ERROR_DEPRECATED, "Deprecated"},
    {NVML_ERROR_NOT_READY, "Not ready"},
    {NVML_ERROR_GPU_NOT_FOUND, "No GPUs were found"},
    {NVML_ERROR_INVALID_STATE, "Invalid state"},
    {NVML_ERROR_RESET_TYPE_NOT_SUPPORTED, "Reset type not supported"},
};

nvmlReturn_t PutHandle(const NvmlTarget& target, nvmlDevice_t* place) {
  if (place == nullptr) {
    return NVML_ERROR_INVALID_ARGUMENT;
  }
  if (target.result == NVML_SUCCESS) {
    *place = NvmlSession::Get().Handle(target);
  }
  return target.result;
}

template <typename Body>
nvmlReturn_t TellSystemText(std::string_view call, char* buffer, unsigned length, Body body) {
  const NvmlTarget target = BeginNvmlSystemCall(call);
  return target.result == NVML_SUCCESS ? PutNvmlText(body(*target.world), buffer, length)
                                       : target.result;
}

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

nvmlReturn_t nvmlInitWithFlags(unsigned flags) {
  const nvmlReturn_t result = NvmlSession::Get().Init(flags);
  if (result != NVML_SUCCESS) {
    return result;
  }
  const NvmlTarget met = BeginNvmlSystemCall("nvmlInit_v2");
  if (met.result != NVML_SUCCESS) {
    NvmlSession::Get().Shutdown();
  }
  return met.result;
}
nvmlReturn_t nvmlInit_v2() { return nvmlInitWithFlags(0); }
nvmlReturn_t nvmlInit() { return nvmlInitWithFlags(0); }
nvmlReturn_t nvmlShutdown() { return NvmlSession::Get().Shutdown(); }

const char* nvmlErrorString(nvmlReturn_t result) {
  for (const ErrorText& row : kErrorTexts) {
    if (row.code == result) {
      return row.text;
    }
  }
  return "Unknown Error";
}

nvmlReturn_t nvmlSystemGetDriverVersion(char* version, unsigned length) {
  return TellSystemText(__func__, version, length,
                        [](const World& world) { return world.driver_version(); });
}

nvmlReturn_t nvmlSystemGetNVMLVersion(char* version, unsigned length) {
  return TellSystemText(__func__, version, length,
                        [](const World& world) { return world.nvml_version(); });
}

nvmlReturn_t nvmlSystemGetCudaDriverVersion(int* version) {
  const NvmlTarget target = BeginNvmlSystemCall(__func__);
  if (target.result != NVML_SUCCESS) {
    return target.result;
  }
  if (version == nullptr) {
    return NVML_ERROR_INVALID_ARGUMENT;
  }
  *version = target.world->cuda_version();
  return NVML_SUCCESS;
}
nvmlReturn_t nvmlSystemGetCudaDriverVersion_v2(int* version) {
  return nvmlSystemGetCudaDriverVersion(version);
}

nvmlReturn_t nvmlDeviceGetCount_v2(unsigned* count) {
  const NvmlTarget target = BeginNvmlSystemCall(__func__);
  if (target.result != NVML_SUCCESS) {
    return target.result;
  }
  if (count == nullptr) {
    return NVML_ERROR_INVALID_ARGUMENT;
  }
  *count = NvmlSession::Get().GpuCount();
  return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetHandleByIndex_v2(unsigned index, nvmlDevice_t* device) {
  return PutHandle(BeginNvmlHandleCall(__func__, NvmlSession::Get().ByIndex(index)), device);
}

nvmlReturn_t nvmlDeviceGetHandleByUUID(const char* uuid, nvmlDevice_t* device) {
  NvmlTarget target;
  target.result = NVML_ERROR_INVALID_ARGUMENT;
  if (uuid != nullptr) {
    target = NvmlSession::Get().FindUuid(uuid);
  }
  return PutHandle(BeginNvmlHandleCall(__func__, target), device);
}

}  // extern "C"
#pragma GCC visibility pop
// NOLINTEND(readability-identifier-naming)
