// Joins claims of dynamic resource allocation (DRA) with the devices of the node.
//
// The kubelet lists which container holds which device of a pool, by the driver's device name
// ("gpu-0"); the driver's ResourceSlices map that name to a GPU or MIG device. Only the newest
// generation of a pool counts, so a device that the driver has withdrawn disappears at once. A
// claim for a MIG device belongs to its instance, never to the whole GPU. A MIG device that is
// created on demand has no UUID in the slice; it is matched when exactly one instance of the GPU
// has its profile. Left out are devices for virtual machines ("vfio"), devices of other drivers,
// and the claims of ignored pods. A pure function. Based on NVIDIA's driver gpu.nvidia.com as of
// 2026-08.
#pragma once

#include <span>

#include "attribution/join.h"
#include "attribution/owner.h"
#include "kube/api_object.h"
#include "kube/pod_resources.h"
#include "topology/topology.h"

namespace podgpu {

// Adds the containers of `claimed` to `owners`, or adds them as unmatched. `owners` must fit
// `topology`. `slices` is null until the API server has answered.
void JoinClaims(const Topology& topology, std::span<const ClaimedDevice> claimed,
                const ApiObjects* slices, const IgnoredPods& ignored, Owners& owners);

}  // namespace podgpu
