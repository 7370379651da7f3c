// MIG: from the flat list that the driver gives to the instances of a Topology, and the old
// spelling of a MIG device.
//
// A GPU in MIG mode is cut into GPU instances (what is measured), each of which holds one or more
// compute instances (what is handed to a container and has a UUID).  Vendor-neutral: the source
// turns the vendor's structs into MigNodes.  Pure functions; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "topology/topology.h"

namespace podgpu {

// One entry of the vendor's hierarchy, in its order.
struct MigNode {
  bool is_compute_instance = false;
  uint32_t entity_id = 0;
  uint32_t parent_id = 0;  // gpu_id of a GPU instance; entity_id of a compute instance's parent.
  uint32_t gpu_instance_id = 0;
  uint32_t compute_instance_id = 0;  // Of compute instances only.
};

// Replaces `topology.instances` by those of `nodes`, by GPU and then in the order of `nodes`;
// profiles and UUIDs stay empty.  Returns how many nodes have no parent in the topology or repeat
// the id of another one; those are left out.
size_t AddInstances(std::span<const MigNode> nodes, Topology& topology);

// "MIG-GPU-<uuid>/<gi>/<ci>", as drivers before R470 name a MIG device.
struct OldMigName {
  std::string gpu_uuid;  // "GPU-<uuid>"
  uint32_t gpu_instance_id = 0;
  uint32_t compute_instance_id = 0;
  bool operator==(const OldMigName&) const = default;
};

// The parts of an old name, or nothing when `name` is none.
std::optional<OldMigName> ParseOldMigName(std::string_view name);

}  // namespace podgpu
