// PodResources over the kubelet's unix socket: the production side of the seam.
//
// The connection is kept between calls.  One that has ended meanwhile, or whose socket is another
// file now, is made anew within the same List, so that a kubelet that has restarted is met as if it
// were new.  It asks v1 and, where that is not
// implemented (Kubernetes before 1.20), v1alpha1; which one a socket speaks is remembered until the
// socket is another file.  Used by one thread, the kubelet refresher; List blocks for at most
// `timeout`.
#pragma once

#include <memory>

#include "kube/pod_resources.h"

namespace podgpu {

std::unique_ptr<PodResources> MakeKubeletClient(KubeletClientOptions options);

}  // namespace podgpu
