#include "kube/kubelet_pods.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/str_format.h"

#include "base/text.h"
#include "kube/api_connection.h"
#include "kube/api_refusal.h"
#include "kube/list_stream.h"

namespace podgpu {
namespace {

constexpr size_t kMaxPodListBytes = size_t{32} << 20;  // 1,000 pods of 32 KiB.
constexpr size_t kMaxPodBytes = size_t{4} << 20;       // An object has at most 1.5 MiB.
constexpr size_t kMaxRefusalBytes = 65'536;
constexpr std::chrono::milliseconds kPodListPatience{30'000};

Status NoPodsUrl(std::string_view why) {
  return absl::InvalidArgumentError(
      absl::StrFormat("must be an address such as https://10.0.0.7:10250/pods: %s", why));
}

// Returns the remedy for this status of the kubelet.
std::string RemedyOf(int code) {
  switch (code) {
    case 401:
      return ". The kubelet does not accept the token of this service account. Set "
             "authentication.webhook.enabled in its configuration";
    case 403:
      return ". Grant get of nodes/pods by a ClusterRole (Kubernetes 1.33 and newer)";
    default:
      return "";
  }
}

Status RefusedByKubelet(ApiConnection& connection, const ApiHead& head, const std::string& path) {
  const StatusOr<std::string> body = connection.ReadAll(kMaxRefusalBytes, kPodListPatience);
  const std::string words = body.ok() ? ParseApiFailure(*body).message : std::string();
  return StatusOfAnswer(
      head.status,
      absl::StrFormat("the kubelet answers %d to GET %s%s%s%s", head.status, path,
                      words.empty() ? "" : ": ",
                      words.empty() ? std::string() : QuotedRefusal(words), RemedyOf(head.status)));
}

// Takes the pods that have arrived completely.
Status TakePods(ListStream& stream, ApiObjects& pods) {
  while (true) {
    PODGPU_ASSIGN_OR_RETURN(const std::optional<std::string_view> text, stream.Next());
    if (!text) {
      return absl::OkStatus();
    }
    PODGPU_ASSIGN_OR_RETURN(ApiObject pod, ParseApiItem(*text));
    std::string key = pod.name_space + "/" + pod.name;
    pods.insert_or_assign(std::move(key), std::move(pod));
  }
}

StatusOr<ApiObjects> ReadPods(ApiConnection& connection) {
  ApiObjects pods;
  ListStream stream(kMaxPodBytes);
  for (size_t received = 0; received <= kMaxPodListBytes;) {
    PODGPU_ASSIGN_OR_RETURN(const std::string_view bytes, connection.Read(kPodListPatience));
    if (bytes.empty()) {
      PODGPU_ASSIGN_OR_RETURN(const std::string_view surrounding, stream.Surrounding());
      PODGPU_RETURN_IF_ERROR(ParseApiListHead(surrounding).status());
      return pods;
    }
    received += bytes.size();
    stream.Append(bytes);
    PODGPU_RETURN_IF_ERROR(TakePods(stream, pods));
  }
  return absl::ResourceExhaustedError(
      absl::StrFormat("the kubelet's list of pods is larger than %d bytes", kMaxPodListBytes));
}

// Splits "[::1]:10250", "10.0.0.7:10250" or a name with port into host and port.
Status TakeAuthority(std::string_view authority, ApiServerOptions& server) {
  const bool is_v6 = authority.starts_with('[');
  const size_t end = is_v6 ? authority.find(']') : authority.find(':');
  if (is_v6 && end == std::string_view::npos) {
    return NoPodsUrl("the bracket is not closed");
  }
  server.host = authority.substr(is_v6 ? 1 : 0, end - (is_v6 ? 1 : 0));
  std::string_view rest = end == std::string_view::npos ? "" : authority.substr(end);
  rest.remove_prefix(is_v6 ? 1 : 0);
  if (server.host.empty() || server.host.find_first_of("$()@ ") != std::string::npos) {
    return NoPodsUrl(server.host.find('$') != std::string::npos
                         ? "the variable in it is not set. Set HOST_IP from status.hostIP in the "
                           "pod's template, before it is used"
                         : "it has no host");
  }
  if (rest.empty()) {
    return absl::OkStatus();
  }
  const std::optional<uint64_t> port =
      rest.starts_with(':') ? ParseDecimal(rest.substr(1)) : std::nullopt;
  constexpr uint64_t kHighestPort = 65'535;
  if (!port || *port == 0 || *port > kHighestPort) {
    return NoPodsUrl("the text after the host is not a port. Write an IPv6 address in brackets");
  }
  server.port = std::to_string(*port);
  return absl::OkStatus();
}

}  // namespace

StatusOr<KubeletPodsOptions> ParseKubeletPodsUrl(std::string_view url) {
  constexpr std::string_view kScheme = "https://";
  if (!url.starts_with(kScheme)) {
    return NoPodsUrl("it must begin with https://");
  }
  url.remove_prefix(kScheme.size());
  KubeletPodsOptions options;
  options.server.called = "the kubelet";
  options.server.port = "10250";
  const size_t slash = url.find('/');
  PODGPU_RETURN_IF_ERROR(TakeAuthority(url.substr(0, slash), options.server));
  if (slash != std::string_view::npos && url.substr(slash) != "/") {
    options.path = url.substr(slash);
  }
  const bool is_plain =
      std::ranges::all_of(options.path, [](char c) { return c > ' ' && c < 127; });
  return is_plain ? StatusOr<KubeletPodsOptions>(std::move(options))
                  : NoPodsUrl("its path contains an invalid character");
}

StatusOr<ApiObjects> ListKubeletPods(const KubeletPodsOptions& options, const Files& files,
                                     const std::stop_token& stop, ApiRound& round) {
  const StatusOr<std::unique_ptr<ApiConnection>> connection =
      ApiConnection::Open(options.server, files, stop);
  if (connection.status().message().find("certificate verify failed") != std::string_view::npos) {
    return absl::UnauthenticatedError(absl::StrFormat(
        "%s. Most kubelets sign their certificate themselves: "
        "--kubelet-pods-insecure-skip-tls-verify takes any, or have the cluster sign it "
        "(serverTLSBootstrap)",
        connection.status().message()));
  }
  PODGPU_RETURN_IF_ERROR(connection.status());
  const StatusOr<ApiHead> head = (*connection)->Get(options.path, "application/json");
  PODGPU_RETURN_IF_ERROR(head.status());
  if (head->status != 200) {
    round.retry_after = head->retry_after;
    return RefusedByKubelet(**connection, *head, options.path);
  }
  return ReadPods(**connection);
}

}  // namespace podgpu
