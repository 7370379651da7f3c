// The simulated libnvidia-ml.so.1: the entry points by which devices are found and named.
//
// Every name of the vendor's library is exported (nvml_names.txt); the ones that are not here
// answer NVML_ERROR_NOT_SUPPORTED from generated weak definitions.  Codes follow NVML's
// documentation: 1 before initialisation, 2 for a null pointer or a stale handle, 6 for what is not
// there, 7 for a buffer that is too small.  A plain name has the oldest layout of its kind.
#include <algorithm>
#include <array>
#include <cctype>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <string>
#include <string_view>

#include "abi/nvml.h"
#include "sim/nvml_session.h"

// NOLINTBEGIN(readability-identifier-naming): the names are the vendor's.
namespace {

using namespace podgpu::abi;  // NOLINT(google-build-using-namespace): they are all about it.
using podgpu::sim::NvmlSession;
using podgpu::sim::NvmlTarget;

// Everything of a GPU that its MIG devices share is 7 ways at most, on every chip that has MIG.
constexpr uint32_t kMaxMigDevices = 7;
constexpr uint32_t kNvidiaVendor = 0x10DE;  // The world does not model the board's own number.
constexpr unsigned long long kMib = 1ULL << 20U;

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

NvmlTarget Find(nvmlDevice_t device) { return NvmlSession::Get().Find(device); }

// `text` into the caller's buffer of `length` bytes, with its end.
nvmlReturn_t CopyText(std::string_view text, char* buffer, unsigned length) {
  if (buffer == nullptr) {
    return NVML_ERROR_INVALID_ARGUMENT;
  }
  if (text.size() >= length) {
    return NVML_ERROR_INSUFFICIENT_SIZE;
  }
  std::copy(text.begin(), text.end(), buffer);
  buffer[text.size()] = '\0';
  return NVML_SUCCESS;
}

template <typename Number>
nvmlReturn_t Put(Number value, Number* place) {
  if (place == nullptr) {
    return NVML_ERROR_INVALID_ARGUMENT;
  }
  *place = value;
  return NVML_SUCCESS;
}

nvmlReturn_t PutHandle(const NvmlTarget& target, nvmlDevice_t* place) {
  if (place == nullptr) {
    return NVML_ERROR_INVALID_ARGUMENT;
  }
  if (target.result == NVML_SUCCESS) {
    *place = NvmlSession::Get().Handle(target);
  }
  return target.result;
}

// A question that GPUs answer and MIG devices do not.
NvmlTarget FindGpu(nvmlDevice_t device) {
  NvmlTarget target = Find(device);
  if (target.result == NVML_SUCCESS && target.is_mig()) {
    target.result = NVML_ERROR_NOT_SUPPORTED;
  }
  return target;
}

// A question that only MIG devices answer.
NvmlTarget FindMigDevice(nvmlDevice_t device) {
  NvmlTarget target = Find(device);
  if (target.result == NVML_SUCCESS && !target.is_mig()) {
    target.result = NVML_ERROR_INVALID_ARGUMENT;
  }
  return target;
}

// A bus id as people write it ("1b:00.0", "0000:1B:00.0", "00000000:1B:00.0") in NVML's own form;
// empty when it is none.
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

// The newest layout; older ones are its beginning.
nvmlReturn_t PciInfo(nvmlDevice_t device, nvmlPciInfo_t& info) {
  const NvmlTarget target = Find(device);
  if (target.result != NVML_SUCCESS) {
    return target.result;
  }
  const std::string bus_id(target.gpu().pci_bus_id);
  // NOLINTNEXTLINE(cert-err34-c): the world's own text.
  sscanf(bus_id.c_str(), "%8x:%2x:%2x", &info.domain, &info.bus, &info.device);
  info.pciDeviceId = kNvidiaVendor;
  snprintf(info.busId, sizeof info.busId, "%s", bus_id.c_str());
  snprintf(info.busIdLegacy, sizeof info.busIdLegacy, "%04X:%02X:%02X.0", info.domain & 0xffffU,
           info.bus & 0xffU, info.device & 0xffU);
  return NVML_SUCCESS;
}

// The first `bytes` of the newest layout, for callers of an older one.
nvmlReturn_t OldPciInfo(nvmlDevice_t device, void* place, size_t bytes) {
  if (place == nullptr) {
    return NVML_ERROR_INVALID_ARGUMENT;
  }
  nvmlPciInfo_t info{};
  const nvmlReturn_t result = PciInfo(device, info);
  if (result == NVML_SUCCESS) {
    memcpy(place, &info, bytes);
  }
  return result;
}

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

nvmlReturn_t nvmlInit_v2() { return NvmlSession::Get().Init(0); }
nvmlReturn_t nvmlInit() { return NvmlSession::Get().Init(0); }
nvmlReturn_t nvmlInitWithFlags(unsigned flags) { return NvmlSession::Get().Init(flags); }
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
  const NvmlTarget target = NvmlSession::Get().System();
  return target.result != NVML_SUCCESS ? target.result
                                       : CopyText(target.world->driver_version(), version, length);
}

