#include "kube/api_server.h"

#include <algorithm>

namespace podgpu {

bool IsObjectName(std::string_view name) {
  constexpr size_t kLongestName = 253;
  const auto allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.';
  };
  const auto is_end = [](char c) { return c != '-' && c != '.'; };
  return !name.empty() && name.size() <= kLongestName && std::ranges::all_of(name, allowed) &&
         is_end(name.front()) && is_end(name.back());
}

StatusOr<ConfigMapName> ParseConfigMapName(std::string_view text) {
  const size_t colon = text.find(':');
  if (colon == std::string_view::npos || !IsObjectName(text.substr(0, colon)) ||
      !IsObjectName(text.substr(colon + 1))) {
    return absl::InvalidArgumentError("must be NAMESPACE:NAME of a ConfigMap, or none");
  }
  return ConfigMapName{std::string(text.substr(0, colon)), std::string(text.substr(colon + 1))};
}

void TakeCredentials(const std::string& folder, ApiServerOptions& server) {
  if (!folder.empty()) {
    server.token_path = folder + "/token";
    server.certificate_path = folder + "/ca.crt";
  }
}

StatusOr<ApiServerOptions> FindClusterServer(
    const std::function<std::optional<std::string>(const std::string& name)>& environment) {
  ApiServerOptions options;
  options.host = environment("KUBERNETES_SERVICE_HOST").value_or("");
  if (options.host.empty()) {
    return absl::FailedPreconditionError(
        "KUBERNETES_SERVICE_HOST is not set: podgpu does not run in a pod, so it has no API "
        "server");
  }
  for (const char* const name : {"KUBERNETES_SERVICE_PORT_HTTPS", "KUBERNETES_SERVICE_PORT"}) {
    if (const std::optional<std::string> port = environment(name); port && !port->empty()) {
      options.port = *port;
      break;
    }
  }
  return options;
}

StatusOr<ApiServerOptions> FindApiServer(
    const std::function<std::optional<std::string>(const std::string& name)>& environment) {
  PODGPU_ASSIGN_OR_RETURN(ApiServerOptions options, FindClusterServer(environment));
  options.node = environment("NODE_NAME").value_or("");
  if (options.node.empty()) {
    return absl::FailedPreconditionError(
        "NODE_NAME is not set; podgpu never watches the pods of the whole cluster. Set it from "
        "spec.nodeName in the pod's template");
  }
  return options;
}

}  // namespace podgpu
