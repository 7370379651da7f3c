// Joins the kubelet's allocations with the devices of the node.
//
// A pure function from facts to owners: no I/O, no clock, no memory of the last call.  It knows all
// shapes of device ids (device_id.h).  Every allocation of a GPU resource either lands on an entity
// or is listed as unmatched with its reason.  A resource of the nvidia.com domain that is not known
// by name (device plugins can be told to rename theirs) counts when its id is the UUID of a device
// of this node, and is passed over otherwise.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attribution/owner.h"
#include "attribution/pod_labels.h"
#include "kube/pod_resources.h"
#include "topology/topology.h"

namespace podgpu {

struct JoinOptions {
  // Resource names that are GPUs besides nvidia.com/gpu, nvidia.com/mig-* and both with ".shared";
  // exact match.  Needed for the resources of other domains, whose plugins may name one device and
  // use another (HAMi, gpushare): whoever configures them takes the kubelet's word.
  std::vector<std::string> extra_resource_names;
  // Which labels of pods their owners carry; null: none.
  std::shared_ptr<const LabelAllowlist> pod_labels = nullptr;
  bool claims = false;  // Whether claims of dynamic resource allocation count (claims.h).
  OwnPod own_pod = {};  // Whose claims do not.
};

// Equal facts give equal owners, whatever the order of `allocations`.
Owners Join(const Topology& topology, std::span<const Allocation> allocations,
            const JoinOptions& options);

// Puts owners and what is unmatched into the order that equal facts have, each of them once.
void SortOwners(Owners& owners);

}  // namespace podgpu
