// Joins the kubelet's allocations with the devices of the node.
//
// A pure function from facts to owners: no I/O, no clock, no state from earlier calls. It accepts
// all forms of device ids (device_id.h). Every allocation of a GPU resource is either assigned to
// an entity or listed as unmatched with a reason; those of ignored pods are left out. Device
// plugins can rename their nvidia.com resources; an unknown nvidia.com resource counts when its id
// is the UUID of a device of this node, and is left out otherwise.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attribution/ignored_pods.h"
#include "attribution/owner.h"
#include "attribution/pod_labels.h"
#include "kube/pod_resources.h"
#include "topology/topology.h"

namespace podgpu {

struct JoinOptions {
  // Additional GPU resource names besides nvidia.com/gpu, nvidia.com/mig-* and both with ".shared";
  // exact match. Resources of other domains must be listed here, because their plugins may report
  // one device and use another (Volcano, gpushare): an operator who lists them trusts the kubelet's
  // answer where no annotation names the device (scheduler_choices.h).
  std::vector<std::string> extra_resource_names;
  // The pod labels that owners carry; null: none.
  std::shared_ptr<const LabelAllowlist> pod_labels = nullptr;
  bool claims = false;  // Whether claims of dynamic resource allocation count (claims.h).
  IgnoredPods ignored = {};
};

// Equal facts give equal owners; the order of `allocations` does not matter.
Owners Join(const Topology& topology, std::span<const Allocation> allocations,
            const JoinOptions& options);

// Sorts owners and unmatched devices and removes duplicates.
void SortOwners(Owners& owners);

}  // namespace podgpu