nvmlReturn_t nvmlSystemGetNVMLVersion(char* version, unsigned length) {
  const NvmlTarget target = NvmlSession::Get().System();
  return target.result != NVML_SUCCESS ? target.result
                                       : CopyText(target.world->nvml_version(), version, length);
}

nvmlReturn_t nvmlSystemGetCudaDriverVersion(int* version) {
  const NvmlTarget target = NvmlSession::Get().System();
  return target.result != NVML_SUCCESS ? target.result : Put(target.world->cuda_version(), version);
}
nvmlReturn_t nvmlSystemGetCudaDriverVersion_v2(int* version) {
  return nvmlSystemGetCudaDriverVersion(version);
}

nvmlReturn_t nvmlDeviceGetCount_v2(unsigned* count) {
  const NvmlTarget target = NvmlSession::Get().System();
  return target.result != NVML_SUCCESS
             ? target.result
             : Put(static_cast<unsigned>(target.world->gpu_count()), count);
}
nvmlReturn_t nvmlDeviceGetCount(unsigned* count) { return nvmlDeviceGetCount_v2(count); }

nvmlReturn_t nvmlDeviceGetHandleByIndex_v2(unsigned index, nvmlDevice_t* device) {
  NvmlTarget target = NvmlSession::Get().System();
  if (target.result == NVML_SUCCESS) {
    target.device.gpu = static_cast<int>(index);
    target.result = index < static_cast<unsigned>(target.world->gpu_count())
                        ? NVML_SUCCESS
                        : NVML_ERROR_INVALID_ARGUMENT;
  }
  return PutHandle(target, device);
}
nvmlReturn_t nvmlDeviceGetHandleByIndex(unsigned index, nvmlDevice_t* device) {
  return nvmlDeviceGetHandleByIndex_v2(index, device);
}

nvmlReturn_t nvmlDeviceGetHandleByUUID(const char* uuid, nvmlDevice_t* device) {
  NvmlTarget target = NvmlSession::Get().System();
  if (target.result == NVML_SUCCESS && uuid == nullptr) {
    target.result = NVML_ERROR_INVALID_ARGUMENT;
  }
  return PutHandle(target.result == NVML_SUCCESS ? NvmlSession::Get().FindUuid(uuid) : target,
                   device);
}

nvmlReturn_t nvmlDeviceGetHandleByPciBusId_v2(const char* bus_id, nvmlDevice_t* device) {
  NvmlTarget target = NvmlSession::Get().System();
  if (target.result == NVML_SUCCESS) {
    target.result = NVML_ERROR_NOT_FOUND;
    const std::string wanted = bus_id == nullptr ? "" : FullBusId(bus_id);
    for (int gpu = 0; gpu < target.world->gpu_count(); ++gpu) {
      if (FullBusId(std::string(target.world->gpu(gpu).pci_bus_id).c_str()) == wanted) {
        target.result = NVML_SUCCESS;
        target.device.gpu = gpu;
      }
    }
    target.result = wanted.empty() ? NVML_ERROR_INVALID_ARGUMENT : target.result;
  }
  return PutHandle(target, device);
}
nvmlReturn_t nvmlDeviceGetHandleByPciBusId(const char* bus_id, nvmlDevice_t* device) {
  return nvmlDeviceGetHandleByPciBusId_v2(bus_id, device);
}

nvmlReturn_t nvmlDeviceGetUUID(nvmlDevice_t device, char* uuid, unsigned length) {
  const NvmlTarget target = Find(device);
  if (target.result != NVML_SUCCESS) {
    return target.result;
  }
  return CopyText(target.is_mig() ? target.compute().mig_uuid : target.gpu().uuid, uuid, length);
}

nvmlReturn_t nvmlDeviceGetName(nvmlDevice_t device, char* name, unsigned length) {
  const NvmlTarget target = Find(device);
  if (target.result != NVML_SUCCESS) {
    return target.result;
  }
  std::string text(target.gpu().model);
  if (target.is_mig()) {
    text.append(" MIG ").append(target.compute().profile);
  }
  return CopyText(text, name, length);
}

nvmlReturn_t nvmlDeviceGetIndex(nvmlDevice_t device, unsigned* index) {
  const NvmlTarget target = Find(device);
  if (target.result != NVML_SUCCESS) {
    return target.result;
  }
  return Put(static_cast<unsigned>(target.is_mig() ? target.mig_index : target.device.gpu), index);
}

nvmlReturn_t nvmlDeviceGetMinorNumber(nvmlDevice_t device, unsigned* minor_number) {
  const NvmlTarget target = FindGpu(device);
  return target.result != NVML_SUCCESS
             ? target.result
             : Put(static_cast<unsigned>(target.gpu().minor_number), minor_number);
}

nvmlReturn_t nvmlDeviceGetSerial(nvmlDevice_t device, char* serial, unsigned length) {
  const NvmlTarget target = FindGpu(device);
  if (target.result != NVML_SUCCESS) {
    return target.result;
  }
  return target.gpu().serial.empty() ? NVML_ERROR_NOT_SUPPORTED
                                     : CopyText(target.gpu().serial, serial, length);
}

