// Lists the pods of this node from the kubelet: GET /pods on its HTTPS port.
//
// This needs neither the API server nor the name of the node, only the right to get nodes/pods. The
// answer has whole pods in the API server's form, so the same parser reads them. It contains a
// static pod itself instead of its mirror, with the uid that its cgroup has. There is no watch:
// each call makes a connection and reads one list, which is parsed while it arrives, one pod at a
// time, and is refused above 32 MiB. Every step has a deadline and ends when stop is requested.
// ListKubeletPods blocks and may be called from any thread.
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
  ApiServerOptions server;  // Address and credentials of the kubelet.
  std::string path = "/pods";
};

// Parses "https://10.0.0.7:10250/pods"; port and path are optional. kInvalidArgument names the
// problem.
StatusOr<KubeletPodsOptions> ParseKubeletPodsUrl(std::string_view url);

// Returns the pods that the kubelet lists now. Stores in `round` how long the kubelet asks to wait,
// if it does. Failures such as kPermissionDenied and kUnauthenticated name a remedy if there is
// one.
StatusOr<ApiObjects> ListKubeletPods(const KubeletPodsOptions& options, const Files& files,
                                     const std::stop_token& stop, ApiRound& round);

}  // namespace podgpu
