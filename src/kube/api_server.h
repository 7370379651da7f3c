// Where the API server is and how a pod proves who it is: what Kubernetes puts into every pod.
//
// Address by environment, certificate and token by files.  The token is read for every request,
// since the kubelet replaces it before its hour is over; it never reaches a log.  Plain data.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"

namespace podgpu {

struct ApiServerOptions {
  std::string host;  // An address or a name, without brackets.
  std::string port = "443";
  std::string token_path = "/var/run/secrets/kubernetes.io/serviceaccount/token";
  std::string certificate_path = "/var/run/secrets/kubernetes.io/serviceaccount/ca.crt";
  std::string node;  // The name of this node: only its objects are ever asked for.
  // Who it is, in sentences about failures: the kubelet is reached in the same way.
  std::string called = "the API server";
  bool verifies = true;  // Else any certificate is taken, for any host.
  // Servers send a bookmark about each minute; a watch that is silent for so long is dead.
  std::chrono::milliseconds watch_patience{180'000};
};

// Which ConfigMap is meant.
struct ConfigMapName {
  std::string name_space;
  std::string name;
};
// Whether this may be the name of an object or a namespace; anything else would be a path of its
// own.
bool IsObjectName(std::string_view name);
// "namespace:name", as dcgm-exporter writes it; kInvalidArgument says what is allowed.
StatusOr<ConfigMapName> ParseConfigMapName(std::string_view text);

// Takes token and certificate from `folder` instead, unless it is empty.
void TakeCredentials(const std::string& folder, ApiServerOptions& server);

// From KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT_HTTPS (or _PORT); kFailedPrecondition
// where this is no pod of a cluster.  `node` stays empty.
StatusOr<ApiServerOptions> FindClusterServer(
    const std::function<std::optional<std::string>(const std::string& name)>& environment);

// The same with NODE_NAME.  kFailedPrecondition names the one that is missing, and the remedy:
// without a node's name every node would watch the whole cluster.
StatusOr<ApiServerOptions> FindApiServer(
    const std::function<std::optional<std::string>(const std::string& name)>& environment);

}  // namespace podgpu
