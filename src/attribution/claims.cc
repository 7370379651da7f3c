#include "attribution/claims.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "attribution/device_names.h"

namespace podgpu {
namespace {

constexpr std::string_view kGpuDriver = "gpu.nvidia.com";
constexpr std::string_view kGpuType = "gpu";
constexpr std::string_view kMigType = "mig";
constexpr std::string_view kPassedThroughType = "vfio";

// The devices in the newest generation of each pool. Borrows from the slices.
class SliceDevices {
 public:
  explicit SliceDevices(const ApiObjects* slices) {
    if (slices == nullptr) {
      return;
    }
    std::map<std::string_view, int64_t> newest;
    for (const auto& [key, slice] : *slices) {
      if (slice.driver == kGpuDriver) {
        int64_t& generation = newest.emplace(slice.pool, slice.pool_generation).first->second;
        generation = std::max(generation, slice.pool_generation);
      }
    }
    for (const auto& [key, slice] : *slices) {
      if (slice.driver == kGpuDriver && slice.pool_generation == newest[slice.pool]) {
        for (const SliceDevice& device : slice.devices) {
          by_name_.emplace(std::pair<std::string_view, std::string_view>(slice.pool, device.name),
                           &device);
        }
      }
    }
  }

  // Returns null when no slice contains it.
  const SliceDevice* Find(const ClaimedDevice& claimed) const {
    const auto found = by_name_.find({claimed.pool, claimed.device});
    return found == by_name_.end() ? nullptr : found->second;
  }

 private:
  std::map<std::pair<std::string_view, std::string_view>, const SliceDevice*> by_name_;
};

DeviceNames::Found FindMigDevice(const DeviceNames& names, const SliceDevice& device) {
  DeviceNames::Found found;
  if (!device.uuid.empty()) {
    found = names.Find(ParseDeviceId(device.uuid));
  } else {
    found.reason = UnmatchedReason::kUnclearInstance;
  }
  // A UUID that NVML does not know belongs to an instance that is gone; a new instance with the
  // same profile is another device.
  if (found.entities.empty() && found.reason != UnmatchedReason::kUnknownMigUuid) {
    if (const auto only = names.OnlyInstance(device.parent_uuid, device.profile)) {
      found.entities = {*only};
    }
  }
  return found;
}

DeviceNames::Found FindSliceDevice(const DeviceNames& names, const SliceDevice* device) {
  if (device == nullptr) {
    return {{}, UnmatchedReason::kNoResourceSlice};
  }
  if (device->type == kMigType) {
    return FindMigDevice(names, *device);
  }
  if (device->type == kGpuType) {
    return names.Find(ParseDeviceId(device->uuid));
  }
  return {{}, UnmatchedReason::kUnknownDevice};
}

Owner OwnerBy(const ClaimedDevice& claimed, const SliceDevice& device) {
  return {.pod_namespace = claimed.pod_namespace,
          .pod = claimed.pod,
          .container = claimed.container,
          .resource = {},
          .pod_uid = {},
          .claim = {.name = claimed.claim,
                    .name_space = claimed.claim_namespace,
                    .driver = claimed.driver,
                    .pool = claimed.pool,
                    .device = claimed.device,
                    .mig_profile = device.type == kMigType ? device.profile : "",
                    .mig_uuid = device.type == kMigType ? device.uuid : ""},
          .replica = {},
          .labels = {}};
}

}  // namespace

void JoinClaims(const Topology& topology, std::span<const ClaimedDevice> claimed,
                const ApiObjects* slices, const IgnoredPods& ignored, Owners& owners) {
  const DeviceNames names(topology);
  const SliceDevices devices(slices);
  for (const ClaimedDevice& claim : claimed) {
    if (claim.driver != kGpuDriver || ignored.Contain(claim.pod_namespace, claim.pod)) {
      continue;
    }
    const SliceDevice* device = devices.Find(claim);
    if (device != nullptr && device->type == kPassedThroughType) {
      continue;
    }
    const DeviceNames::Found found = FindSliceDevice(names, device);
    for (const EntityId entity : found.entities) {
      owners.by_entity[entity.index].push_back(OwnerBy(claim, *device));
    }
    if (found.entities.empty()) {
      owners.unmatched.push_back({.resource = claim.driver,
                                  .device_id = claim.pool + "/" + claim.device,
                                  .reason = found.reason});
    }
  }
  SortOwners(owners);
}

}  // namespace podgpu
