// Finds nodes through the API server: the endpoints of a Service, or the pods with given labels.
//
// Both tell the node that each podgpu runs on, so a podgpu that reports another node name is
// detected.  Endpoints that are not ready, and pods that have ended or have no address yet, are
// left out.  Pure functions; any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"
#include "cluster/node_address.h"
#include "kube/api_mirror.h"

namespace podgpu {

// The option --nodes=endpoints:... or pods:...
struct ApiNodesOption {
  ApiCollection collection = ApiCollection::kEndpointSlices;
  std::string name_space;
  std::string selected;  // The name of the Service, or the labels of the pods.
  // Name or number of a port; empty: the port named "metrics", else the only port of a Service,
  // else 9400 of a pod.
  std::string port;
  ApiServerOptions server;  // The API server, from the environment of the pod.
  uint32_t seed = 0;        // Seed for the random part of waits.
};

// Parses the text after "endpoints:": NAMESPACE/SERVICE or NAMESPACE/SERVICE:PORT.
StatusOr<ApiNodesOption> ParseEndpointsOption(std::string_view text);
// Parses the text after "pods:": NAMESPACE/SELECTOR or NAMESPACE/SELECTOR:PORT.
StatusOr<ApiNodesOption> ParsePodsOption(std::string_view text);

// The objects to request from the API server.
ApiScope ScopeOf(const ApiNodesOption& option);

// Unordered; an address may occur twice while a slice is being replaced.
FoundNodes NodesIn(const ApiNodesOption& option, const ApiObjects& objects);

// Says why there are no nodes: "the Service gpu/podgpu has no ready endpoint".
std::string WhyNoNodes(const ApiNodesOption& option);

}  // namespace podgpu
