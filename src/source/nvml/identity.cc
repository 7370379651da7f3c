#include "source/nvml/identity.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "absl/strings/str_format.h"

#include "source/decode.h"

namespace podgpu {
namespace {

using abi::nvmlDevice_t;
using abi::nvmlReturn_t;

// A greater count is garbage.
constexpr uint32_t kMaxMigDevices = 64;

constexpr std::chrono::seconds kMigUuidsHold{10};

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

// The result of one query.
struct Found {
  std::string reason;  // Why something stays unknown; empty when nothing does.
  std::map<std::string, uint32_t> minor_numbers;
  std::vector<GpuInstance> instances;
};

// One query: initialisation, calls, shutdown.  Uses only its own copies, because its thread may be
// written off.
class IdentityQuery {
 public:
  IdentityQuery(abi::NvmlLibrary library, Topology topology)
      : library_(std::move(library)), topology_(std::move(topology)) {}

  Found Run();

 private:
  std::string FillGpu(size_t gpu_index);
  std::string FillMigDevices(size_t gpu_index, nvmlDevice_t gpu);
  std::string Words(nvmlReturn_t code) const;

  const abi::NvmlLibrary library_;
  Topology topology_;
  Found found_;
};

Found IdentityQuery::Run() {
  if (const nvmlReturn_t code = library_.api.nvmlInit_v2(); code != abi::NVML_SUCCESS) {
    found_.reason = absl::StrFormat("%s cannot be initialised (%s)", library_.name, Words(code));
    return std::move(found_);
  }
  for (size_t i = 0; i < topology_.gpus.size(); ++i) {
    const std::string reason = FillGpu(i);
    found_.reason = found_.reason.empty() ? reason : found_.reason;
  }
  library_.api.nvmlShutdown();
  found_.instances = std::move(topology_.instances);
  return std::move(found_);
}

std::string IdentityQuery::FillGpu(size_t gpu_index) {
  const Gpu& gpu = topology_.gpus[gpu_index];
  if (gpu.state == DeviceState::kLost) {
    return "";
  }
  nvmlDevice_t device = nullptr;
  if (const nvmlReturn_t code = library_.api.nvmlDeviceGetHandleByUUID(gpu.uuid.c_str(), &device);
      code != abi::NVML_SUCCESS) {
    return absl::StrFormat("NVML cannot open GPU %d (%s)", gpu.gpu_id, Words(code));
  }
  uint32_t minor_number = 0;
  if (library_.api.nvmlDeviceGetMinorNumber(device, &minor_number) == abi::NVML_SUCCESS) {
    found_.minor_numbers[gpu.uuid] = minor_number;
  }
  const auto is_here = [&](const GpuInstance& instance) { return instance.gpu == gpu_index; };
  if (std::ranges::none_of(topology_.instances, is_here)) {
    return "";
  }
  if (!library_.Has(abi::NvmlCapability::kMig)) {
    return library_.off.front();
  }
  return FillMigDevices(gpu_index, device);
}

std::string IdentityQuery::FillMigDevices(size_t gpu_index, nvmlDevice_t gpu) {
  const abi::NvmlTable& api = library_.api;
  const auto complaint = [&](nvmlReturn_t code) {
    return absl::StrFormat("NVML does not list the MIG devices of GPU %d (%s)",
                           topology_.gpus[gpu_index].gpu_id, Words(code));
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
            FindCompute(topology_, gpu_index, gpu_instance_id, compute_instance_id)) {
      compute->mig_uuid = DecodeText(uuid.data(), uuid.size()).value_or("");
    }
  }
  return "";
}

std::string IdentityQuery::Words(nvmlReturn_t code) const {
  const char* words = library_.api.nvmlErrorString(code);
  return words == nullptr ? absl::StrFormat("NVML %d", code)
                          : absl::StrFormat("NVML %d: %s", code, words);
}

bool SameIds(const ComputeInstance& a, const ComputeInstance& b) {
  return a.compute_instance_id == b.compute_instance_id && a.entity_id == b.entity_id;
}

bool SameLayout(const GpuInstance& a, const GpuInstance& b) {
  return a.gpu == b.gpu && a.gpu_instance_id == b.gpu_instance_id && a.entity_id == b.entity_id &&
         std::ranges::equal(a.compute_instances, b.compute_instances, SameIds);
}

}  // namespace

void NvmlIdentity::Fill(Topology& topology, Instant now) {
  if (IsComplete(topology, now)) {
    RecallMigUuids(topology);
    topology.nvml_absence.clear();
  } else {
    topology.nvml_absence = Ask(topology, now);
  }
  for (Gpu& gpu : topology.gpus) {
    const auto found = minor_numbers_.find(gpu.uuid);
    gpu.minor_known = found != minor_numbers_.end();
    gpu.minor_number = gpu.minor_known ? found->second : gpu.gpu_id;
  }
}

// The UUIDs of MIG devices change when the same layout is created again, and nothing else reports
// that; so they are read again every 10 s.
bool NvmlIdentity::IsComplete(const Topology& topology, Instant now) const {
  const bool has_minors = std::ranges::all_of(topology.gpus, [&](const Gpu& gpu) {
    return gpu.state == DeviceState::kLost || minor_numbers_.contains(gpu.uuid);
  });
  return has_minors && (topology.instances.empty() ||
                        (told_at_ && now - *told_at_ < kMigUuidsHold &&
                         std::ranges::equal(topology.instances, instances_, SameLayout)));
}

std::string NvmlIdentity::Ask(Topology& topology, Instant now) {
  if (!is_loaded_) {
    StatusOr<abi::NvmlLibrary> loaded = load_();
    if (!loaded.ok()) {
      return std::string(loaded.status().message());
    }
    library_ = *std::move(loaded);
    is_loaded_ = true;
  }
  std::optional<Found> found = queries_.Run<Found>(
      [library = library_, topology] { return IdentityQuery(library, topology).Run(); },
      [](Found&) {});
  if (!found) {
    RecallMigUuids(topology);
    return absl::StrFormat(
        "%s has not returned from a call; MIG UUIDs keep their last values until it does",
        library_.name);
  }
  found->minor_numbers.merge(minor_numbers_);  // New numbers replace the known ones.
  minor_numbers_ = std::move(found->minor_numbers);
  if (found->instances.empty()) {
    RecallMigUuids(topology);
  } else {
    topology.instances = std::move(found->instances);
    instances_ = topology.instances;
    told_at_ = found->reason.empty() ? std::optional(now) : std::nullopt;
  }
  return std::move(found->reason);
}

void NvmlIdentity::RecallMigUuids(Topology& topology) const {
  if (std::ranges::equal(topology.instances, instances_, SameLayout)) {
    for (size_t i = 0; i < instances_.size(); ++i) {
      topology.instances[i].compute_instances = instances_[i].compute_instances;
    }
  }
}

}  // namespace podgpu
