// The JSON of the metrics API: discovery, OpenAPI, values and errors.
//
// Forms of kubernetes 1.34: meta/v1 and apidiscovery.k8s.io/v2 for discovery, k8s.io/metrics for
// values. Values are quantities (quantity.h), times are RFC 3339 in UTC with whole seconds. Pure
// functions; any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "metrics_api/serving/request_path.h"
#include "metrics_api/values/label_selector.h"
#include "metrics_api/values/metric_question.h"

namespace podgpu {

inline constexpr std::string_view kAggregatedDiscovery =
    "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

// Returns whether a client accepts aggregated discovery, however it writes the parameters.
bool AcceptsAggregated(std::string_view accept);

std::string GroupListJson();
std::string AggregatedGroupListJson();
std::string GroupJson(std::string_view group);
std::string ResourceListJson(MetricsVersion version);
std::string OpenApiV2Json();
std::string OpenApiV3Json();
std::string OpenApiV3VersionJson(MetricsVersion version);

std::string ExternalValueJson(std::string_view metric, std::string_view name_space,
                              const TimedValue& value, int64_t window_s);
// `selector`: of the labels of the metric, as it was asked.
struct PodValuesDocument {
  MetricsVersion version = MetricsVersion::kCustomV1beta2;
  std::string_view metric, name_space;
  const LabelSelector& selector;
  int64_t window_s = 0;
};
std::string PodValuesJson(const PodValuesDocument& document, const std::vector<PodValue>& values);

// A Status object: `reason` is one of the API's words, "NotFound".
std::string StatusJson(int code, std::string_view reason, std::string_view message);
// The word for a status; empty for one that the metrics API never sends.
std::string_view StatusReason(int code);

}  // namespace podgpu
