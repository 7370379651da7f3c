#include "metrics_api/serving/request_path.h"

#include <algorithm>
#include <iterator>
#include <vector>

#include "base/percent.h"
#include "base/text.h"

namespace podgpu {
namespace {

constexpr MetricsVersionRow kVersions[] = {
    {MetricsVersion::kExternalV1beta1, "external.metrics.k8s.io", "v1beta1"},
    {MetricsVersion::kCustomV1beta2, "custom.metrics.k8s.io", "v1beta2"},
    {MetricsVersion::kCustomV1beta1, "custom.metrics.k8s.io", "v1beta1"},
};

constexpr size_t kMostSegments = 10;
constexpr size_t kLongestSegment = 253;

using Kind = MetricsPath::Kind;

// Returns the decoded segments; nothing if one is empty, too long, or has a control character.
std::optional<std::vector<std::string>> SegmentsOf(std::string_view path) {
  std::vector<std::string> segments;
  if (!path.starts_with('/')) {
    return std::nullopt;
  }
  path.remove_prefix(1);
  if (path.ends_with('/')) {
    path.remove_suffix(1);
  }
  const std::vector<std::string_view> parts = Split(path, '/');
  if (parts.size() > kMostSegments) {
    return std::nullopt;
  }
  for (const std::string_view part : parts) {
    std::string segment = PercentDecode(part);
    const auto is_odd = [](char c) { return (c >= 0 && c < ' ') || c == '\x7F' || c == '/'; };
    if (segment.empty() || segment.size() > kLongestSegment ||
        std::ranges::any_of(segment, is_odd) || CleanUtf8(segment) != segment) {
      return std::nullopt;
    }
    segments.push_back(std::move(segment));
  }
  return segments;
}

// Sets the version whose group and name are at `at`.
bool FindVersion(std::span<const std::string> at, MetricsPath& path) {
  const auto* const found = std::ranges::find_if(kVersions, [&](const MetricsVersionRow& row) {
    return row.group == at[0] && row.name == at[1];
  });
  if (found == std::end(kVersions)) {
    return false;
  }
  path.version = found->version;
  return true;
}

bool FindGroup(const std::string& group, MetricsPath& path) {
  const auto* const found = std::ranges::find(kVersions, group, &MetricsVersionRow::group);
  if (found == std::end(kVersions)) {
    return false;
  }
  path.version = found->version;
  return true;
}

// The segments after the version.
void ReadObject(std::span<const std::string> rest, MetricsPath& path) {
  const bool is_external = path.version == MetricsVersion::kExternalV1beta1;
  if (rest.size() >= 3 && rest[0] == "namespaces") {
    path.name_space = rest[1];
    if (is_external && rest.size() == 3) {
      path.kind = Kind::kExternal;
      path.metric = rest[2];
      return;
    }
    if (!is_external && rest.size() == 5) {
      path.kind = rest[2] == "pods" ? Kind::kPods : Kind::kOtherObject;
      path.resource = rest[2];
      path.object = rest[3];
      path.metric = rest[4];
      return;
    }
    if (!is_external && rest.size() == 4 && rest[2] == "metrics") {
      path.kind = Kind::kOtherObject;
      path.resource = "namespaces";
      path.object = rest[1];
      path.metric = rest[3];
      return;
    }
  }
  if (!is_external && rest.size() == 3) {
    path.kind = Kind::kOtherObject;
    path.resource = rest[0];
    path.object = rest[1];
    path.metric = rest[2];
  }
}

void ReadApis(std::span<const std::string> segments, MetricsPath& path) {
  if (segments.size() == 1) {
    path.kind = Kind::kGroupList;
  } else if (segments.size() == 2) {
    path.kind = FindGroup(segments[1], path) ? Kind::kGroup : Kind::kNotFound;
  } else if (FindVersion(segments.subspan(1), path)) {
    if (segments.size() == 3) {
      path.kind = Kind::kResourceList;
    } else {
      ReadObject(segments.subspan(3), path);
    }
  }
}

void ReadOpenApi(std::span<const std::string> segments, MetricsPath& path) {
  if (segments.size() == 2) {
    path.kind = segments[1] == "v2"   ? Kind::kOpenApiV2
                : segments[1] == "v3" ? Kind::kOpenApiV3
                                      : Kind::kNotFound;
  } else if (segments.size() == 5 && segments[1] == "v3" && segments[2] == "apis" &&
             FindVersion(segments.subspan(3), path)) {
    path.kind = Kind::kOpenApiV3Version;
  }
}

}  // namespace

std::span<const MetricsVersionRow> MetricsVersions() { return kVersions; }

const MetricsVersionRow& RowOf(MetricsVersion version) {
  return kVersions[static_cast<size_t>(version)];
}

MetricsPath ReadMetricsPath(std::string_view text) {
  MetricsPath path;
  const std::optional<std::vector<std::string>> segments = SegmentsOf(text);
  if (!segments) {
    return path;
  }
  const std::string& first = segments->front();
  if (segments->size() == 1 && (first == "healthz" || first == "livez")) {
    path.kind = Kind::kHealth;
  } else if (segments->size() == 1 && first == "readyz") {
    path.kind = Kind::kReady;
  } else if (first == "apis") {
    ReadApis(*segments, path);
  } else if (first == "openapi") {
    ReadOpenApi(*segments, path);
  }
  return path;
}

MetricsQuery ReadMetricsQuery(std::string_view text) {
  MetricsQuery query;
  for (auto& [name, value] : QueryParameters(text)) {
    if (name == "labelSelector") {
      query.label_selector = std::move(value);
    } else if (name == "metricLabelSelector") {
      query.metric_label_selector = std::move(value);
    }
  }
  return query;
}

}  // namespace podgpu
