// Who may do what at the simulated API server: reviews of tokens and of access, the ConfigMap with
// the authorities that extension servers trust, and merge patches of objects.
//
// Bodies are JSON, parsed and written here without the client's code.  Answers have the kinds, the
// status codes and the words of the real server, as far as clients see them.  Pure functions; any
// thread.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/kube/api_request.h"

namespace podgpu::sim {

inline constexpr std::string_view kTokenReviewsPath = "/apis/authentication.k8s.io/v1/tokenreviews";
inline constexpr std::string_view kAccessReviewsPath =
    "/apis/authorization.k8s.io/v1/subjectaccessreviews";
inline constexpr std::string_view kApiServicesPath = "/apis/apiregistration.k8s.io/v1/apiservices";
inline constexpr std::string_view kTrustName = "extension-apiserver-authentication";

// A user, as a valid token names it.
struct ApiUser {
  std::string name;
  std::vector<std::string> groups = {};
};

// What one user, or each member of one group, may do with the resources of other servers.  An empty
// `user` or `group` names none; an empty text in the other fields means every one.  A permission
// with a `path` is for paths that are no resources: "/healthz", or "/apis/*" for all below.
struct ApiPermission {
  std::string user, group;
  std::string name_space = {};
  std::string api_group = {}, resource = {}, verb = {};
  std::string path = {};
};

// Certificates, in PEM form, and names that an extension server has to trust.
struct ApiTrust {
  std::string client_ca;
  std::string front_proxy_ca;
  std::vector<std::string> front_proxy_names = {};  // Empty: any.
};
// The text of the ConfigMap after its metadata.
std::string TrustText(const ApiTrust& trust);

// The answers to POSTs of a TokenReview and of a SubjectAccessReview.
std::string AnswerTokenReview(const ApiRequest& request,
                              const std::map<std::string, ApiUser>& users);
std::string AnswerAccessReview(const ApiRequest& request,
                               const std::vector<ApiPermission>& permissions);

// The object after a merge patch, without a new version: null members are removed, maps are merged,
// everything else is replaced.  Nothing for a patch that is not an object in JSON.
std::optional<ApiStored> Patched(const ApiStored& object, const std::string& patch);
// The version that a patch is made for; empty when it names none.
std::string VersionInPatch(const std::string& patch);

}  // namespace podgpu::sim
