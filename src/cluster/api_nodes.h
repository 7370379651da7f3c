// The nodes that the API server names: the endpoints of a Service, or the pods with some labels.
//
// Both say on which node a podgpu runs, so that one that calls itself otherwise is found out. What
// is not ready, has ended or has no address yet is no node.  Pure functions; any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"
#include "cluster/node_address.h"
#include "kube/api_mirror.h"

namespace podgpu {

// Which of them are meant: --nodes=endpoints:... or pods:...
struct ApiNodesOption {
  ApiCollection collection = ApiCollection::kEndpointSlices;
  std::string name_space;
  std::string selected;  // The name of the Service, or the labels of the pods.
  // A port's name or number; empty: the one called "metrics", else the only one of a Service, else
  // 9400 of a pod.
  std::string port;
  ApiServerOptions server;  // Whom to ask, from the environment of a pod.
  uint32_t seed = 0;        // Of the random part of waits.
};

// What follows "endpoints:", NAMESPACE/SERVICE or NAMESPACE/SERVICE:PORT.
StatusOr<ApiNodesOption> ParseEndpointsOption(std::string_view text);
// What follows "pods:", NAMESPACE/SELECTOR or NAMESPACE/SELECTOR:PORT.
StatusOr<ApiNodesOption> ParsePodsOption(std::string_view text);

// What to ask the API server for.
ApiScope ScopeOf(const ApiNodesOption& option);

// In no order; an address may be there twice while a slice is being replaced.
FoundNodes NodesIn(const ApiNodesOption& option, const ApiObjects& objects);

// Why there are none: "the Service gpu/podgpu has no endpoint that is ready".
std::string NobodyThere(const ApiNodesOption& option);

}  // namespace podgpu
