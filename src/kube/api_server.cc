#include "kube/api_server.h"

namespace podgpu {

StatusOr<ApiServerOptions> FindApiServer(
    const std::function<std::optional<std::string>(const std::string& name)>& environment) {
  ApiServerOptions options;
  options.host = environment("KUBERNETES_SERVICE_HOST").value_or("");
  options.node = environment("NODE_NAME").value_or("");
  if (options.host.empty()) {
    return absl::FailedPreconditionError(
        "KUBERNETES_SERVICE_HOST is not set: this is no pod of a cluster, so there is no API "
        "server to ask");
  }
  if (options.node.empty()) {
    return absl::FailedPreconditionError(
        "NODE_NAME is not set, and the pods of the whole cluster are never watched. Set it from "
        "spec.nodeName in the pod's template");
  }
  for (const char* const name : {"KUBERNETES_SERVICE_PORT_HTTPS", "KUBERNETES_SERVICE_PORT"}) {
    if (const std::optional<std::string> port = environment(name); port && !port->empty()) {
      options.port = *port;
      break;
    }
  }
  return options;
}

}  // namespace podgpu
