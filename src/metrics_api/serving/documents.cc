#include "metrics_api/serving/documents.h"

#include <algorithm>

#include "absl/strings/str_format.h"
#include <boost/json.hpp>

#include "base/text.h"
#include "base/time_text.h"
#include "base/version.h"
#include "metrics_api/values/quantity.h"

namespace podgpu {
namespace {

constexpr int64_t kMsPerSecond = 1'000;

namespace json = boost::json;

json::string_view View(std::string_view text) { return {text.data(), text.size()}; }

std::string Document(const json::object& object) { return json::serialize(object) + "\n"; }

std::string GroupVersion(const MetricsVersionRow& row) {
  return std::string(row.group) + "/" + std::string(row.name);
}

bool IsExternal(MetricsVersion version) { return version == MetricsVersion::kExternalV1beta1; }

std::string_view KindOf(MetricsVersion version) {
  return IsExternal(version) ? "ExternalMetricValueList" : "MetricValueList";
}

// The groups, each once.
std::vector<std::string_view> Groups() {
  std::vector<std::string_view> groups;
  for (const MetricsVersionRow& row : MetricsVersions()) {
    if (std::ranges::count(groups, row.group) == 0) {
      groups.push_back(row.group);
    }
  }
  return groups;
}

json::object GroupObject(std::string_view group) {
  json::object object = {{"name", View(group)}};
  json::array& versions = object["versions"].emplace_array();
  for (const MetricsVersionRow& row : MetricsVersions()) {
    if (row.group == group) {
      versions.push_back({{"groupVersion", GroupVersion(row)}, {"version", View(row.name)}});
    }
  }
  object["preferredVersion"] = versions.front();
  return object;
}

std::vector<std::string_view> MetricsOf(MetricsVersion version) {
  std::vector<std::string_view> names;
  if (IsExternal(version)) {
    for (const auto& row : ExternalMetrics()) {
      names.push_back(row.name);
    }
  } else {
    for (const auto& row : PodMetrics()) {
      names.push_back(row.name);
    }
  }
  return names;
}

json::object ResponseKind(MetricsVersion version) {
  const MetricsVersionRow& row = RowOf(version);
  return {{"group", View(row.group)}, {"version", View(row.name)}, {"kind", View(KindOf(version))}};
}

// In aggregated discovery the metrics of pods are parts of the resource "pods".
json::array AggregatedResources(MetricsVersion version) {
  json::array resources;
  json::array parts;
  for (const std::string_view name : MetricsOf(version)) {
    if (IsExternal(version)) {
      resources.push_back({{"resource", View(name)},
                           {"responseKind", ResponseKind(version)},
                           {"scope", "Namespaced"},
                           {"singularResource", ""},
                           {"verbs", json::array{"get"}}});
    } else {
      parts.push_back({{"subresource", View(name)},
                       {"responseKind", ResponseKind(version)},
                       {"verbs", json::array{"get"}}});
    }
  }
  if (!IsExternal(version)) {
    resources.push_back({{"resource", "pods"},
                         {"scope", "Namespaced"},
                         {"singularResource", ""},
                         {"verbs", json::array()},
                         {"subresources", std::move(parts)}});
  }
  return resources;
}

json::object OpenApiInfo() {
  return {{"title", "podgpu metrics API"}, {"version", View(kVersion)}};
}

std::string PathOfMetric(MetricsVersion version, std::string_view metric) {
  return absl::StrFormat("/apis/%s/namespaces/{namespace}/%s%s", GroupVersion(RowOf(version)),
                         IsExternal(version) ? "" : "pods/{name}/", metric);
}

json::object Operation(MetricsVersion version, bool is_v3) {
  json::array parameters;
  const auto add = [&](const char* name, const char* in) {
    json::object parameter = {{"name", name}, {"in", in}};
    if (std::string_view(in) == "path") {
      parameter["required"] = true;
    }
    if (is_v3) {
      parameter["schema"] = {{"type", "string"}};
    } else {
      parameter["type"] = "string";
    }
    parameters.push_back(std::move(parameter));
  };
  add("namespace", "path");
  if (!IsExternal(version)) {
    add("name", "path");
    add("metricLabelSelector", "query");
  }
  add("labelSelector", "query");
  return {{"get",
           {{"description", "the values of the metric"},
            {"parameters", std::move(parameters)},
            {"responses", {{"200", {{"description", "OK"}}}}}}}};
}

void AddPaths(MetricsVersion version, bool is_v3, json::object& paths) {
  for (const std::string_view metric : MetricsOf(version)) {
    paths[PathOfMetric(version, metric)] = Operation(version, is_v3);
  }
}

// A selector as an object of meta/v1; null if it is empty.
json::value SelectorJson(const LabelSelector& selector) {
  if (selector.requirements.empty()) {
    return nullptr;
  }
  constexpr const char* kOperators[] = {"In", "NotIn", "Exists", "DoesNotExist"};
  json::array expressions;
  for (const LabelRequirement& requirement : selector.requirements) {
    json::object expression = {{"key", requirement.key},
                               {"operator", kOperators[static_cast<size_t>(requirement.op)]}};
    if (!requirement.values.empty()) {
      json::array& values = expression["values"].emplace_array();
      for (const std::string& value : requirement.values) {
        values.emplace_back(value);
      }
    }
    expressions.push_back(std::move(expression));
  }
  return json::object{{"matchExpressions", std::move(expressions)}};
}

}  // namespace

// The parameters may be in any order and with blanks, and the header has several types.
bool AcceptsAggregated(std::string_view accept) {
  for (const std::string_view type : Split(accept, ',')) {
    bool is_group = false;
    bool is_version = false;
    bool is_kind = false;
    for (const std::string_view part : Split(type, ';')) {
      const std::string_view parameter = Trim(part);
      is_group = is_group || parameter == "g=apidiscovery.k8s.io";
      is_version = is_version || parameter == "v=v2";
      is_kind = is_kind || parameter == "as=APIGroupDiscoveryList";
    }
    if (is_group && is_version && is_kind) {
      return true;
    }
  }
  return false;
}

std::string GroupListJson() {
  json::object object = {{"kind", "APIGroupList"}, {"apiVersion", "v1"}};
  json::array& groups = object["groups"].emplace_array();
  for (const std::string_view group : Groups()) {
    groups.push_back(GroupObject(group));
  }
  return Document(object);
}

std::string AggregatedGroupListJson() {
  json::object object = {{"kind", "APIGroupDiscoveryList"},
                         {"apiVersion", "apidiscovery.k8s.io/v2"},
                         {"metadata", json::object()}};
  json::array& items = object["items"].emplace_array();
  for (const std::string_view group : Groups()) {
    json::array versions;
    for (const MetricsVersionRow& row : MetricsVersions()) {
      if (row.group == group) {
        versions.push_back({{"version", View(row.name)},
                            {"resources", AggregatedResources(row.version)},
                            {"freshness", "Current"}});
      }
    }
    items.push_back({{"metadata", {{"name", View(group)}}}, {"versions", std::move(versions)}});
  }
  return Document(object);
}

std::string GroupJson(std::string_view group) {
  json::object object = {{"kind", "APIGroup"}, {"apiVersion", "v1"}};
  for (json::key_value_pair& member : GroupObject(group)) {
    object[member.key()] = std::move(member.value());
  }
  return Document(object);
}

std::string ResourceListJson(MetricsVersion version) {
  json::object object = {{"kind", "APIResourceList"},
                         {"apiVersion", "v1"},
                         {"groupVersion", GroupVersion(RowOf(version))}};
  json::array& resources = object["resources"].emplace_array();
  for (const std::string_view name : MetricsOf(version)) {
    resources.push_back({{"name", (IsExternal(version) ? "" : "pods/") + std::string(name)},
                         {"singularName", ""},
                         {"namespaced", true},
                         {"kind", View(KindOf(version))},
                         {"verbs", json::array{"get"}}});
  }
  return Document(object);
}

std::string OpenApiV2Json() {
  json::object object = {{"swagger", "2.0"}, {"info", OpenApiInfo()}};
  json::object& paths = object["paths"].emplace_object();
  for (const MetricsVersionRow& row : MetricsVersions()) {
    AddPaths(row.version, false, paths);
  }
  return Document(object);
}

std::string OpenApiV3Json() {
  json::object paths;
  for (const MetricsVersionRow& row : MetricsVersions()) {
    const std::string path = "apis/" + GroupVersion(row);
    paths[path] = {{"serverRelativeURL",
                    absl::StrFormat("/openapi/v3/%s?hash=%s", path, std::string(kVersion))}};
  }
  return Document({{"paths", std::move(paths)}});
}

std::string OpenApiV3VersionJson(MetricsVersion version) {
  json::object object = {{"openapi", "3.0.0"}, {"info", OpenApiInfo()}};
  AddPaths(version, true, object["paths"].emplace_object());
  return Document(object);
}

std::string ExternalValueJson(std::string_view metric, std::string_view name_space,
                              const TimedValue& value, int64_t window_s) {
  json::object labels;
  if (!name_space.empty()) {
    labels["namespace"] = View(name_space);
  }
  return Document({{"kind", "ExternalMetricValueList"},
                   {"apiVersion", "external.metrics.k8s.io/v1beta1"},
                   {"metadata", json::object()},
                   {"items", json::array{{{"metricName", View(metric)},
                                          {"metricLabels", std::move(labels)},
                                          {"timestamp", Rfc3339(value.oldest_ms / kMsPerSecond)},
                                          {"window", window_s},
                                          {"value", FormatQuantity(value.value)}}}}});
}

std::string PodValuesJson(const PodValuesDocument& document, const std::vector<PodValue>& values) {
  const bool is_v1beta1 = document.version == MetricsVersion::kCustomV1beta1;
  const json::value selector = SelectorJson(document.selector);
  json::array items;
  for (const PodValue& value : values) {
    json::object item = {{"describedObject",
                          {{"kind", "Pod"},
                           {"namespace", View(document.name_space)},
                           {"name", View(value.pod)},
                           {"apiVersion", "/v1"}}}};
    if (is_v1beta1) {
      item["metricName"] = View(document.metric);
    } else {
      item["metric"] = {{"name", View(document.metric)}, {"selector", selector}};
    }
    item["timestamp"] = Rfc3339(value.value.oldest_ms / kMsPerSecond);
    item[is_v1beta1 ? "window" : "windowSeconds"] = document.window_s;
    item["value"] = FormatQuantity(value.value.value);
    if (is_v1beta1) {
      item["selector"] = selector;
    }
    items.push_back(std::move(item));
  }
  return Document({{"kind", "MetricValueList"},
                   {"apiVersion", GroupVersion(RowOf(document.version))},
                   {"metadata", json::object()},
                   {"items", std::move(items)}});
}

std::string_view StatusReason(int code) {
  struct Row {
    int code;
    std::string_view reason;
  };
  constexpr Row kRows[] = {{400, "BadRequest"},       {401, "Unauthorized"},
                           {403, "Forbidden"},        {404, "NotFound"},
                           {405, "MethodNotAllowed"}, {429, "TooManyRequests"},
                           {500, "InternalError"},    {503, "ServiceUnavailable"}};
  const auto* const found = std::ranges::find(kRows, code, &Row::code);
  return found == std::end(kRows) ? std::string_view() : found->reason;
}

std::string StatusJson(int code, std::string_view reason, std::string_view message) {
  json::object object = {{"kind", "Status"},
                         {"apiVersion", "v1"},
                         {"metadata", json::object()},
                         {"status", "Failure"},
                         {"message", CleanUtf8(message)},
                         {"reason", View(reason)}};
  if (code == 429 || code == 503) {
    object["details"] = {{"retryAfterSeconds", 1}};
  }
  object["code"] = code;
  return Document(object);
}

}  // namespace podgpu
