#include "source/nvml_identity.h"

#include <algorithm>
#include <array>

#include "absl/strings/str_format.h"

#include "source/decode.h"

namespace podgpu {
namespace {

using abi::nvmlDevice_t;
using abi::nvmlReturn_t;

// More than any GPU has; a count above it is garbage.
constexpr uint32_t kMaxMigDevices = 64;

// The compute instance of `topology` with NVML's ids, or null.
ComputeInstance* FindCompute(Topology& topology, size_t gpu_index, uint32_t gpu_instance_id,
                             uint32_t compute_instance_id) {
  for (GpuInstance& instance : topology.instances) {
    if (instance.gpu != gpu_index || instance.gpu_instance_id != gpu_instance_id) {
      continue;
    }
    const auto found = std::ranges::find(instance.compute_instances, compute_instance_id,
                                         &ComputeInstance::compute_instance_id);
    return found == instance.compute_instances.end() ? nullptr : &*found;
  }
  return nullptr;
}

}  // namespace

std::string NvmlIdentity::Words(nvmlReturn_t code) const {
  const char* words = library_.api.nvmlErrorString(code);
  return words == nullptr ? absl::StrFormat("NVML %d", code)
                          : absl::StrFormat("NVML %d: %s", code, words);
}

void NvmlIdentity::Fill(Topology& topology) {
  topology.nvml_absence = FillAll(topology);
  for (Gpu& gpu : topology.gpus) {
    const auto found = minor_numbers_.find(gpu.uuid);
    gpu.minor_known = found != minor_numbers_.end();
    gpu.minor_number = gpu.minor_known ? found->second : gpu.gpu_id;
  }
}

std::string NvmlIdentity::FillAll(Topology& topology) {
  if (!is_loaded_) {
    StatusOr<abi::NvmlLibrary> loaded = load_();
    if (!loaded.ok()) {
      return std::string(loaded.status().message());
    }
    library_ = *std::move(loaded);
    is_loaded_ = true;
  }
  if (const nvmlReturn_t code = library_.api.nvmlInit_v2(); code != abi::NVML_SUCCESS) {
    return absl::StrFormat("%s does not initialise (%s)", library_.name, Words(code));
  }
  std::string first_reason;
  for (size_t i = 0; i < topology.gpus.size(); ++i) {
    const std::string reason = FillGpu(topology, i);
    first_reason = first_reason.empty() ? reason : first_reason;
  }
  library_.api.nvmlShutdown();
  return first_reason;
}

std::string NvmlIdentity::FillGpu(Topology& topology, size_t gpu_index) {
  const Gpu& gpu = topology.gpus[gpu_index];
  if (gpu.state == DeviceState::kLost) {
    return "";
  }
  nvmlDevice_t device = nullptr;
  if (const nvmlReturn_t code = library_.api.nvmlDeviceGetHandleByUUID(gpu.uuid.c_str(), &device);
      code != abi::NVML_SUCCESS) {
    return absl::StrFormat("NVML does not open GPU %d (%s)", gpu.gpu_id, Words(code));
  }
  uint32_t minor_number = 0;
  if (library_.api.nvmlDeviceGetMinorNumber(device, &minor_number) == abi::NVML_SUCCESS) {
    minor_numbers_[gpu.uuid] = minor_number;
  }
  const auto is_here = [&](const GpuInstance& instance) { return instance.gpu == gpu_index; };
  if (std::ranges::none_of(topology.instances, is_here)) {
    return "";
  }
  if (!library_.Has(abi::NvmlCapability::kMig)) {
    return library_.off.front();
  }
  return FillMigDevices(topology, gpu_index, device);
}

std::string NvmlIdentity::FillMigDevices(Topology& topology, size_t gpu_index,
                                         nvmlDevice_t gpu) const {
  const abi::NvmlTable& api = library_.api;
  const auto complaint = [&](nvmlReturn_t code) {
    return absl::StrFormat("NVML does not list the MIG devices of GPU %d (%s)",
                           topology.gpus[gpu_index].gpu_id, Words(code));
  };
  uint32_t count = 0;
  if (const nvmlReturn_t code = api.nvmlDeviceGetMaxMigDeviceCount(gpu, &count);
      code != abi::NVML_SUCCESS) {
    return complaint(code);
  }
  for (uint32_t index = 0; index < std::min(count, kMaxMigDevices); ++index) {
    nvmlDevice_t device = nullptr;
    nvmlReturn_t code = api.nvmlDeviceGetMigDeviceHandleByIndex(gpu, index, &device);
    if (code == abi::NVML_ERROR_NOT_FOUND || code == abi::NVML_ERROR_INVALID_ARGUMENT) {
      continue;  // Indices are sparse.
    }
    uint32_t gpu_instance_id = 0;
    uint32_t compute_instance_id = 0;
    std::array<char, abi::NVML_DEVICE_UUID_V2_BUFFER_SIZE> uuid{};
    const auto then = [&](auto&& call) { code = code == abi::NVML_SUCCESS ? call() : code; };
    then([&] { return api.nvmlDeviceGetGpuInstanceId(device, &gpu_instance_id); });
    then([&] { return api.nvmlDeviceGetComputeInstanceId(device, &compute_instance_id); });
    then([&] { return api.nvmlDeviceGetUUID(device, uuid.data(), uuid.size()); });
    if (code != abi::NVML_SUCCESS) {
      return complaint(code);
    }
    if (ComputeInstance* compute =
            FindCompute(topology, gpu_index, gpu_instance_id, compute_instance_id)) {
      compute->mig_uuid = DecodeText(uuid.data(), uuid.size()).value_or("");
    }
  }
  return "";
}

}  // namespace podgpu