nvmlReturn_t nvmlDeviceGetPciInfo_v3(nvmlDevice_t device, nvmlPciInfo_t* info) {
  return OldPciInfo(device, info, sizeof *info);
}
// With the board's number, without the long bus id; what the vendor reserved stays as it was.
nvmlReturn_t nvmlDeviceGetPciInfo_v2(nvmlDevice_t device, void* info) {
  return OldPciInfo(device, info, offsetof(nvmlPciInfo_t, busId));
}
// The first layout ends before the board's number.
nvmlReturn_t nvmlDeviceGetPciInfo(nvmlDevice_t device, void* info) {
  return OldPciInfo(device, info, offsetof(nvmlPciInfo_t, pciSubSystemId));
}

nvmlReturn_t nvmlDeviceGetMigMode(nvmlDevice_t device, unsigned* current, unsigned* pending) {
  const NvmlTarget target = FindGpu(device);
  if (target.result != NVML_SUCCESS) {
    return target.result;
  }
  if (current == nullptr || pending == nullptr) {
    return NVML_ERROR_INVALID_ARGUMENT;
  }
  if (!target.gpu().mig_capable) {
    return NVML_ERROR_NOT_SUPPORTED;
  }
  const bool enabled = target.world->mig_enabled(target.device.gpu, target.now);
  *current = *pending = enabled ? NVML_DEVICE_MIG_ENABLE : NVML_DEVICE_MIG_DISABLE;
  return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetMaxMigDeviceCount(nvmlDevice_t device, unsigned* count) {
  const NvmlTarget target = FindGpu(device);
  if (target.result != NVML_SUCCESS) {
    return target.result;
  }
  return Put(target.world->mig_enabled(target.device.gpu, target.now) ? kMaxMigDevices : 0U, count);
}

nvmlReturn_t nvmlDeviceGetMigDeviceHandleByIndex(nvmlDevice_t device, unsigned index,
                                                 nvmlDevice_t* mig_device) {
  NvmlTarget target = FindGpu(device);
  if (target.result == NVML_SUCCESS) {
    if (index < kMaxMigDevices) {
      target = NvmlSession::Get().FindMig(target, static_cast<int>(index));
    } else {
      target.result = NVML_ERROR_INVALID_ARGUMENT;
    }
  }
  return PutHandle(target, mig_device);
}

nvmlReturn_t nvmlDeviceGetDeviceHandleFromMigDeviceHandle(nvmlDevice_t mig_device,
                                                          nvmlDevice_t* device) {
  NvmlTarget target = FindMigDevice(mig_device);
  target.device.instance = target.device.compute = target.mig_index = -1;
  return PutHandle(target, device);
}

nvmlReturn_t nvmlDeviceIsMigDeviceHandle(nvmlDevice_t device, unsigned* is_mig) {
  const NvmlTarget target = Find(device);
  return target.result != NVML_SUCCESS ? target.result : Put(target.is_mig() ? 1U : 0U, is_mig);
}

nvmlReturn_t nvmlDeviceGetGpuInstanceId(nvmlDevice_t device, unsigned* id) {
  const NvmlTarget target = FindMigDevice(device);
  return target.result != NVML_SUCCESS
             ? target.result
             : Put(static_cast<unsigned>(target.instance().gpu_instance_id), id);
}

nvmlReturn_t nvmlDeviceGetComputeInstanceId(nvmlDevice_t device, unsigned* id) {
  const NvmlTarget target = FindMigDevice(device);
  return target.result != NVML_SUCCESS
             ? target.result
             : Put(static_cast<unsigned>(target.compute().compute_instance_id), id);
}

nvmlReturn_t nvmlDeviceGetAttributes_v2(nvmlDevice_t device, nvmlDeviceAttributes_t* attributes) {
  const NvmlTarget target = Find(device);
  if (target.result != NVML_SUCCESS) {
    return target.result;
  }
  if (!target.is_mig()) {
    return NVML_ERROR_NOT_SUPPORTED;
  }
  const podgpu::sim::GpuInstanceFacts instance = target.instance();
  const podgpu::sim::ComputeInstanceFacts compute = target.compute();
  nvmlDeviceAttributes_t facts{};
  const int slices = std::max(instance.compute_slices, 1);
  facts.multiprocessorCount = static_cast<uint32_t>(instance.sm_count * compute.slices / slices);
  facts.gpuInstanceSliceCount = static_cast<uint32_t>(instance.compute_slices);
  facts.computeInstanceSliceCount = static_cast<uint32_t>(compute.slices);
  facts.memorySizeMB = static_cast<unsigned long long>(instance.memory_total_bytes) / kMib;
  return Put(facts, attributes);
}
nvmlReturn_t nvmlDeviceGetAttributes(nvmlDevice_t device, nvmlDeviceAttributes_t* attributes) {
  return nvmlDeviceGetAttributes_v2(device, attributes);
}

}  // extern "C"
#pragma GCC visibility pop
// NOLINTEND(readability-identifier-naming)
