#include "cluster/history_query.h"

#include <algorithm>
#include <ranges>
#include <set>

#include "absl/strings/str_format.h"

#include "base/percent.h"
#include "base/text.h"

namespace podgpu {
namespace {

constexpr std::string_view kForm =
    "the parameters are \"node\" and \"gpu\", or \"group\" and \"value\", or none for all GPUs";
// Encoded as a form, at most three times as long, it stays below the 10 MiB that Prometheus reads.
constexpr size_t kMostQueryBytes = size_t{3} << 20;
constexpr size_t kMostTextBytes = 1'024;

// The GPUs of a query, as matchers of labels.
struct Selection {
  // Of the families of dcgm-exporter: one for each spelling of a label.
  std::vector<std::string> exporter = {""};
  std::string own;   // Of podgpu's own families of values.
  std::string info;  // Of podgpu_gpu_info, which alone has the node's name; empty: all.
  bool is_one_gpu = false;
};

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

StatusOr<Selection> SelectionOfGpu(const HistoryQuery& query, const ClusterFacts& facts) {
  const NodeReport* const report = ReportOfNode(facts, query.node);
  if (report == nullptr) {
    return absl::NotFoundError(absl::StrFormat("there is no node %s", Quoted(query.node)));
  }
  const uint32_t index = query.gpu.value_or(0);
  const auto gpu = std::ranges::find(report->gpus, index, &ReportedGpu::index);
  if (gpu == report->gpus.end()) {
    return absl::NotFoundError(absl::StrFormat("node %s has no GPU %d", Quoted(query.node), index));
  }
  const std::string uuid = Literal(gpu->uuid);
  return Selection{.exporter = {"UUID=" + uuid, "uuid=" + uuid},
                   .own = "UUID=" + uuid,
                   .info = {},
                   .is_one_gpu = true};
}

StatusOr<Selection> SelectionOfGroup(const HistoryQuery& query, const ClusterFacts& facts) {
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
  const std::string are_these = "=~" + Literal(names);
  // --dcgm-exporter-version decides about the spelling.
  return Selection{.exporter = {"Hostname" + are_these, "hostname" + are_these},
                   .own = {},
                   .info = "hostname" + are_these};
}

std::string Both(std::string_view a, std::string_view b) {
  return absl::StrFormat("%s%s%s", a, a.empty() || b.empty() ? "" : ",", b);
}

// Writes the PromQL of a selection.  Each selector has one exact name: Google's Managed Service for
// Prometheus refuses others.
class HistoryText {
 public:
  HistoryText(Selection selection, std::string_view matchers)
      : selection_(std::move(selection)), matchers_(matchers) {}

  // From 0 to 100.  `or` chooses for each GPU and each time; Prometheus copies its left side, so
  // the measures are nested to the right.
  std::string Whole() const {
    const std::string instances = "GPU_I_ID!=\"\"";
    const std::string measures[] = {
        PerGpu(Own("GPU_I_ID=\"\"")),
        PerGpu(AnyOf("100 * DCGM_FI_PROF_SM_ACTIVE", "") + " or " +
               AnyOf("100 * DCGM_FI_PROF_SM_UTIL_RATIO", "")),
        PerGpu(AnyOf("DCGM_FI_DEV_GPU_UTIL", "") + " or " +
               AnyOf("100 * DCGM_FI_DEV_GPU_UTIL_RATIO", "")),
        PerGpu(Own(instances)),
        PerGpu(AnyOf("100 * DCGM_FI_PROF_GR_ENGINE_ACTIVE", instances) + " or " +
               AnyOf("100 * DCGM_FI_PROF_GR_ENGINE_UTIL_RATIO", instances)),
    };
    std::string activity;
    for (const std::string& measure : std::views::reverse(measures)) {
      activity = activity.empty() ? measure : absl::StrFormat("%s or (%s)", measure, activity);
    }
    return selection_.is_one_gpu ? activity : absl::StrFormat("avg(%s)", activity);
  }

 private:
  // The largest value of each GPU: of the rows of its pods and instances, and of replicas of
  // exporters.  `UUID` becomes the first of its names that is known.
  std::string PerGpu(std::string_view series) const {
    return selection_.is_one_gpu
               ? absl::StrFormat("max(%s)", series)
               : absl::StrFormat(
                     R"(max by (UUID) (label_replace(label_join(%s, "UUID", ";", "UUID", "uuid", )"
                     R"("instance", "gpu"), "UUID", "$1$2", "UUID", ";;(.+)|;?([^;]+);.*")))",
                     series);
  }

  // Drops all other labels first, which makes the functions of labels cheaper for Prometheus.
  std::string PerName(std::string_view series) const {
    return selection_.is_one_gpu
               ? std::string(series)
               : absl::StrFormat("max by (UUID, uuid, instance, gpu) (%s)", series);
  }

  // `family` may have a factor in front.
  std::string AnyOf(std::string_view family, std::string_view instances) const {
    std::string series;
    for (const std::string& selector : selection_.exporter) {
      absl::StrAppendFormat(&series, "%s%s{%s}", series.empty() ? "" : " or ", family,
                            Both(Both(selector, instances), matchers_));
    }
    return PerName(series);
  }

  // SM activity in podgpu's own family.
  std::string Own(std::string_view instances) const {
    std::string series = absl::StrFormat("100 * podgpu_gpu_sm_active_ratio{%s}",
                                         Both(Both(selection_.own, instances), matchers_));
    if (!selection_.info.empty()) {
      absl::StrAppendFormat(&series, " and on (UUID) podgpu_gpu_info{%s}",
                            Both(selection_.info, matchers_));
    }
    return PerName(series);
  }

  const Selection selection_;
  const std::string matchers_;
};

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
  Selection selection;
  if (query.gpu) {
    PODGPU_ASSIGN_OR_RETURN(selection, SelectionOfGpu(query, facts));
  } else if (query.label) {
    PODGPU_ASSIGN_OR_RETURN(selection, SelectionOfGroup(query, facts));
  }
  std::string promql = HistoryText(std::move(selection), matchers).Whole();
  if (promql.size() > kMostQueryBytes) {
    return absl::ResourceExhaustedError("the group has too many nodes for one query");
  }
  return promql;
}

}  // namespace podgpu
