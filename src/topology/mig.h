// MIG: turns the driver's flat list into the instances of a Topology, and parses the old names of
// MIG devices.
//
// A GPU in MIG mode is divided into GPU instances, which are measured. Each holds one or more
// compute instances, which containers get and which have UUIDs. Vendor-neutral: the source converts
// the vendor's structs to MigNodes. Pure functions; any thread.
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
  uint32_t parent_id = 0;  // The gpu_id of the GPU, or the entity_id of the GPU instance.
  uint32_t gpu_instance_id = 0;
  uint32_t compute_instance_id = 0;  // For compute instances only.
};

// Replaces `topology.instances` with those of `nodes`, by GPU and then in the order of `nodes`;
// profiles and UUIDs are empty. Leaves out nodes that have no parent in the topology or repeat an
// id, and returns their number.
size_t AddInstances(std::span<const MigNode> nodes, Topology& topology);

// "MIG-GPU-<uuid>/<gi>/<ci>": the name of a MIG device in drivers before R470.
struct OldMigName {
  std::string gpu_uuid;  // "GPU-<uuid>"
  uint32_t gpu_instance_id = 0;
  uint32_t compute_instance_id = 0;
  bool operator==(const OldMigName&) const = default;
};

// Returns the parts of an old name, or nothing for another form.
std::optional<OldMigName> ParseOldMigName(std::string_view name);

}  // namespace podgpu
