// Joins the kubelet's allocations with the devices of the node.
//
// A pure function from facts to owners: no I/O, no clock, no memory of the last call.  It knows all
// shapes of device ids (kubernetes facts, section 2; dcgm-exporter 8.2): UUID, MIG UUID in both
// forms, GKE's nvidia<minor>[/gi<n>]
// [/vgpu<n>], replicas behind "::", index and device-node names.  Every allocation of a GPU
// resource either lands on an entity or is listed as unmatched with its reason.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "attribution/owner.h"
#include "kube/pod_resources.h"
#include "topology/topology.h"

namespace podgpu {

struct JoinOptions {
  // Resource names that are GPUs besides nvidia.com/gpu, nvidia.com/mig-* and both with ".shared";
  // exact match.
  std::vector<std::string> extra_resource_names;
};

Owners Join(const Topology& topology, std::span<const Allocation> allocations,
            const JoinOptions& options);

}  // namespace podgpu
