// Joins claims of dynamic resource allocation (DRA) with the devices of the node.
//
// The kubelet says which container was given which device of a pool, under the driver's own name
// ("gpu-0"); the driver's ResourceSlices say which GPU or MIG device that name means.  Of a pool
// only the newest generation counts, so that a device that the driver has withdrawn is gone at
// once.  A MIG device belongs to its instance, never to the whole GPU around it; one that is made
// on demand has no UUID in the slice, and is found where exactly one instance of the GPU has its
// profile.  Devices handed to virtual machines ("vfio"), those of other drivers, and what the pod
// of this program holds to look at the devices (adminAccess, which the kubelet does not tell) are
// passed over. A pure function.  Facts: NVIDIA's driver gpu.nvidia.com as of 2026-08.
#pragma once

#include <span>

#include "attribution/join.h"
#include "attribution/owner.h"
#include "kube/api_object.h"
#include "kube/pod_resources.h"
#include "topology/topology.h"

namespace podgpu {

// Adds to `owners`, which fit `topology`, the containers of `claimed`, or what of it is unmatched.
// `slices`: null while the API server has not answered.
void JoinClaims(const Topology& topology, std::span<const ClaimedDevice> claimed,
                const ApiObjects* slices, const OwnPod& own_pod, Owners& owners);

}  // namespace podgpu
