// API server address and credentials, which Kubernetes gives to every pod.
//
// The address comes from the environment, certificate and token from files. The token is read for
// every request, because the kubelet replaces it before it expires; it is never logged. Plain data.
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
  std::string node;  // Name of this node: only its objects are ever requested.
  // Name of the server in error messages; the kubelet's port uses these options too.
  std::string called = "the API server";
  bool verifies = true;  // False: accept any certificate for any host.
  // The longest time for connecting, and for the head of an answer.
  std::chrono::milliseconds request_patience{30'000};
  // Servers send a bookmark about once a minute; after this silence a watch counts as dead.
  std::chrono::milliseconds watch_patience{180'000};
};

// Names a ConfigMap.
struct ConfigMapName {
  std::string name_space;
  std::string name;
};
// Returns whether `name` is a valid name of an object or namespace. Another text could change the
// path of a request.
bool IsObjectName(std::string_view name);
// Parses "namespace:name", dcgm-exporter's form; kInvalidArgument names the allowed form.
StatusOr<ConfigMapName> ParseConfigMapName(std::string_view text);

// Takes token and certificate from `folder`, unless it is empty.
void TakeCredentials(const std::string& folder, ApiServerOptions& server);

// Reads KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT_HTTPS (or _PORT); kFailedPrecondition
// outside a pod. `node` stays empty.
StatusOr<ApiServerOptions> FindClusterServer(
    const std::function<std::optional<std::string>(const std::string& name)>& environment);

// Like FindClusterServer, and reads NODE_NAME. kFailedPrecondition names the missing variable and
// the remedy: without a node name, every node would watch the whole cluster.
StatusOr<ApiServerOptions> FindApiServer(
    const std::function<std::optional<std::string>(const std::string& name)>& environment);

}  // namespace podgpu
