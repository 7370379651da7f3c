// Reads the path and the query of a request to the metrics API.
//
// Segments are percent-decoded ("pods/%2A/..." is "pods/*/..."); a decoded segment is never empty,
// and names have limits. A path that the API does not have gives kNotFound as its kind. Pure
// functions; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/status.h"

namespace podgpu {

// A version of an API group that is served here.
enum class MetricsVersion : uint8_t { kExternalV1beta1, kCustomV1beta2, kCustomV1beta1 };

struct MetricsVersionRow {
  MetricsVersion version;
  std::string_view group, name;
};
// Returns the versions in the order of the enumeration; of one group the preferred version comes
// first.
std::span<const MetricsVersionRow> MetricsVersions();
const MetricsVersionRow& RowOf(MetricsVersion version);

struct MetricsPath {
  enum class Kind : uint8_t {
    kNotFound,
    kHealth,            // /healthz, /livez
    kReady,             // /readyz
    kGroupList,         // /apis
    kGroup,             // /apis/GROUP
    kResourceList,      // /apis/GROUP/VERSION
    kOpenApiV2,         // /openapi/v2
    kOpenApiV3,         // /openapi/v3
    kOpenApiV3Version,  // /openapi/v3/apis/GROUP/VERSION
    kExternal,          // .../namespaces/NAMESPACE/METRIC
    kPods,              // .../namespaces/NAMESPACE/pods/NAME/METRIC
    kOtherObject,       // .../namespaces/NAMESPACE/RESOURCE/NAME/METRIC, and of nodes
  };
  Kind kind = Kind::kNotFound;
  MetricsVersion version = MetricsVersion::kExternalV1beta1;
  std::string name_space;
  std::string resource;  // Resource of kOtherObject.
  std::string object;    // Name of the pod; "*": all.
  std::string metric;
};
MetricsPath ReadMetricsPath(std::string_view path);

// The parameters of a query that the API knows; others are ignored.
struct MetricsQuery {
  std::string label_selector;         // labelSelector
  std::string metric_label_selector;  // metricLabelSelector
};
MetricsQuery ReadMetricsQuery(std::string_view query);

}  // namespace podgpu
