#include "attribution/join.h"

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <string_view>
#include <tuple>
#include <utility>

#include "attribution/device_id.h"

namespace podgpu {
namespace {

constexpr std::string_view kNvidiaDomain = "nvidia.com/";
constexpr std::string_view kGpuResource = "nvidia.com/gpu";
constexpr std::string_view kMigResourcePrefix = "nvidia.com/mig-";
constexpr std::string_view kSharedSuffix = ".shared";  // Of NVIDIA's plugin with renameByDefault.

// What a resource name promises about its device ids.
enum class ResourceKind : uint8_t {
  kGpu,      // They are GPUs: each is matched or reported.
  kRenamed,  // They may be: only what names a device of this node by UUID counts.
  kOther,
};

ResourceKind Classify(std::string_view resource, const JoinOptions& options) {
  const std::vector<std::string>& extra = options.extra_resource_names;
  if (std::ranges::find(extra, resource) != extra.end()) {
    return ResourceKind::kGpu;
  }
  if (!resource.starts_with(kNvidiaDomain)) {
    return ResourceKind::kOther;
  }
  std::string_view name = resource;
  if (name.ends_with(kSharedSuffix)) {
    name.remove_suffix(kSharedSuffix.size());
  }
  return name == kGpuResource || name.starts_with(kMigResourcePrefix) ? ResourceKind::kGpu
                                                                      : ResourceKind::kRenamed;
}

// Entities by every name that an id may use.  Borrows from the topology.
class Names {
 public:
  explicit Names(const Topology& topology) : topology_(topology) {
    for (size_t index = 0; index < topology.entities.size(); ++index) {
      const EntityId entity{static_cast<uint16_t>(index)};
      if (const GpuInstance* instance = topology.InstanceOf(entity)) {
        AddInstance(entity, *instance);
      } else {
        AddGpu(entity);
      }
    }
  }

  // Where the device of `id` is, or why it is nowhere.
  struct Found {
    std::vector<EntityId> entities;
    UnmatchedReason reason = UnmatchedReason::kUnknownDevice;
  };
  Found Find(const DeviceId& id) const {
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

 private:
  using InstanceKey = std::pair<uint16_t, uint64_t>;  // Column of the GPU, id of the instance.

  template <typename Key>
  static std::optional<EntityId> Look(const std::map<Key, EntityId>& table, const Key& key) {
    const auto found = table.find(key);
    return found == table.end() ? std::nullopt : std::optional(found->second);
  }

  static Found One(std::optional<EntityId> entity,
                   UnmatchedReason reason = UnmatchedReason::kUnknownDevice) {
    return {entity ? std::vector<EntityId>{*entity} : std::vector<EntityId>(), reason};
  }

  // Some plugins leave "GPU-" out.
  static std::string_view WithoutPrefix(std::string_view uuid) {
    return uuid.starts_with("GPU-") ? uuid.substr(4) : uuid;
  }

  void AddGpu(EntityId entity) {
    const Gpu& gpu = topology_.GpuOf(entity);
    gpus_.push_back(entity);
    by_gpu_uuid_.emplace(WithoutPrefix(gpu.uuid), entity);
    by_minor_.emplace(gpu.minor_number, entity);
    by_gpu_id_.emplace(gpu.gpu_id, entity);
  }

  void AddInstance(EntityId entity, const GpuInstance& instance) {
    // A GPU's column stands directly before those of its instances.
    by_instance_.emplace(InstanceKey{gpus_.back().index, instance.gpu_instance_id}, entity);
    for (const ComputeInstance& compute : instance.compute_instances) {
      if (!compute.mig_uuid.empty()) {
        by_mig_uuid_.emplace(compute.mig_uuid, entity);
      }
    }
  }

  // dcgm-exporter also takes the id without "MIG-" as the name of a device.
  std::optional<EntityId> FindMigUuid(std::string_view uuid) const {
    const std::optional<EntityId> instance = Look(by_mig_uuid_, uuid);
    return instance ? instance : Look(by_gpu_uuid_, uuid.substr(4));
  }

  std::optional<EntityId> FindInstance(std::optional<EntityId> gpu,
                                       std::optional<uint64_t> gpu_instance) const {
    if (!gpu || !gpu_instance) {
      return gpu;
    }
    return Look(by_instance_, InstanceKey{gpu->index, *gpu_instance});
  }

  // The instance of `id`, if it has the compute instance, too.
  std::optional<EntityId> FindCompute(const DeviceId& id) const {
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

  const Topology& topology_;
  std::vector<EntityId> gpus_;
  std::map<std::string_view, EntityId> by_gpu_uuid_;  // Without "GPU-".
  std::map<uint64_t, EntityId> by_minor_;
  std::map<uint64_t, EntityId> by_gpu_id_;
  std::map<InstanceKey, EntityId> by_instance_;
  std::map<std::string_view, EntityId> by_mig_uuid_;
};

struct Match {
  Names::Found found;
  DeviceId id;
};

Match FindDevice(const Names& names, std::string_view text) {
  DeviceId id = ParseDeviceId(text);
  Names::Found found = names.Find(id);
  if (!found.entities.empty()) {
    return {std::move(found), id};
  }
  if (const std::optional<DeviceId> share = ParseNumberedShare(text)) {
    Names::Found shared = names.Find(*share);
    if (!shared.entities.empty()) {
      return {std::move(shared), *share};
    }
  }
  return {std::move(found), id};
}

bool NamesAUuid(const DeviceId& id) {
  return id.form == DeviceIdForm::kGpuUuid || id.form == DeviceIdForm::kMigUuid ||
         id.form == DeviceIdForm::kMigParts;
}

// Replicas are numbers as a rule: 2 comes before 10.
auto SortKey(const Owner& owner) {
  return std::tuple<std::string_view, std::string_view, std::string_view, size_t, std::string_view,
                    std::string_view>(owner.pod_namespace, owner.pod, owner.container,
                                      owner.replica.size(), owner.replica, owner.resource);
}

template <typename T, typename Projection>
void SortUnique(std::vector<T>& items, Projection projection) {
  std::ranges::sort(items, {}, projection);
  items.erase(std::unique(items.begin(), items.end()), items.end());
}

}  // namespace

Owners Join(const Topology& topology, std::span<const Allocation> allocations,
            const JoinOptions& options) {
  const Names names(topology);
  Owners owners;
  owners.by_entity.resize(topology.entities.size());
  for (const Allocation& allocation : allocations) {
    const ResourceKind kind = Classify(allocation.resource, options);
    if (kind == ResourceKind::kOther) {
      continue;
    }
    const Match match = FindDevice(names, allocation.device_id);
    if (kind == ResourceKind::kRenamed && !NamesAUuid(match.id)) {
      continue;
    }
    for (const EntityId entity : match.found.entities) {
      owners.by_entity[entity.index].push_back({.pod_namespace = allocation.pod_namespace,
                                                .pod = allocation.pod,
                                                .container = allocation.container,
                                                .resource = allocation.resource,
                                                .pod_uid = {},
                                                .claim = {},
                                                .replica = std::string(match.id.replica),
                                                .labels = {}});
    }
    if (match.found.entities.empty() && kind == ResourceKind::kGpu) {
      owners.unmatched.push_back({.resource = allocation.resource,
                                  .device_id = allocation.device_id,
                                  .reason = match.found.reason});
    }
  }
  for (std::vector<Owner>& of_entity : owners.by_entity) {
    SortUnique(of_entity, &SortKey);
  }
  SortUnique(owners.unmatched, std::identity());
  return owners;
}

}  // namespace podgpu
