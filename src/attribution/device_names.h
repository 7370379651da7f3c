// Finds the GPUs and MIG instances of a node by any of their names.
//
// Device plugins use UUIDs, minor numbers, indices, and pairs of GPU and instance (device_id.h);
// DRA drivers use UUIDs and profiles. Rebuilt for each join; borrows from the topology, which
// outlives it. One thread.
#pragma once

#include <map>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "attribution/device_id.h"
#include "attribution/owner.h"
#include "topology/topology.h"

namespace podgpu {

class DeviceNames {
 public:
  explicit DeviceNames(const Topology& topology);

  // The entities of an id, or the reason why there are none.
  struct Found {
    std::vector<EntityId> entities;
    UnmatchedReason reason = UnmatchedReason::kUnknownDevice;
  };
  Found Find(const DeviceId& id) const;

  // Returns whether `text` contains the UUID of a GPU or of a MIG device.
  bool HasUuidIn(std::string_view text) const;

  // Returns the only instance of GPU `parent_uuid` with `profile`; nothing when there are none or
  // several.
  std::optional<EntityId> OnlyInstance(std::string_view parent_uuid,
                                       std::string_view profile) const;

 private:
  using InstanceKey = std::pair<uint16_t, uint64_t>;  // Column of the GPU, id of the instance.

  void AddGpu(EntityId entity);
  void AddInstance(EntityId entity, const GpuInstance& instance);
  std::optional<EntityId> FindMigUuid(std::string_view uuid) const;
  std::optional<EntityId> FindInstance(std::optional<EntityId> gpu,
                                       std::optional<uint64_t> gpu_instance) const;
  std::optional<EntityId> FindCompute(const DeviceId& id) const;

  const Topology& topology_;
  std::vector<EntityId> gpus_;
  std::map<std::string_view, EntityId> by_gpu_uuid_;  // Without "GPU-".
  std::map<uint64_t, EntityId> by_minor_;
  std::map<uint64_t, EntityId> by_gpu_id_;
  std::map<InstanceKey, EntityId> by_instance_;
  std::map<std::string_view, EntityId> by_mig_uuid_;
};

}  // namespace podgpu
