// An APIService object: the Service that serves a version of an API group, and the authorities that
// the aggregator trusts for it.
//
// Reads the object and makes the merge patch that changes the authorities only. Pure functions; any
// thread.
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"
#include "metrics_api/access/serving_certificate.h"

namespace podgpu {

struct ApiServiceObject {
  std::string resource_version;
  MetricsService service;           // Empty names: the API server itself serves the group.
  std::string authorities;          // PEM; empty: none.
  bool skips_verification = false;  // insecureSkipTLSVerify; then authorities are not allowed.
};

// kDataLoss if it is not an APIService.
StatusOr<ApiServiceObject> ReadApiService(std::string_view json);

// The body of a merge patch; the API server refuses it if the object has changed since.
std::string AuthoritiesPatch(const std::string& resource_version, const std::string& authorities);

}  // namespace podgpu
