// PodResources over the kubelet's Unix socket: the production side of the seam.
//
// The connection is kept between calls. If it has ended, or its socket file has been replaced, List
// makes a new one, so a restarted kubelet is not an error. The client calls v1, and v1alpha1 if v1
// is not implemented (Kubernetes before 1.20); it remembers the version until the socket file is
// replaced. Used by one thread, the kubelet refresher; List blocks for at most `timeout`.
#pragma once

#include <memory>

#include "kube/pod_resources.h"

namespace podgpu {

std::unique_ptr<PodResources> MakeKubeletClient(KubeletClientOptions options);

}  // namespace podgpu
