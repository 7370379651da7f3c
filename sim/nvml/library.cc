// The simulated libnvidia-ml.so.1: initialisation, versions, and the look-up of devices.
//
// Every name of the vendor's library is exported (names.txt); the ones that no file here
// defines answer NVML_ERROR_NOT_SUPPORTED from generated weak definitions.
#include <cstddef>
#include <cstdio>
#include <string>

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

// Returns a bus id as people write it ("1b:00.0", "0000:1B:00.0", "00000000:1B:00.0") in NVML's own
// form; empty when it is not a bus id.
std::string FullBusId(const char* text) {
  unsigned domain = 0;
  unsigned bus = 0;
  unsigned device = 0;
  unsigned function = 0;
  int end = 0;
  // NOLINTNEXTLINE(cert-err34-c): %x of at most eight digits cannot overflow.
  if (sscanf(text, "%8x:%2x:%2x.%1x%n", &domain, &bus, &device, &function, &end) != 4) {
    domain = 0;
    // NOLINTNEXTLINE(cert-err34-c): as above.
    if (sscanf(text, "%2x:%2x.%1x%n", &bus, &device, &function, &end) != 3) {
      return "";
    }
  }
  char full[32];
  const int size = snprintf(full, sizeof full, "%08X:%02X:%02X.%X", domain, bus, device, function);
  return text[end] == '\0' ? std::string(full, static_cast<size_t>(size)) : "";
}

NvmlTarget FindByBusId(const char* bus_id) {
  NvmlTarget none;
  none.result = NVML_ERROR_NOT_FOUND;
  const std::string wanted = bus_id == nullptr ? "" : FullBusId(bus_id);
  if (wanted.empty()) {
    none.result = NVML_ERROR_INVALID_ARGUMENT;
    return none;
  }
  NvmlSession& session = NvmlSession::Get();
  for (unsigned index = 0; index < session.GpuCount(); ++index) {
    const NvmlTarget target = session.ByIndex(index);
    if (target.result != NVML_SUCCESS ||
        FullBusId(std::string(target.gpu().pci_bus_id).c_str()) == wanted) {
      return target;
    }
  }
  return none;
}

NvmlTarget FindBySerial(std::string_view serial) {
  NvmlSession& session = NvmlSession::Get();
  for (unsigned index = 0; index < session.GpuCount(); ++index) {
    const NvmlTarget target = session.ByIndex(index);
    if (target.result != NVML_SUCCESS || target.gpu().serial == serial) {
      return target;
    }
  }
  NvmlTarget none;
  none.result = serial.empty() ? NVML_ERROR_INVALID_ARGUMENT : NVML_ERROR_NOT_FOUND;
  return none;
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
nvmlReturn_t nvmlDeviceGetCount(unsigned* count) { return nvmlDeviceGetCount_v2(count); }

nvmlReturn_t nvmlDeviceGetHandleByIndex_v2(unsigned index, nvmlDevice_t* device) {
  return PutHandle(BeginNvmlHandleCall(__func__, NvmlSession::Get().ByIndex(index)), device);
}
nvmlReturn_t nvmlDeviceGetHandleByIndex(unsigned index, nvmlDevice_t* device) {
  return nvmlDeviceGetHandleByIndex_v2(index, device);
}

nvmlReturn_t nvmlDeviceGetHandleByUUID(const char* uuid, nvmlDevice_t* device) {
  NvmlTarget target;
  target.result = NVML_ERROR_INVALID_ARGUMENT;
  if (uuid != nullptr) {
    target = NvmlSession::Get().FindUuid(uuid);
  }
  return PutHandle(BeginNvmlHandleCall(__func__, target), device);
}

nvmlReturn_t nvmlDeviceGetHandleByPciBusId_v2(const char* bus_id, nvmlDevice_t* device) {
  return PutHandle(BeginNvmlHandleCall(__func__, FindByBusId(bus_id)), device);
}
nvmlReturn_t nvmlDeviceGetHandleByPciBusId(const char* bus_id, nvmlDevice_t* device) {
  return nvmlDeviceGetHandleByPciBusId_v2(bus_id, device);
}

nvmlReturn_t nvmlDeviceGetHandleBySerial(const char* serial, nvmlDevice_t* device) {
  return PutHandle(BeginNvmlHandleCall(__func__, FindBySerial(serial == nullptr ? "" : serial)),
                   device);
}

}  // extern "C"
#pragma GCC visibility pop
// NOLINTEND(readability-identifier-naming)
