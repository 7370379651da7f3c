#include "source/nvml/device_scan.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <iterator>
#include <limits>
#include <optional>
#include <tuple>
#include <utility>

#include "absl/strings/str_format.h"

#include "source/decode.h"
#include "source/nvml/error.h"
#include "source/pci_bus.h"

namespace podgpu {
namespace {

using abi::nvmlDevice_t;
using abi::nvmlReturn_t;

constexpr uint32_t kMostDevices = 256;  // A count above it is garbage.
constexpr uint32_t kMostMigDevices = 64;
constexpr uint32_t kNoId = std::numeric_limits<uint32_t>::max();

// Returns the text that `call` writes into a buffer; empty when it fails or is missing.
template <typename Function, typename... Arguments>
std::string TextBy(nvmlReturn_t& code, Function* call, Arguments... arguments) {
  std::array<char, abi::NVML_DEVICE_NAME_V2_BUFFER_SIZE> buffer{};
  code = call == nullptr ? static_cast<nvmlReturn_t>(abi::NVML_ERROR_FUNCTION_NOT_FOUND)
                         : call(arguments..., buffer.data(), static_cast<uint32_t>(buffer.size()));
  return code == abi::NVML_SUCCESS ? DecodeText(buffer.data(), buffer.size()).value_or("") : "";
}

// Returns "1g.10gb" for "NVIDIA H100 80GB HBM3 MIG 1g.10gb", and for "... MIG 1c.1g.10gb".
std::string ProfileIn(const std::string& name) {
  constexpr std::string_view kMark = " MIG ";
  const size_t mark = name.rfind(kMark);
  if (mark == std::string::npos) {
    return "";
  }
  std::string profile = name.substr(mark + kMark.size());
  const size_t compute = profile.find("c.");
  const bool is_of_compute = compute != std::string::npos && compute < profile.find('g');
  return is_of_compute ? profile.substr(compute + 2) : profile;
}

// The parts of a profile name such as "2g.20gb+me".
struct Profile {
  int slices = 0, gigabytes = 0;
  std::string attributes;  // "+me"
};

Profile ParseProfile(const std::string& name) {
  Profile profile;
  if (const size_t point = name.find("g."); point != std::string::npos) {
    const char* const end = name.data() + name.size();
    std::from_chars(name.data(), name.data() + point, profile.slices);
    const auto parsed = std::from_chars(name.data() + point + 2, end, profile.gigabytes);
    const std::string_view rest(parsed.ptr, static_cast<size_t>(end - parsed.ptr));
    profile.attributes = rest.starts_with("gb") ? rest.substr(2) : rest;
  }
  return profile;
}

// The size of one memory slice, estimated from an instance.  Instances with three or seven compute
// slices have one memory slice more.
int MemorySliceGigabytes(const Profile& profile) {
  const int memory_slices = profile.slices == 3 ? 4 : profile.slices == 7 ? 8 : profile.slices;
  return profile.gigabytes / std::max(memory_slices, 1);
}

// The sort key that gives DCGM's order of instances.  DCGM lists a driver's profiles in their
// order: plain ones by size, those with media engines, one slice with the memory of two, then
// others.
auto OrderOf(const std::string& name, int memory_slice_gigabytes) {
  Profile profile = ParseProfile(name);
  int kind = 0;
  if (profile.attributes == "+me") {
    kind = 1;
  } else if (!profile.attributes.empty()) {
    kind = 3;
  } else if (profile.slices == 1 && 2 * profile.gigabytes >= 3 * memory_slice_gigabytes) {
    kind = 2;
  }
  return std::tuple(kind, profile.slices, profile.gigabytes, std::move(profile.attributes));
}

template <typename Instance>
void SortAsDcgm(std::vector<Instance>& instances) {
  int memory_slice_gigabytes = std::numeric_limits<int>::max() / 3;
  for (const Instance& instance : instances) {
    memory_slice_gigabytes =
        std::min(memory_slice_gigabytes, MemorySliceGigabytes(ParseProfile(instance.profile)));
  }
  std::ranges::sort(instances, [&](const Instance& a, const Instance& b) {
    return std::pair(OrderOf(a.profile, memory_slice_gigabytes), a.gpu_instance_id) <
           std::pair(OrderOf(b.profile, memory_slice_gigabytes), b.gpu_instance_id);
  });
}

// Numbers the instances of a GPU as DCGM does: seven numbers per GPU for each kind, in its order.
void NumberAsDcgm(uint32_t gpu_id, std::vector<GpuInstance>& instances) {
  constexpr uint32_t kMostInstances = 7;
  uint32_t next_instance = gpu_id * kMostInstances;
  uint32_t next_compute = next_instance;
  for (GpuInstance& instance : instances) {
    instance.entity_id = next_instance++;
    std::ranges::sort(instance.compute_instances, {}, &ComputeInstance::compute_instance_id);
    for (ComputeInstance& compute : instance.compute_instances) {
      compute.entity_id = next_compute++;
    }
  }
}

DeviceState StateAfter(nvmlReturn_t code) {
  if (code == abi::NVML_SUCCESS) {
    return DeviceState::kOk;
  }
  return code == abi::NVML_ERROR_GPU_IS_LOST || code == abi::NVML_ERROR_GPU_NOT_FOUND
             ? DeviceState::kLost
             : DeviceState::kDegraded;
}

}  // namespace

std::string ReleaseReason(const abi::NvmlTable& api,
                          const std::vector<NvmlScannedDevice>& devices) {
  const auto needy = std::ranges::find_if(
      devices, [](const NvmlScannedDevice& device) { return !device.needs_release.empty(); });
  if (needy == devices.end()) {
    return "";
  }
  const std::string why =
      needy->code == abi::NVML_SUCCESS ? "" : absl::StrFormat(" (%s)", NvmlWords(api, needy->code));
  return absl::StrFormat("GPU %d: %s%s", needy->address.gpu.index, needy->needs_release, why);
}

NvmlDeviceScan::NvmlDeviceScan(std::shared_ptr<const abi::NvmlLibrary> library,
                               bool is_initialised_before, std::vector<NvmlScannedDevice> known,
                               std::vector<uint32_t> left_out, NvmlUnknownSleepers unknown_sleepers)
    : is_initialised(is_initialised_before),
      library_(std::move(library)),
      known_(std::move(known)),
      left_out_(std::move(left_out)),
      unknown_sleepers_(std::move(unknown_sleepers)) {}

void NvmlDeviceScan::Run() {
  if (!is_initialised) {
    failed = "nvmlInit_v2";
    code = library_->api.nvmlInit_v2();
    is_initialised = code == abi::NVML_SUCCESS;
    if (code == abi::NVML_ERROR_GPU_NOT_FOUND) {
      code = abi::NVML_SUCCESS;  // No GPU is a valid answer; the next scan asks again.
      return;
    }
  }
  if (is_initialised) {
    code = List();
  }
}

nvmlReturn_t NvmlDeviceScan::List() {
  nvmlReturn_t text_code = abi::NVML_SUCCESS;
  driver_version = TextBy(text_code, library_->api.nvmlSystemGetDriverVersion);
  uint32_t count = 0;
  failed = "nvmlDeviceGetCount_v2";
  if (const nvmlReturn_t list_code = library_->api.nvmlDeviceGetCount_v2(&count);
      list_code != abi::NVML_SUCCESS) {
    return list_code;
  }
  if (unknown_sleepers_.on_bus == count) {
    asleep = unknown_sleepers_.asleep;
    left_out_.insert(left_out_.end(), asleep.begin(), asleep.end());
  }
  for (uint32_t index = 0; index < std::min(count, kMostDevices); ++index) {
    if (std::ranges::find(left_out_, index) != left_out_.end()) {
      continue;
    }
    if (!GoTo(static_cast<int>(index))) {
      return abi::NVML_ERROR_TIMEOUT;
    }
    NvmlScannedDevice device = ScanDevice(index);
    if (device.code == abi::NVML_ERROR_INVALID_ARGUMENT && device.address.gpu.handle == nullptr &&
        index > 0) {
      break;  // There are fewer devices than counted.
    }
    found.push_back(std::move(device));
    if (DriverIsGone(found.back().code)) {
      failed = "nvmlDeviceGetHandleByIndex_v2";
      return found.back().code;
    }
  }
  GoTo(kNowhere);
  return abi::NVML_SUCCESS;
}

NvmlScannedDevice NvmlDeviceScan::ScanDevice(uint32_t index) const {
  NvmlScannedDevice device;
  device.address.gpu.index = index;
  device.gpu.gpu_id = index;
  device.code = Identify(device);
  const auto known = std::ranges::find_if(known_, [&](const NvmlScannedDevice& before) {
    return before.address.gpu.index == index && !before.gpu.uuid.empty();
  });
  if (device.code != abi::NVML_SUCCESS && device.gpu.uuid.empty() && known != known_.end()) {
    device.gpu = known->gpu;  // It does not answer; assumed to be the previous device.
    device.address = known->address;
  }
  if (device.code == abi::NVML_SUCCESS) {
    device.code = FindInstances(device);
  }
  if (device.code == abi::NVML_ERROR_RESET_REQUIRED) {
    device.needs_release = "it waits for a reset";
  }
  device.gpu.state = StateAfter(device.code);
  device.address.mig_enabled = device.gpu.mig_enabled;
  return device;
}

nvmlReturn_t NvmlDeviceScan::Identify(NvmlScannedDevice& device) const {
  const abi::NvmlTable& api = library_->api;
  nvmlDevice_t handle = nullptr;
  nvmlReturn_t result = api.nvmlDeviceGetHandleByIndex_v2(device.address.gpu.index, &handle);
  if (result != abi::NVML_SUCCESS) {
    return result;
  }
  device.address.gpu.handle = handle;
  device.gpu.uuid = TextBy(result, api.nvmlDeviceGetUUID, handle);
  if (result == abi::NVML_SUCCESS && !device.gpu.uuid.starts_with("GPU-")) {
    device.gpu.uuid.clear();
    result = abi::NVML_ERROR_UNKNOWN;
  }
  if (result == abi::NVML_SUCCESS) {
    device.address.uuid = device.gpu.uuid;
    Describe(handle, device.gpu);
    abi::nvmlGpmSupport_t support{.version = abi::NVML_GPM_SUPPORT_VERSION, .isSupportedDevice = 0};
    device.has_gpm = library_->Has(abi::NvmlCapability::kProfiling) &&
                     api.nvmlGpmQueryDeviceSupport(handle, &support) == abi::NVML_SUCCESS &&
                     support.isSupportedDevice != 0;
  }
  return result;
}

// Values that a call does not return stay empty until the next scan.
void NvmlDeviceScan::Describe(nvmlDevice_t handle, Gpu& gpu) const {
  const abi::NvmlTable& api = library_->api;
  nvmlReturn_t ignored = abi::NVML_SUCCESS;
  gpu.model = TextBy(ignored, api.nvmlDeviceGetName, handle);
  gpu.serial = TextBy(ignored, api.nvmlDeviceGetSerial, handle);
  gpu.vbios_version = TextBy(ignored, api.nvmlDeviceGetVbiosVersion, handle);
  abi::nvmlPciInfo_t pci{};
  if (api.nvmlDeviceGetPciInfo_v3(handle, &pci) == abi::NVML_SUCCESS) {
    gpu.pci_bus_id = DecodeText(pci.busId, sizeof pci.busId).value_or("");
  }
  gpu.minor_known = api.nvmlDeviceGetMinorNumber(handle, &gpu.minor_number) == abi::NVML_SUCCESS;
  if (!gpu.minor_known) {
    gpu.minor_number = gpu.gpu_id;
  }
}

nvmlReturn_t NvmlDeviceScan::FindInstances(NvmlScannedDevice& device) const {
  const abi::NvmlTable& api = library_->api;
  uint32_t now = 0;
  uint32_t pending = 0;
  const nvmlDevice_t gpu = device.address.gpu.handle;
  const nvmlReturn_t mode_code = api.nvmlDeviceGetMigMode == nullptr
                                     ? static_cast<nvmlReturn_t>(abi::NVML_ERROR_NOT_SUPPORTED)
                                     : api.nvmlDeviceGetMigMode(gpu, &now, &pending);
  device.gpu.mig_enabled = mode_code == abi::NVML_SUCCESS && now == abi::NVML_DEVICE_MIG_ENABLE;
  if (mode_code != abi::NVML_SUCCESS && mode_code != abi::NVML_ERROR_NOT_SUPPORTED &&
      mode_code != abi::NVML_ERROR_FUNCTION_NOT_FOUND) {
    return mode_code;
  }
  if (mode_code == abi::NVML_SUCCESS && pending != now) {
    device.needs_release = "a change of its MIG mode waits";
  }
  if (!device.gpu.mig_enabled || !library_->Has(abi::NvmlCapability::kMig)) {
    return abi::NVML_SUCCESS;
  }
  uint32_t count = 0;
  if (const nvmlReturn_t count_code = api.nvmlDeviceGetMaxMigDeviceCount(gpu, &count);
      count_code != abi::NVML_SUCCESS) {
    return count_code;
  }
  for (uint32_t index = 0; index < std::min(count, kMostMigDevices); ++index) {
    nvmlDevice_t handle = nullptr;
    nvmlReturn_t mig_code = api.nvmlDeviceGetMigDeviceHandleByIndex(gpu, index, &handle);
    if (mig_code == abi::NVML_ERROR_NOT_FOUND || mig_code == abi::NVML_ERROR_INVALID_ARGUMENT) {
      continue;  // Indices are sparse.
    }
    if (mig_code == abi::NVML_SUCCESS) {
      mig_code = AddMigDevice(handle, device);
    }
    if (mig_code != abi::NVML_SUCCESS) {
      return mig_code;
    }
  }
  SortAsDcgm(device.instances);
  SortAsDcgm(device.address.instances);
  NumberAsDcgm(device.gpu.gpu_id, device.instances);
  return abi::NVML_SUCCESS;
}

// A MIG device is one compute instance.  The first one of a GPU instance adds the GPU instance.
nvmlReturn_t NvmlDeviceScan::AddMigDevice(nvmlDevice_t handle, NvmlScannedDevice& device) const {
  const abi::NvmlTable& api = library_->api;
  uint32_t gpu_instance_id = 0;
  ComputeInstance compute;
  nvmlReturn_t result = api.nvmlDeviceGetGpuInstanceId(handle, &gpu_instance_id);
  if (result == abi::NVML_SUCCESS) {
    result = api.nvmlDeviceGetComputeInstanceId(handle, &compute.compute_instance_id);
  }
  if (result == abi::NVML_SUCCESS) {
    compute.mig_uuid = TextBy(result, api.nvmlDeviceGetUUID, handle);
  }
  if (std::max(gpu_instance_id, compute.compute_instance_id) == kNoId) {
    result = abi::NVML_ERROR_UNKNOWN;
  }
  if (result != abi::NVML_SUCCESS) {
    return result;
  }
  auto instance =
      std::ranges::find(device.instances, gpu_instance_id, &GpuInstance::gpu_instance_id);
  if (instance == device.instances.end()) {
    nvmlReturn_t name_code = abi::NVML_SUCCESS;
    const std::string profile = ProfileIn(TextBy(name_code, api.nvmlDeviceGetName, handle));
    device.instances.push_back(
        {.gpu_instance_id = gpu_instance_id, .profile = profile, .compute_instances = {}});
    device.address.instances.push_back(
        {.gpu_instance_id = gpu_instance_id, .handle = handle, .profile = profile});
    instance = std::prev(device.instances.end());
  }
  instance->compute_instances.push_back(std::move(compute));
  return abi::NVML_SUCCESS;
}

void NvmlSleep::Note(std::vector<NvmlScannedDevice>& devices) const {
  for (NvmlScannedDevice& device : devices) {
    device.may_sleep =
        sysfs_ != nullptr && MaySleep(*sysfs_, KernelPciAddress(device.gpu.pci_bus_id));
  }
}

bool NvmlSleep::IsAsleep(const NvmlScannedDevice& device) const {
  return device.may_sleep && podgpu::IsAsleep(*sysfs_, KernelPciAddress(device.gpu.pci_bus_id));
}

std::vector<NvmlScannedDevice> NvmlSleep::Sleepers(
    const std::vector<NvmlScannedDevice>& devices) const {
  std::vector<NvmlScannedDevice> sleepers;
  std::ranges::copy_if(devices, std::back_inserter(sleepers),
                       [this](const NvmlScannedDevice& device) { return IsAsleep(device); });
  return sleepers;
}

NvmlUnknownSleepers NvmlSleep::UnknownSleepers(const std::vector<NvmlScannedDevice>& known) const {
  NvmlUnknownSleepers unknown_sleepers;
  if (sysfs_ == nullptr) {
    return unknown_sleepers;
  }
  const std::vector<std::string> on_bus = ListPciGpus(*sysfs_);
  unknown_sleepers.on_bus = on_bus.size();
  for (uint32_t index = 0; index < on_bus.size(); ++index) {
    const bool is_known = std::ranges::any_of(known, [&](const NvmlScannedDevice& device) {
      return KernelPciAddress(device.gpu.pci_bus_id) == on_bus[index];
    });
    if (!is_known && podgpu::IsAsleep(*sysfs_, on_bus[index])) {
      unknown_sleepers.asleep.push_back(index);
    }
  }
  return unknown_sleepers;
}

}  // namespace podgpu
