#include "source/testing/fake_nvml_table.h"

#include <algorithm>
#include <cstring>

#include "base/status.h"

namespace podgpu {

using namespace abi;  // NOLINT(google-build-using-namespace): this file speaks the vendor's names.

namespace {

// The one fake that the context-free functions speak for.
FakeNvml*& CurrentNvml() {
  // C functions have no context.
  // NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables)
  static FakeNvml* current = nullptr;
  return current;
}

// A handle is the address of what it stands for; the first member of either tells them apart.
FakeNvmlGpu* AsGpu(nvmlDevice_t device) {
  for (FakeNvmlGpu& gpu : CurrentNvml()->gpus) {
    if (reinterpret_cast<nvmlDevice_t>(&gpu) == device) {
      return &gpu;
    }
  }
  return nullptr;
}

FakeMigDevice* AsMig(nvmlDevice_t device) {
  for (FakeNvmlGpu& gpu : CurrentNvml()->gpus) {
    for (FakeMigDevice& mig : gpu.mig_devices) {
      if (reinterpret_cast<nvmlDevice_t>(&mig) == device) {
        return &mig;
      }
    }
  }
  return nullptr;
}

// The code that `symbol` shall answer before doing anything.
nvmlReturn_t Enter(const std::string& symbol) {
  if (CurrentNvml()->initialised == 0 && symbol != "nvmlInit_v2") {
    return NVML_ERROR_UNINITIALIZED;
  }
  const auto found = CurrentNvml()->failing.find(symbol);
  return found == CurrentNvml()->failing.end() ? static_cast<nvmlReturn_t>(NVML_SUCCESS)
                                               : found->second;
}

template <typename Body>
nvmlReturn_t Call(const char* symbol, Body body) {
  const nvmlReturn_t code = Enter(symbol);
  return code == NVML_SUCCESS ? static_cast<nvmlReturn_t>(body()) : code;
}

nvmlReturn_t Init() {
  if (CurrentNvml()->before_init) {
    CurrentNvml()->before_init();
  }
  const nvmlReturn_t code = Enter("nvmlInit_v2");
  CurrentNvml()->initialisations += 1;
  CurrentNvml()->initialised += code == NVML_SUCCESS ? 1 : 0;
  return code;
}

nvmlReturn_t Shutdown() {
  CurrentNvml()->initialised -= 1;
  return NVML_SUCCESS;
}

const char* ErrorString(nvmlReturn_t code) { return code == 4 ? "No Permission" : nullptr; }

nvmlReturn_t HandleByUuid(const char* uuid, nvmlDevice_t* device) {
  return Call("nvmlDeviceGetHandleByUUID", [&]() -> nvmlReturn_t {
    const auto found = std::ranges::find(CurrentNvml()->gpus, uuid, &FakeNvmlGpu::uuid);
    if (found == CurrentNvml()->gpus.end()) {
      return NVML_ERROR_NOT_FOUND;
    }
    *device = reinterpret_cast<nvmlDevice_t>(&*found);
    return NVML_SUCCESS;
  });
}

nvmlReturn_t Uuid(nvmlDevice_t device, char* uuid, uint32_t length) {
  return Call("nvmlDeviceGetUUID", [&]() -> nvmlReturn_t {
    const FakeMigDevice* mig = AsMig(device);
    const std::string& text = mig == nullptr ? AsGpu(device)->uuid : mig->uuid;
    if (text.size() + 1 > length) {
      return NVML_ERROR_INSUFFICIENT_SIZE;
    }
    std::memcpy(uuid, text.c_str(), text.size() + 1);
    return NVML_SUCCESS;
  });
}

nvmlReturn_t MinorNumber(nvmlDevice_t device, uint32_t* minor_number) {
  return Call("nvmlDeviceGetMinorNumber", [&] {
    *minor_number = AsGpu(device)->minor_number;
    return NVML_SUCCESS;
  });
}

nvmlReturn_t MaxMigDeviceCount(nvmlDevice_t device, uint32_t* count) {
  return Call("nvmlDeviceGetMaxMigDeviceCount", [&] {
    *count = static_cast<uint32_t>(AsGpu(device)->mig_devices.size());
    return NVML_SUCCESS;
  });
}

nvmlReturn_t MigDevice(nvmlDevice_t device, uint32_t index, nvmlDevice_t* mig_device) {
  return Call("nvmlDeviceGetMigDeviceHandleByIndex", [&]() -> nvmlReturn_t {
    FakeMigDevice& mig = AsGpu(device)->mig_devices[index];
    if (!mig.is_there) {
      return NVML_ERROR_NOT_FOUND;
    }
    *mig_device = reinterpret_cast<nvmlDevice_t>(&mig);
    return NVML_SUCCESS;
  });
}

nvmlReturn_t GpuInstanceId(nvmlDevice_t device, uint32_t* id) {
  return Call("nvmlDeviceGetGpuInstanceId", [&] {
    *id = AsMig(device)->gpu_instance_id;
    return NVML_SUCCESS;
  });
}

nvmlReturn_t ComputeInstanceId(nvmlDevice_t device, uint32_t* id) {
  return Call("nvmlDeviceGetComputeInstanceId", [&] {
    *id = AsMig(device)->compute_instance_id;
    return NVML_SUCCESS;
  });
}

}  // namespace

FakeNvml::FakeNvml() {
  PODGPU_CHECK(CurrentNvml() == nullptr);
  CurrentNvml() = this;
}

FakeNvml::~FakeNvml() { CurrentNvml() = nullptr; }

NvmlLibrary FakeNvml::Library() const {
  NvmlLibrary library;
  library.name = "libnvidia-ml.so.1";
  library.has = {true, has_mig};
  if (!has_mig) {
    library.off = {"MIG UUIDs: off, libnvidia-ml.so.1 lacks nvmlDeviceGetGpuInstanceId"};
  }
  library.api = {.nvmlInit_v2 = Init,
                 .nvmlShutdown = Shutdown,
                 .nvmlErrorString = ErrorString,
                 .nvmlDeviceGetHandleByUUID = HandleByUuid,
                 .nvmlDeviceGetUUID = Uuid,
                 .nvmlDeviceGetMinorNumber = MinorNumber,
                 .nvmlDeviceGetMaxMigDeviceCount = MaxMigDeviceCount,
                 .nvmlDeviceGetMigDeviceHandleByIndex = MigDevice,
                 .nvmlDeviceGetGpuInstanceId = GpuInstanceId,
                 .nvmlDeviceGetComputeInstanceId = ComputeInstanceId};
  return library;
}

}  // namespace podgpu
