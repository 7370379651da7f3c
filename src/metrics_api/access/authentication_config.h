// How the API server authenticates: the ConfigMap extension-apiserver-authentication of the
// namespace kube-system.
//
// It names the authorities of the front proxy (the aggregator of the API server) and of client
// certificates, and the headers in which the front proxy says who calls. Keys: kubernetes 1.34,
// staging/src/k8s.io/apiserver, pkg/server/options. Pure functions; any thread.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/status.h"

namespace podgpu {

struct AuthenticationConfig {
  std::string client_authorities;          // PEM; empty: client certificates are not accepted.
  std::string proxy_authorities;           // PEM; empty: there is no front proxy.
  std::vector<std::string> allowed_names;  // Common names of the front proxy; empty: any.
  // Header names, in the order in which they are tried.
  std::vector<std::string> user_headers, uid_headers, group_headers;
  std::vector<std::string> extra_prefixes;
  bool operator==(const AuthenticationConfig&) const = default;
};

// `data`: of the ConfigMap. kInvalidArgument with one line that names the key: a list that is not a
// JSON list of texts, PEM without a certificate, or neither of the two authorities.
StatusOr<AuthenticationConfig> ReadAuthenticationConfig(
    const std::map<std::string, std::string>& data);

}  // namespace podgpu
