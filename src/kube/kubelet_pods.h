// Lists the pods of this node by the kubelet's own word: GET /pods on its HTTPS port.
//
// This needs neither the API server nor the name of the node, but the right to get nodes/pods.  The
// answer has whole pods, as the API server has them, so that the same parser reads it; of a static
// pod it has the pod itself and not its mirror: the uid is the one in the cgroup.  There is no
// watch: each question is a connection of its own and one list, which is parsed while it comes, one
// pod at a time, and is refused above 32 MiB.  Every step has a deadline and ends when stop is
// requested.  ListKubeletPods blocks and may be called from any thread.
#pragma once

#include <stop_token>
#include <string>
#include <string_view>

#include "base/files.h"
#include "base/status.h"
#include "kube/api_mirror.h"
#include "kube/api_object.h"
#include "kube/api_server.h"

namespace podgpu {

struct KubeletPodsOptions {
  ApiServerOptions server;  // The kubelet.
  std::string path = "/pods";
};

// Of "https://10.0.0.7:10250/pods"; port and path may be left out.  kInvalidArgument says what is
// wrong.
StatusOr<KubeletPodsOptions> ParseKubeletPodsUrl(std::string_view url);

// What the kubelet lists now.  `round` takes how long it wants to be left alone, if it says so.
// kPermissionDenied, kUnauthenticated and every other failure name the remedy where there is one.
StatusOr<ApiObjects> ListKubeletPods(const KubeletPodsOptions& options, const Files& files,
                                     const std::stop_token& stop, ApiRound& round);

}  // namespace podgpu
