#include <array>
#include <iterator>
#include <optional>
#include <string>

#include "source/decode.h"
#include "source/nvml/ask.h"

namespace podgpu {
namespace {

using abi::nvmlDevice_t;
using abi::nvmlReturn_t;
using abi::NvmlTable;

// Returns whether a virtual GPU holds its licence; like DCGM, 0 when none is needed.
NvmlRaw AskLicense(const NvmlTable& api, nvmlDevice_t device) {
  constexpr int kVirtualGpus = 1;
  abi::nvmlGridLicensableFeatures_t features{};
  const nvmlReturn_t code = Call(api.nvmlDeviceGetGridLicensableFeatures_v4, device, &features);
  const size_t count = features.licensableFeaturesCount;
  if (count > std::size(features.gridLicensableFeatures)) {
    return NvmlRaw::Failure(code == abi::NVML_SUCCESS ? abi::NVML_ERROR_UNKNOWN : code);
  }
  for (size_t i = 0; i < count && features.isGridLicenseSupported != 0; ++i) {
    if (features.gridLicensableFeatures[i].featureCode == kVirtualGpus) {
      return OfUnsigned(code, features.gridLicensableFeatures[i].featureState);
    }
  }
  return NvmlRaw::Number(code, 0);
}

// DCGM numbers the compute modes differently from NVML.
NvmlRaw AskComputeMode(const NvmlTable& api, nvmlDevice_t device) {
  constexpr std::array<int, 4> kOfDcgm = {0, 0, 1, 2};
  NvmlRaw raw = AskState(api.nvmlDeviceGetComputeMode, device);
  if (raw.number >= 0 && raw.number < std::ssize(kOfDcgm)) {
    raw.number = kOfDcgm[static_cast<size_t>(raw.number)];
  }
  return raw;
}

// A board without MIG support counts as "MIG off".
NvmlRaw AskMigMode(const NvmlTable& api, nvmlDevice_t device) {
  uint32_t now = 0;
  uint32_t pending = 0;
  const nvmlReturn_t code = Call(api.nvmlDeviceGetMigMode, device, &now, &pending);
  return code == abi::NVML_ERROR_NOT_SUPPORTED ? NvmlRaw::Number(abi::NVML_SUCCESS, 0)
                                               : OfUnsigned(code, now);
}

NvmlRaw AskPci(const NvmlTable& api, nvmlDevice_t device, NvmlMode mode) {
  abi::nvmlPciInfo_t pci{};
  const nvmlReturn_t code = Call(api.nvmlDeviceGetPciInfo_v3, device, &pci);
  return OfUnsigned(code, mode == NvmlMode::kPciIds ? pci.pciDeviceId : pci.pciSubSystemId);
}

// Major times 65,536 plus minor.
NvmlRaw AskComputeCapability(const NvmlTable& api, nvmlDevice_t device) {
  int major = 0;
  int minor = 0;
  const nvmlReturn_t code = Call(api.nvmlDeviceGetCudaComputeCapability, device, &major, &minor);
  const bool is_sane = major >= 0 && minor >= 0;
  return NvmlRaw::Number(code == abi::NVML_SUCCESS && !is_sane ? abi::NVML_ERROR_UNKNOWN : code,
                         int64_t{major} * 65536 + minor);
}

NvmlRaw AskGpmSupport(const NvmlTable& api, nvmlDevice_t device) {
  abi::nvmlGpmSupport_t support{.version = abi::NVML_GPM_SUPPORT_VERSION, .isSupportedDevice = 0};
  const nvmlReturn_t code = Call(api.nvmlGpmQueryDeviceSupport, device, &support);
  return OfUnsigned(code, support.isSupportedDevice == 0 ? 0 : 1);
}

NvmlRaw AskMode(const NvmlTable& api, const NvmlTarget& device, NvmlMode mode) {
  switch (mode) {
    case NvmlMode::kIndex:
      return NvmlRaw::Number(abi::NVML_SUCCESS, device.index);
    case NvmlMode::kMinorNumber:
      return AskUnsigned(api.nvmlDeviceGetMinorNumber, device.handle);
    case NvmlMode::kPciIds:
    case NvmlMode::kPciSubsystem:
      return AskPci(api, device.handle, mode);
    case NvmlMode::kComputeCapability:
      return AskComputeCapability(api, device.handle);
    case NvmlMode::kCompute:
      return AskComputeMode(api, device.handle);
    case NvmlMode::kPersistence:
      return AskState(api.nvmlDeviceGetPersistenceMode, device.handle);
    case NvmlMode::kMig:
      return AskMigMode(api, device.handle);
    case NvmlMode::kVirtualization:
      return AskState(api.nvmlDeviceGetVirtualizationMode, device.handle);
    case NvmlMode::kGpmSupport:
      return AskGpmSupport(api, device.handle);
  }
  return {};
}

// DCGM's words for NVML's brands.
NvmlRaw AskBrand(const NvmlTable& api, nvmlDevice_t device) {
  constexpr std::array<const char*, 18> kBrands = {
      "Unknown",   "Quadro",      "Tesla",     "NVS",        "Grid",      "GeForce",
      "Titan",     "NvidiaVApps", "NvidiaVPC", "NvidiaVCS",  "NvidiaVWS", "NvidiaCloudGaming",
      "QuadroRTX", "NvidiaRTX",   "Nvidia",    "GeForceRTX", "TitanRTX",  "Unknown"};
  const NvmlRaw raw = AskState(api.nvmlDeviceGetBrand, device);
  const bool is_known = raw.number >= 0 && raw.number < std::ssize(kBrands);
  return {.code = raw.code,
          .kind = NvmlRaw::Kind::kText,
          .text = kBrands[is_known ? static_cast<size_t>(raw.number) : 0]};
}

NvmlRaw OfBuffer(nvmlReturn_t code, const char* buffer, size_t size) {
  if (code != abi::NVML_SUCCESS) {
    return NvmlRaw::Failure(code);
  }
  std::optional<std::string> text = DecodeText(buffer, size);
  return text ? NvmlRaw{.code = code, .kind = NvmlRaw::Kind::kText, .text = *std::move(text)}
              : NvmlRaw::Failure(abi::NVML_ERROR_UNKNOWN);
}

NvmlRaw AskText(const NvmlTable& api, nvmlDevice_t device, NvmlText which) {
  std::array<char, abi::NVML_DEVICE_NAME_V2_BUFFER_SIZE> text{};
  const auto size = static_cast<uint32_t>(text.size());
  const auto of = [&](nvmlReturn_t code) { return OfBuffer(code, text.data(), text.size()); };
  switch (which) {
    case NvmlText::kName:
      return of(Call(api.nvmlDeviceGetName, device, text.data(), size));
    case NvmlText::kBrand:
      return AskBrand(api, device);
    case NvmlText::kSerial:
      return of(Call(api.nvmlDeviceGetSerial, device, text.data(), size));
    case NvmlText::kUuid:
      return of(Call(api.nvmlDeviceGetUUID, device, text.data(), size));
    case NvmlText::kPciBusId: {
      abi::nvmlPciInfo_t pci{};
      const nvmlReturn_t code = Call(api.nvmlDeviceGetPciInfo_v3, device, &pci);
      return OfBuffer(code, pci.busId, sizeof pci.busId);
    }
    case NvmlText::kOemInforom:
    case NvmlText::kEccInforom:
    case NvmlText::kPowerInforom: {
      const int object = static_cast<int>(which) - static_cast<int>(NvmlText::kOemInforom);
      return of(Call(api.nvmlDeviceGetInforomVersion, device, object, text.data(), size));
    }
    case NvmlText::kInforomImage:
      return of(Call(api.nvmlDeviceGetInforomImageVersion, device, text.data(), size));
    case NvmlText::kVbios:
      return of(Call(api.nvmlDeviceGetVbiosVersion, device, text.data(), size));
  }
  return {};
}

NvmlRaw AskSystemText(const NvmlTable& api, int which) {
  std::array<char, abi::NVML_SYSTEM_DRIVER_VERSION_BUFFER_SIZE> text{};
  const auto size = static_cast<uint32_t>(text.size());
  const nvmlReturn_t code =
      Call(which == 0 ? api.nvmlSystemGetDriverVersion : api.nvmlSystemGetNVMLVersion, text.data(),
           size);
  return OfBuffer(code, text.data(), text.size());
}

NvmlRaw AskSystemNumber(const NvmlTable& api, int which) {
  if (which == 0) {
    uint32_t count = 0;
    const nvmlReturn_t code = Call(api.nvmlDeviceGetCount_v2, &count);
    return OfUnsigned(code, count);
  }
  int version = 0;
  const nvmlReturn_t code = Call(api.nvmlSystemGetCudaDriverVersion_v2, &version);
  return OfState(code, version);
}

}  // namespace

NvmlRaw AskNvmlIdentity(const NvmlTable& api, const NvmlTarget& device, const NvmlRecipe& recipe) {
  const int argument = recipe.argument;
  switch (recipe.call) {
    case NvmlCall::kLicense:
      return AskLicense(api, device.handle);
    case NvmlCall::kMode:
      return AskMode(api, device, static_cast<NvmlMode>(argument));
    case NvmlCall::kGpuText:
      return AskText(api, device.handle, static_cast<NvmlText>(argument));
    case NvmlCall::kSystemText:
      return AskSystemText(api, argument);
    case NvmlCall::kSystemNumber:
      return AskSystemNumber(api, argument);
    default:
      return {};
  }
}

}  // namespace podgpu
