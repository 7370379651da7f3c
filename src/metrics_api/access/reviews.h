// The two questions to the API server: whose token this is, and whether a caller may do something.
//
// TokenReview of authentication.k8s.io/v1 and SubjectAccessReview of authorization.k8s.io/v1: the
// bodies to POST, and the readers of the answers. An answer that is not as expected is kDataLoss
// and never a "yes". Pure functions; any thread.
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"
#include "metrics_api/access/identity.h"

namespace podgpu {

inline constexpr std::string_view kTokenReviewPath = "/apis/authentication.k8s.io/v1/tokenreviews";
inline constexpr std::string_view kAccessReviewPath =
    "/apis/authorization.k8s.io/v1/subjectaccessreviews";

// The thing that the caller wants to do: read a metric, or, with an empty group, read a path.
struct AccessQuestion {
  std::string verb = "get";
  std::string group, version;
  std::string resource, subresource;
  std::string name_space;
  std::string name;  // Empty: no single object.
  std::string path;
};

std::string TokenReviewBody(std::string_view token);
std::string AccessReviewBody(const Identity& identity, const AccessQuestion& question);

// The message of a refusal, in the words of the API server.
std::string ForbiddenMessage(const Identity& identity, const AccessQuestion& question,
                             std::string_view reason);

// The answer to either question.
struct ReviewVerdict {
  bool is_granted = false;  // The token is valid; or the caller may do it.
  Identity identity{};      // The user of a valid token.
  std::string reason{};     // The reason in the words of the API server; may be empty.
};
StatusOr<ReviewVerdict> ReadTokenReview(std::string_view json);
StatusOr<ReviewVerdict> ReadAccessReview(std::string_view json);

}  // namespace podgpu
