#include "attribution/join.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <string_view>
#include <tuple>
#include <utility>

#include "attribution/device_id.h"
#include "attribution/device_names.h"

namespace podgpu {
namespace {

constexpr std::string_view kNvidiaDomain = "nvidia.com/";
constexpr std::string_view kGpuResource = "nvidia.com/gpu";
constexpr std::string_view kMigResourcePrefix = "nvidia.com/mig-";
constexpr std::string_view kSharedSuffix =
    ".shared";  // NVIDIA's plugin appends it with renameByDefault.

// The meaning of a resource name for its device ids.
enum class ResourceKind : uint8_t {
  kGpu,      // GPU ids: each one is matched or reported as unmatched.
  kRenamed,  // Perhaps GPU ids: only a UUID of a device of this node counts.
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

struct Match {
  DeviceNames::Found found;
  DeviceId id;
};

// The whole id is tried first: the digits at the end may be the last group of a UUID. Only then may
// they be the number of a share.
Match FindDevice(const DeviceNames& names, std::string_view text) {
  DeviceId id = ParseDeviceId(text);
  DeviceNames::Found found = names.Find(id);
  if (!found.entities.empty()) {
    return {std::move(found), id};
  }
  if (const std::optional<DeviceId> share = ParseNumberedShare(text)) {
    DeviceNames::Found shared = names.Find(*share);
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

// Replicas are usually numbers: the length comes first, so 2 comes before 10.
auto SortKey(const Owner& owner) {
  return std::tuple(std::string_view(owner.pod_namespace), std::string_view(owner.pod),
                    std::string_view(owner.container), owner.replica.size(),
                    std::string_view(owner.replica), std::string_view(owner.resource),
                    std::tie(owner.claim));
}

template <typename T, typename Projection>
void SortUnique(std::vector<T>& items, Projection projection) {
  std::ranges::sort(items, {}, projection);
  items.erase(std::unique(items.begin(), items.end()), items.end());
}

}  // namespace

Owners Join(const Topology& topology, std::span<const Allocation> allocations,
            const JoinOptions& options) {
  const DeviceNames names(topology);
  Owners owners;
  owners.by_entity.resize(topology.entities.size());
  for (const Allocation& allocation : allocations) {
    if (options.ignored.Contain(allocation.pod_namespace, allocation.pod)) {
      continue;
    }
    const ResourceKind kind = Classify(allocation.resource, options);
    const Match match =
        kind == ResourceKind::kOther ? Match() : FindDevice(names, allocation.device_id);
    // Not every nvidia.com resource is a GPU (HAMi's nvidia.com/gpumem is not), and an index
    // matches on every node. So of an unknown resource only a UUID is believed.
    if (kind == ResourceKind::kOther || (kind == ResourceKind::kRenamed && !NamesAUuid(match.id))) {
      if (names.HasUuidIn(allocation.device_id)) {
        owners.unnamed_resources.push_back(allocation.resource);
      }
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
  SortOwners(owners);
  return owners;
}

// The kubelet lists pods and devices in a random order. Sorted owners are equal for equal facts, so
// a change of the order alone makes no new plan of the page.
void SortOwners(Owners& owners) {
  for (std::vector<Owner>& of_entity : owners.by_entity) {
    SortUnique(of_entity, &SortKey);
  }
  SortUnique(owners.unmatched, std::identity());
  SortUnique(owners.unnamed_resources, std::identity());
}

}  // namespace podgpu
