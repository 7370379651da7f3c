#include "cluster/history_query.h"

#include <algorithm>
#include <set>

#include "absl/strings/str_format.h"

#include "base/percent.h"
#include "base/text.h"

namespace podgpu {
namespace {

constexpr std::string_view kForm =
    "the parameters are \"node\" and \"gpu\", or \"group\" and \"value\", or none for all GPUs";
// Encoded for a URL it stays below the megabyte of headers that Prometheus accepts.
constexpr size_t kMostQueryBytes = size_t{768} << 10;
constexpr size_t kMostTextBytes = 1'024;

// Returns the text as a string literal of PromQL.
std::string Literal(std::string_view text) {
  std::string literal = "\"";
  for (const char byte : text) {
    if (byte == '"' || byte == '\\') {
      literal += '\\';
    }
    literal += byte == '\n' ? ' ' : byte;
  }
  return literal + '"';
}

// A regular expression that matches `text` alone.
std::string Exactly(std::string_view text) {
  std::string pattern;
  for (const char byte : text) {
    if (std::string_view("\\.+*?()|[]{}^$").find(byte) != std::string_view::npos) {
      pattern += '\\';
    }
    pattern += byte;
  }
  return pattern;
}

const NodeReport* ReportOfNode(const ClusterFacts& facts, std::string_view name) {
  for (size_t i = 0; i < facts.states.size(); ++i) {
    const NodeEntry& node = facts.fleet->nodes[i];
    if (node.report != nullptr && node.report->node == name &&
        facts.states[i] != NodeState::kDuplicate) {
      return node.report.get();
    }
  }
  return nullptr;
}

StatusOr<std::string> SelectorOfGpu(const HistoryQuery& query, const ClusterFacts& facts) {
  const NodeReport* const report = ReportOfNode(facts, query.node);
  if (report == nullptr) {
    return absl::NotFoundError(absl::StrFormat("there is no node %s", Quoted(query.node)));
  }
  const uint32_t index = query.gpu.value_or(0);
  const auto gpu = std::ranges::find(report->gpus, index, &ReportedGpu::index);
  if (gpu == report->gpus.end()) {
    return absl::NotFoundError(absl::StrFormat("node %s has no GPU %d", Quoted(query.node), index));
  }
  return "UUID=" + Literal(gpu->uuid);
}

// One selector for each spelling of the label (--dcgm-exporter-version).
StatusOr<std::vector<std::string>> SelectorsOfGroup(const HistoryQuery& query,
                                                    const ClusterFacts& facts) {
  std::string names;
  const std::string label = query.label.value_or("");
  const size_t place = facts.labels == nullptr
                           ? 0
                           : static_cast<size_t>(std::ranges::find(facts.labels->keys, label) -
                                                 facts.labels->keys.begin());
  if (facts.labels == nullptr || place == facts.labels->keys.size()) {
    return absl::NotFoundError(
        absl::StrFormat("the label %s is not one of --group-labels", Quoted(label)));
  }
  std::set<std::string_view> reporting;
  for (const NodeEntry& node : facts.fleet->nodes) {
    reporting.insert(node.report == nullptr ? std::string_view() : node.report->node);
  }
  for (const auto& [node, values] : facts.labels->of_node) {
    if (values[place] == query.value && reporting.contains(node)) {
      names += (names.empty() ? "" : "|") + Exactly(node);
    }
  }
  if (names.empty()) {
    return absl::NotFoundError(
        absl::StrFormat("no node has the label %s=%s", Quoted(label), Quoted(query.value)));
  }
  return std::vector<std::string>{"Hostname=~" + Literal(names), "hostname=~" + Literal(names)};
}

// The series of `family` that match one of `selectors`; with a factor in front of each.  A selector
// has one exact name: Google's Managed Service for Prometheus refuses others.
std::string AnyOf(std::string_view family, const std::vector<std::string>& selectors,
                  std::string_view factor = "") {
  std::string query;
  for (const std::string& selector : selectors) {
    absl::StrAppendFormat(&query, "%s%s%s{%s}", query.empty() ? "" : " or ", factor, family,
                          selector);
  }
  return query;
}

Status Take(std::string_view name, std::string value, HistoryQuery& query) {
  if (value.empty() || value.size() > kMostTextBytes) {
    return absl::InvalidArgumentError(
        absl::StrFormat("%s needs a value of at most 1024 bytes", Quoted(name)));
  }
  if (name == "node") {
    query.node = std::move(value);
  } else if (name == "gpu") {
    const std::optional<uint64_t> number = ParseDecimal(value);
    if (!number || *number > UINT32_MAX) {
      return absl::InvalidArgumentError("\"gpu\" is the number of a GPU, such as 3");
    }
    query.gpu = static_cast<uint32_t>(*number);
  } else if (name == "group") {
    query.label = std::move(value);
  } else if (name == "value") {
    query.value = std::move(value);
  } else {
    return absl::InvalidArgumentError(std::string(kForm));
  }
  return absl::OkStatus();
}

}  // namespace

std::string HistoryQuery::key() const {
  return gpu     ? absl::StrFormat("node=%s&gpu=%d", PercentEncode(node), *gpu)
         : label ? absl::StrFormat("group=%s&value=%s", PercentEncode(*label), PercentEncode(value))
                 : "";
}

StatusOr<HistoryQuery> ParseHistoryQuery(std::string_view text) {
  HistoryQuery query;
  for (auto& [name, value] : QueryParameters(text)) {
    PODGPU_RETURN_IF_ERROR(Take(name, std::move(value), query));
  }
  const bool is_gpu = query.gpu && !query.node.empty();
  const bool is_group = query.label && !query.value.empty();
  const bool has_half = (query.gpu || !query.node.empty()) != is_gpu ||
                        (query.label || !query.value.empty()) != is_group;
  if (has_half || (is_gpu && is_group)) {
    return absl::InvalidArgumentError(std::string(kForm));
  }
  return query;
}

StatusOr<std::string> HistoryPromql(const HistoryQuery& query, const ClusterFacts& facts,
                                    std::string_view matchers) {
  std::vector<std::string> selectors = {""};
  if (query.gpu) {
    PODGPU_ASSIGN_OR_RETURN(selectors.front(), SelectorOfGpu(query, facts));
  } else if (query.label) {
    PODGPU_ASSIGN_OR_RETURN(selectors, SelectorsOfGroup(query, facts));
  }
  for (std::string& selector : selectors) {
    selector += (selector.empty() || matchers.empty() ? "" : ",") + std::string(matchers);
  }
  std::string promql = absl::StrFormat(
      "100 * avg(max by (UUID) (%s or %s)) or avg(max by (UUID) (%s or %s))",
      AnyOf("DCGM_FI_PROF_SM_ACTIVE", selectors), AnyOf("DCGM_FI_PROF_SM_UTIL_RATIO", selectors),
      AnyOf("DCGM_FI_DEV_GPU_UTIL", selectors),
      AnyOf("DCGM_FI_DEV_GPU_UTIL_RATIO", selectors, "100 * "));
  if (promql.size() > kMostQueryBytes) {
    return absl::ResourceExhaustedError("the group has too many nodes for one query");
  }
  return promql;
}

}  // namespace podgpu
