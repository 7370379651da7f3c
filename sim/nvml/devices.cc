// The simulated NVML: identity of a device, its names, and its MIG devices.
#include <algorithm>
#include <array>
#include <cstdio>
#include <string>
#include <string_view>

#include "abi/nvml.h"
#include "abi/nvml_readings.h"
#include "sim/nvml/call.h"

// NOLINTBEGIN(readability-identifier-naming): the names are the vendor's.
namespace {

using namespace podgpu::abi;  // NOLINT(google-build-using-namespace): they are all about it.
using namespace podgpu::sim;  // NOLINT(google-build-using-namespace): and about its answers.

// A GPU's shared resources are split into at most 7 parts, on every chip that has MIG.
constexpr uint32_t kMaxMigDevices = 7;
constexpr uint32_t kNvidiaVendor = 0x10DE;  // The world does not model the board's own number.
constexpr NvmlScope kAny = NvmlScope::kAny;
constexpr NvmlScope kMigOnly = NvmlScope::kMig;

// nvmlBrandType_t of the brands as DCGM spells them.
struct BrandNumber {
  std::string_view name;
  int number;
};
constexpr auto kBrandNumbers = std::to_array<BrandNumber>({
    {"Quadro", 1},
    {"Tesla", 2},
    {"GeForce", 5},
    {"Titan", 6},
    {"Nvidia", 14},
});

int NumberOfBrand(std::string_view name) {
  const auto* const found = std::ranges::find(kBrandNumbers, name, &BrandNumber::name);
  return found == kBrandNumbers.end() ? 0 : found->number;
}

std::string NameOf(const NvmlTarget& on) {
  std::string text(on.gpu().model);
  if (on.is_mig()) {
    text.append(" MIG ").append(on.compute().profile);
  }
  return text;
}

nvmlPciInfo_t PciInfoOf(const NvmlTarget& on) {
  nvmlPciInfo_t info{};
  const std::string bus_id(on.gpu().pci_bus_id);
  // NOLINTNEXTLINE(cert-err34-c): the world's own text.
  sscanf(bus_id.c_str(), "%8x:%2x:%2x", &info.domain, &info.bus, &info.device);
  info.pciDeviceId = kNvidiaVendor;
  snprintf(info.busId, sizeof info.busId, "%s", bus_id.c_str());
  snprintf(info.busIdLegacy, sizeof info.busIdLegacy, "%04X:%02X:%02X.0", info.domain & 0xffffU,
           info.bus & 0xffU, info.device & 0xffU);
  return info;
}

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

nvmlReturn_t nvmlDeviceGetUUID(nvmlDevice_t device, char* uuid, unsigned length) {
  return AnswerNvmlText({__func__, device, {}, kAny}, uuid, length, [](const NvmlTarget& on) {
    return on.is_mig() ? on.compute().mig_uuid : on.gpu().uuid;
  });
}

nvmlReturn_t nvmlDeviceGetName(nvmlDevice_t device, char* name, unsigned length) {
  return AnswerNvmlText({__func__, device, {}, kAny}, name, length, NameOf);
}

nvmlReturn_t nvmlDeviceGetSerial(nvmlDevice_t device, char* serial, unsigned length) {
  return AnswerNvmlText({__func__, device}, serial, length,
                        [](const NvmlTarget& on) { return on.gpu().serial; });
}

nvmlReturn_t nvmlDeviceGetVbiosVersion(nvmlDevice_t device, char* version, unsigned length) {
  return AnswerNvmlText({__func__, device}, version, length,
                        [](const NvmlTarget& on) { return on.gpu().vbios; });
}

nvmlReturn_t nvmlDeviceGetInforomImageVersion(nvmlDevice_t device, char* version, unsigned length) {
  return AnswerNvmlText({__func__, device}, version, length,
                        [](const NvmlTarget& on) { return on.gpu().inforom_image; });
}

nvmlReturn_t nvmlDeviceGetIndex(nvmlDevice_t device, unsigned* index) {
  return AnswerNvml({__func__, device, {}, kAny}, index, [](const NvmlTarget& on) {
    return NvmlNumber(on.is_mig() ? on.mig_index : static_cast<int64_t>(on.index));
  });
}

nvmlReturn_t nvmlDeviceGetMinorNumber(nvmlDevice_t device, unsigned* minor_number) {
  return AnswerNvml({__func__, device}, minor_number,
                    [](const NvmlTarget& on) { return NvmlNumber(on.gpu().minor_number); });
}

nvmlReturn_t nvmlDeviceGetBrand(nvmlDevice_t device, int* brand) {
  return AnswerNvml({__func__, device, {}, kAny}, brand,
                    [](const NvmlTarget& on) { return NvmlNumber(NumberOfBrand(on.gpu().brand)); });
}

nvmlReturn_t nvmlDeviceGetCudaComputeCapability(nvmlDevice_t device, int* major, int* minor) {
  return AskNvml(
      {__func__, device, {}, kAny},
      [&](const NvmlTarget& on) {
        *major = on.gpu().compute_major;
        *minor = on.gpu().compute_minor;
        return NVML_SUCCESS;
      },
      major, minor);
}

nvmlReturn_t nvmlDeviceGetPciInfo_v3(nvmlDevice_t device, nvmlPciInfo_t* info) {
  return AskNvml(
      {__func__, device, {}, kAny},
      [&](const NvmlTarget& on) {
        *info = PciInfoOf(on);
        return NVML_SUCCESS;
      },
      info);
}

nvmlReturn_t nvmlDeviceGetMigMode(nvmlDevice_t device, unsigned* current, unsigned* pending) {
  return AskNvml(
      {__func__, device},
      [&](const NvmlTarget& on) {
        if (!on.gpu().mig_capable) {
          return NVML_ERROR_NOT_SUPPORTED;
        }
        *current = *pending = InMigMode(on) ? NVML_DEVICE_MIG_ENABLE : NVML_DEVICE_MIG_DISABLE;
        return NVML_SUCCESS;
      },
      current, pending);
}

nvmlReturn_t nvmlDeviceGetMaxMigDeviceCount(nvmlDevice_t device, unsigned* count) {
  return AnswerNvml({__func__, device}, count, [](const NvmlTarget& on) {
    return NvmlNumber(InMigMode(on) ? kMaxMigDevices : 0);
  });
}

nvmlReturn_t nvmlDeviceGetMigDeviceHandleByIndex(nvmlDevice_t device, unsigned index,
                                                 nvmlDevice_t* mig_device) {
  return AskNvml(
      {__func__, device},
      [&](const NvmlTarget& on) -> nvmlReturn_t {
        if (index >= kMaxMigDevices) {
          return NVML_ERROR_INVALID_ARGUMENT;
        }
        const NvmlTarget found = NvmlSession::Get().FindMig(on, static_cast<int>(index));
        if (found.result == NVML_SUCCESS) {
          *mig_device = NvmlSession::Get().Handle(found);
        }
        return found.result;
      },
      mig_device);
}

nvmlReturn_t nvmlDeviceGetDeviceHandleFromMigDeviceHandle(nvmlDevice_t mig_device,
                                                          nvmlDevice_t* device) {
  return AskNvml(
      {__func__, mig_device, {}, kMigOnly},
      [&](const NvmlTarget& on) {
        NvmlTarget parent = on;
        parent.device.instance = parent.device.compute = parent.mig_index = -1;
        *device = NvmlSession::Get().Handle(parent);
        return NVML_SUCCESS;
      },
      device);
}

nvmlReturn_t nvmlDeviceGetGpuInstanceId(nvmlDevice_t device, unsigned* id) {
  return AnswerNvml({__func__, device, {}, kMigOnly}, id,
                    [](const NvmlTarget& on) { return NvmlNumber(on.instance().gpu_instance_id); });
}

nvmlReturn_t nvmlDeviceGetComputeInstanceId(nvmlDevice_t device, unsigned* id) {
  return AnswerNvml({__func__, device, {}, kMigOnly}, id, [](const NvmlTarget& on) {
    return NvmlNumber(on.compute().compute_instance_id);
  });
}

}  // extern "C"
#pragma GCC visibility pop
// NOLINTEND(readability-identifier-naming)
