#include "attribution/device_names.h"

#include <algorithm>

namespace podgpu {
namespace {

template <typename Key>
std::optional<EntityId> Look(const std::map<Key, EntityId>& table, const Key& key) {
  const auto found = table.find(key);
  return found == table.end() ? std::nullopt : std::optional(found->second);
}

DeviceNames::Found One(std::optional<EntityId> entity,
                       UnmatchedReason reason = UnmatchedReason::kUnknownDevice) {
  return {entity ? std::vector<EntityId>{*entity} : std::vector<EntityId>(), reason};
}

// Some plugins omit "GPU-".
std::string_view WithoutPrefix(std::string_view uuid) {
  return uuid.starts_with("GPU-") ? uuid.substr(4) : uuid;
}

}  // namespace

DeviceNames::DeviceNames(const Topology& topology) : topology_(topology) {
  for (size_t index = 0; index < topology.entities.size(); ++index) {
    const EntityId entity{static_cast<uint16_t>(index)};
    if (const GpuInstance* instance = topology.InstanceOf(entity)) {
      AddInstance(entity, *instance);
    } else {
      AddGpu(entity);
    }
  }
}

DeviceNames::Found DeviceNames::Find(const DeviceId& id) const {
  switch (id.form) {
    case DeviceIdForm::kUnknown:
      return {{}, UnmatchedReason::kUnknownIdForm};
    case DeviceIdForm::kGpuUuid:
      return One(Look(by_gpu_uuid_, WithoutPrefix(id.uuid)));
    case DeviceIdForm::kMigUuid:
      return One(FindMigUuid(id.uuid), topology_.nvml_absence.empty()
                                           ? UnmatchedReason::kUnknownMigUuid
                                           : UnmatchedReason::kNvmlMissing);
    case DeviceIdForm::kMigParts:
      return One(FindCompute(id));
    case DeviceIdForm::kMinor:
      return One(FindInstance(Look(by_minor_, id.number), id.gpu_instance));
    case DeviceIdForm::kIndex:
      return One(Look(by_gpu_id_, id.number));
    case DeviceIdForm::kEveryGpu:
      return {gpus_, UnmatchedReason::kUnknownDevice};
  }
  return {};
}

bool DeviceNames::HasUuidIn(std::string_view text) const {
  const auto is_in_text = [&](const auto& named) {
    return !named.first.empty() && text.find(named.first) != std::string_view::npos;
  };
  return std::ranges::any_of(by_gpu_uuid_, is_in_text) ||
         std::ranges::any_of(by_mig_uuid_, is_in_text);
}

std::optional<EntityId> DeviceNames::OnlyInstance(std::string_view parent_uuid,
                                                  std::string_view profile) const {
  std::optional<EntityId> found;
  for (size_t index = 0; index < topology_.entities.size(); ++index) {
    const EntityId entity{static_cast<uint16_t>(index)};
    const GpuInstance* instance = topology_.InstanceOf(entity);
    if (instance == nullptr || instance->profile != profile ||
        topology_.gpus[instance->gpu].uuid != parent_uuid) {
      continue;
    }
    // Two instances have this profile, and nothing tells which one is meant: a wrong owner is worse
    // than none.
    if (found) {
      return std::nullopt;
    }
    found = entity;
  }
  return found;
}

void DeviceNames::AddGpu(EntityId entity) {
  const Gpu& gpu = topology_.GpuOf(entity);
  gpus_.push_back(entity);
  by_gpu_uuid_.emplace(WithoutPrefix(gpu.uuid), entity);
  by_minor_.emplace(gpu.minor_number, entity);
  by_gpu_id_.emplace(gpu.gpu_id, entity);
}

void DeviceNames::AddInstance(EntityId entity, const GpuInstance& instance) {
  // A GPU's column comes directly before those of its instances.
  by_instance_.emplace(InstanceKey{gpus_.back().index, instance.gpu_instance_id}, entity);
  for (const ComputeInstance& compute : instance.compute_instances) {
    if (!compute.mig_uuid.empty()) {
      by_mig_uuid_.emplace(compute.mig_uuid, entity);
    }
  }
}

// dcgm-exporter also accepts a MIG UUID without "MIG-" as a device name.
std::optional<EntityId> DeviceNames::FindMigUuid(std::string_view uuid) const {
  const std::optional<EntityId> instance = Look(by_mig_uuid_, uuid);
  return instance ? instance : Look(by_gpu_uuid_, uuid.substr(4));
}

std::optional<EntityId> DeviceNames::FindInstance(std::optional<EntityId> gpu,
                                                  std::optional<uint64_t> gpu_instance) const {
  if (!gpu || !gpu_instance) {
    return gpu;
  }
  return Look(by_instance_, InstanceKey{gpu->index, *gpu_instance});
}

// Returns the instance of `id` if it contains the compute instance of `id`.
std::optional<EntityId> DeviceNames::FindCompute(const DeviceId& id) const {
  const std::optional<EntityId> entity =
      FindInstance(Look(by_gpu_uuid_, WithoutPrefix(id.uuid)), id.gpu_instance);
  const GpuInstance* instance = entity ? topology_.InstanceOf(*entity) : nullptr;
  if (instance == nullptr) {
    return std::nullopt;
  }
  const auto matches = [&](const ComputeInstance& compute) {
    return compute.compute_instance_id == id.compute_instance;
  };
  return std::ranges::any_of(instance->compute_instances, matches) ? entity : std::nullopt;
}

}  // namespace podgpu
