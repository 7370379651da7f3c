#include "sim/kube/kubelet_pods.h"

#include <filesystem>
#include <limits>
#include <system_error>

#include "sim/kube/api_face.h"
#include "sim/kube/whole_file.h"

namespace podgpu::sim {
namespace {

constexpr std::string_view kPath = "/pods";
// Kubernetes 1.37, pkg/kubelet/server/server.go: plain texts.
constexpr std::string_view kForbidden =
    "Forbidden (user=system:serviceaccount:monitoring:podgpu, verb=get, resource=nodes, "
    "subresource(s)=[pods proxy])\n";
constexpr std::string_view kUnauthorized = "Unauthorized";

// Whether a kubelet that has just started already lists the pod.
bool IsListed(const ApiPodText& pod, KubeletBehaviour::Listing listing) {
  using Listing = KubeletBehaviour::Listing;
  return listing == Listing::kAll || (listing == Listing::kStaticPods && pod.is_static);
}

}  // namespace

StatusOr<std::unique_ptr<FakeKubeletPods>> FakeKubeletPods::Start(RunDirectory& node,
                                                                  const std::string& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  // Private constructor: make_unique cannot reach it.
  std::unique_ptr<FakeKubeletPods> face(
      new FakeKubeletPods(node));  // NOLINT(cppcoreguidelines-owning-memory)
  const std::string variables =
      "PODGPU_KUBELET_PODS_URL=" + face->url() + "\nPODGPU_SERVICE_ACCOUNT_DIR=" + folder + "\n";
  if (!face->server_.WriteCredentials(folder) || !WriteWhole(folder + "/env", variables)) {
    return absl::UnavailableError(folder + ": cannot write token, certificate and env");
  }
  face->Refresh();
  return face;
}

std::string FakeKubeletPods::url() const {
  return "https://127.0.0.1:" + std::to_string(server_.port()) + std::string(kPath);
}

void FakeKubeletPods::Refresh() {
  std::string items;
  for (const auto& [key, pod] : ListedPodTexts(node_.world(), node_.Now(), PodSource::kKubelet)) {
    if (IsListed(pod, behaviour_.listing)) {
      items += (items.empty() ? "" : ",");
      items += R"({"metadata":{)" + pod.metadata + "}" + pod.rest + "}";
    }
  }
  // Go writes a nil slice as null.
  items = items.empty() ? "null" : "[" + items + "]";
  std::string list = R"({"kind":"PodList","apiVersion":"v1","metadata":{},"items":)" + items + "}";
  if (list != list_) {
    list_ = std::move(list);
    server_.Serve(std::string(kPath), list_);
  }
}

void FakeKubeletPods::Behave(const KubeletHttpsBehaviour& next) {
  behaviour_ = next;
  constexpr int kAllRequests = std::numeric_limits<int>::max();
  if (next.is_unauthorized) {
    server_.RefuseInText(kAllRequests, 401, std::string(kUnauthorized));
  } else if (next.is_forbidden) {
    server_.RefuseInText(kAllRequests, 403, std::string(kForbidden));
  } else {
    server_.Refuse(0, 0);
  }
  server_.SetDown(next.is_down);
  Refresh();
}

}  // namespace podgpu::sim
