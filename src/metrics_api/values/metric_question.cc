#include "metrics_api/values/metric_question.h"

#include <algorithm>

#include "absl/strings/str_format.h"

#include "base/text.h"

namespace podgpu {
namespace {

constexpr double kPercentPerWhole = 100;

std::string AllLabels(const MetricsTable& table, std::string_view own) {
  std::string all(own);
  for (const std::string& key : table.label_keys) {
    all += ", " + key;
  }
  return all;
}

// A selector with its answers for each text of a table.
class TableSelector {
 public:
  // `own`: the labels of the metric besides those of nodes.
  static StatusOr<TableSelector> Make(const MetricsTable& table, const LabelSelector& selector,
                                      std::string_view own) {
    TableSelector made;
    for (const LabelRequirement& requirement : selector.requirements) {
      if (!made.Take(table, requirement, own)) {
        return absl::InvalidArgumentError(
            absl::StrFormat("the metric has no label %s; its labels are %s. Labels of nodes need "
                            "--metrics-api-node-labels",
                            Quoted(requirement.key), AllLabels(table, own)));
      }
    }
    return made;
  }

  bool SelectsNamespace(std::string_view name_space) const {
    return AllMet(name_space_, name_space);
  }
  bool SelectsNode(uint32_t node) const { return nodes_.empty() || nodes_[node]; }
  bool SelectsModel(uint32_t model) const { return models_.empty() || models_[model]; }
  bool SelectsWorkload(uint32_t workload) const {
    return workloads_.empty() || workloads_[workload];
  }
  size_t measure() const { return measure_; }

 private:
  using Requirements = std::vector<const LabelRequirement*>;

  static bool AllMet(const Requirements& requirements, std::string_view value) {
    return std::ranges::all_of(requirements,
                               [&](const LabelRequirement* one) { return one->IsMetBy(value); });
  }

  bool Take(const MetricsTable& table, const LabelRequirement& requirement, std::string_view own) {
    const std::string_view key = requirement.key;
    const std::vector<std::string_view> labels = Split(own, ',');
    const bool is_own =
        std::ranges::any_of(labels, [&](std::string_view label) { return Trim(label) == key; });
    if (!is_own) {
      const auto known = std::ranges::find(table.label_keys, key);
      if (known == table.label_keys.end()) {
        return false;
      }
      TakeNodeLabel(table, static_cast<size_t>(known - table.label_keys.begin()), requirement);
    } else if (key == "namespace") {
      name_space_.push_back(&requirement);
    } else if (key == "node") {
      Narrow(table.nodes, requirement, nodes_);
    } else if (key == "model") {
      Narrow(table.models, requirement, models_);
    } else if (key == "workload") {
      Narrow(table.workloads, requirement, workloads_);
    } else {
      return TakeMeasure(requirement);
    }
    return true;
  }

  static void Narrow(const std::vector<std::string>& texts, const LabelRequirement& requirement,
                     std::vector<bool>& selected) {
    selected.resize(texts.size(), true);
    for (size_t i = 0; i < texts.size(); ++i) {
      selected[i] = selected[i] && requirement.IsMetBy(texts[i]);
    }
  }

  void TakeNodeLabel(const MetricsTable& table, size_t key, const LabelRequirement& requirement) {
    nodes_.resize(table.nodes.size(), true);
    for (size_t i = 0; i < table.nodes.size(); ++i) {
      const std::optional<std::string>& value = table.node_labels[i][key];
      nodes_[i] = nodes_[i] && requirement.IsMetBy(value ? std::optional<std::string_view>(*value)
                                                         : std::nullopt);
    }
  }

  // Chooses what is averaged; only measure=NAME has a meaning.
  bool TakeMeasure(const LabelRequirement& requirement) {
    const auto* const found =
        requirement.values.size() == 1 && requirement.op == LabelRequirement::Operator::kIn
            ? std::ranges::find(kAveragedMeasureNames, std::string_view(requirement.values.front()))
            : kAveragedMeasureNames.end();
    measure_ = static_cast<size_t>(found - kAveragedMeasureNames.begin());
    return found != kAveragedMeasureNames.end();
  }

  Requirements name_space_;
  std::vector<bool> nodes_, models_, workloads_;  // Flags by number; empty: all are selected.
  size_t measure_ = 0;
};

// The rows of one namespace.
template <typename Row>
std::span<const Row> RowsOf(const MetricsTable& table, const std::vector<Row>& rows,
                            std::string_view name_space) {
  const auto found = std::ranges::find(table.namespaces, name_space);
  if (found == table.namespaces.end()) {
    return {};
  }
  const auto number = static_cast<uint32_t>(found - table.namespaces.begin());
  const auto range = std::ranges::equal_range(rows, number, {}, &Row::name_space);
  return {range.begin(), range.end()};
}

Status NothingHeld(const MetricsTable& table, std::string_view name_space) {
  if (table.gpus.empty()) {
    return absl::NotFoundError(
        table.nodes.empty()
            ? "no node has answered podgpu recently, so no GPU has a fresh value"
            : "no node tells which pods hold its GPUs; see the verdicts of the nodes");
  }
  const std::string unknown = absl::StrFormat("; %d nodes do not tell which pods hold their GPUs",
                                              table.nodes_without_holders);
  return absl::NotFoundError(
      absl::StrFormat("no pod of the namespace %s holds a GPU that the selector selects%s",
                      Quoted(name_space), table.nodes_without_holders == 0 ? "" : unknown));
}

constexpr std::string_view kHeldLabels = "namespace, workload, model, node";

// Calls `visit` with each selected device that pods of the namespace hold; returns their number.
template <typename Visit>
size_t VisitHeld(const MetricsTable& table, std::string_view name_space,
                 const TableSelector& selector, Visit visit) {
  if (!selector.SelectsNamespace(name_space)) {
    return 0;
  }
  size_t count = 0;
  for (const TableHolding& holding : RowsOf(table, table.holdings, name_space)) {
    const TableDevice& device = table.devices[holding.device];
    if (!selector.SelectsNode(device.node) || !selector.SelectsModel(device.model)) {
      continue;
    }
    const auto begin = table.held_by.begin() + holding.first_workload;
    if (std::any_of(begin, begin + holding.workload_count,
                    [&](uint32_t workload) { return selector.SelectsWorkload(workload); })) {
      ++count;
      visit(device);
    }
  }
  return count;
}

StatusOr<TimedValue> AskAverage(const MetricsTable& table, std::string_view name_space,
                                const LabelSelector& labels) {
  PODGPU_ASSIGN_OR_RETURN(
      const TableSelector selector,
      TableSelector::Make(table, labels, "namespace, workload, model, node, measure"));
  InUseTally sum;
  const size_t held = VisitHeld(table, name_space, selector, [&](const TableDevice& device) {
    const InUseTally& tally = device.in_use[selector.measure()];
    if (tally.known > 0) {
      sum.oldest_ms = sum.known == 0 ? tally.oldest_ms : std::min(sum.oldest_ms, tally.oldest_ms);
      sum.known += tally.known;
      sum.in_use += tally.in_use;
      sum.shares += tally.shares;
    }
  });
  if (held == 0) {
    return NothingHeld(table, name_space);
  }
  if (sum.known == 0) {
    return absl::NotFoundError(absl::StrFormat(
        "none of the %d selected GPUs has a value of the measure %s; choose another one, such as "
        "measure=sm",
        held, kAveragedMeasureNames[selector.measure()]));
  }
  return TimedValue{sum.in_use == 0 ? 0 : sum.shares / sum.in_use * kPercentPerWhole,
                    sum.oldest_ms};
}

// Sums a figure of the devices over those that have it.
StatusOr<TimedValue> AskSum(const MetricsTable& table, std::string_view name_space,
                            const LabelSelector& labels,
                            std::optional<TimedValue> TableDevice::*figure) {
  PODGPU_ASSIGN_OR_RETURN(const TableSelector selector,
                          TableSelector::Make(table, labels, kHeldLabels));
  TimedValue sum;
  size_t known = 0;
  const size_t held = VisitHeld(table, name_space, selector, [&](const TableDevice& device) {
    if (const std::optional<TimedValue>& value = device.*figure) {
      sum.value += value->value;
      sum.oldest_ms = known == 0 ? value->oldest_ms : std::min(sum.oldest_ms, value->oldest_ms);
      ++known;
    }
  });
  if (held == 0) {
    return NothingHeld(table, name_space);
  }
  if (known == 0) {
    return absl::NotFoundError(absl::StrFormat(
        "none of the %d selected GPUs has this value; see the verdicts of their nodes", held));
  }
  return sum;
}

StatusOr<TimedValue> AskIdlePods(const MetricsTable& table, std::string_view name_space,
                                 const LabelSelector& labels) {
  PODGPU_ASSIGN_OR_RETURN(const TableSelector selector,
                          TableSelector::Make(table, labels, kHeldLabels));
  TimedValue count;
  size_t known = 0;
  size_t pods = 0;
  for (const TablePod& pod : RowsOf(table, table.pods, name_space)) {
    if (!selector.SelectsNamespace(name_space) || !selector.SelectsNode(pod.node) ||
        !selector.SelectsModel(pod.model) || !selector.SelectsWorkload(pod.workload)) {
      continue;
    }
    ++pods;
    if (pod.is_idle) {
      count.value += *pod.is_idle ? 1 : 0;
      count.oldest_ms = known == 0 ? pod.oldest_ms : std::min(count.oldest_ms, pod.oldest_ms);
      ++known;
    }
  }
  if (pods == 0) {
    return NothingHeld(table, name_space);
  }
  if (known == 0) {
    return absl::NotFoundError(
        absl::StrFormat("the activity of the GPUs of all %d selected pods is unknown", pods));
  }
  return count;
}

// GPUs belong to nodes and not to a namespace.
StatusOr<TimedValue> AskFree(const MetricsTable& table, const LabelSelector& labels) {
  PODGPU_ASSIGN_OR_RETURN(const TableSelector selector,
                          TableSelector::Make(table, labels, "model, node"));
  TimedValue count;
  size_t known = 0;
  for (const TableGpu& gpu : table.gpus) {
    if (selector.SelectsNode(gpu.node) && selector.SelectsModel(gpu.model)) {
      count.value += gpu.is_free ? 1 : 0;
      count.oldest_ms = known == 0 ? gpu.read_ms : std::min(count.oldest_ms, gpu.read_ms);
      ++known;
    }
  }
  if (known == 0) {
    return table.gpus.empty()
               ? NothingHeld(table, "")
               : absl::NotFoundError("the selector selects no GPU of a node that answers");
  }
  return count;
}

bool HasName(const PodQuestion& question, const TablePod& pod) {
  return question.name.empty() || pod.name == question.name;
}

// Why no pod has a value.
Status NoPodValue(const MetricsTable& table, const PodQuestion& question, size_t asked,
                  bool shares) {
  if (asked == 0 && question.name.empty()) {
    return table.gpus.empty()
               ? NothingHeld(table, question.name_space)
               : absl::NotFoundError(absl::StrFormat(
                     "no pod of the namespace %s that the selectors select holds a GPU",
                     Quoted(question.name_space)));
  }
  if (asked == 0) {
    return absl::NotFoundError(
        absl::StrFormat("the pod %s of the namespace %s holds no GPU of a node that answers",
                        Quoted(question.name), Quoted(question.name_space)));
  }
  if (question.metric == PodMetric::kEnergyRate) {
    return absl::NotFoundError(
        "the energy of the pod is unknown: it needs --process-metrics=on on the nodes, and two "
        "readings");
  }
  const bool has_own =
      question.metric == PodMetric::kUtilization || question.metric == PodMetric::kMemoryUsed;
  if (shares && has_own) {
    return absl::NotFoundError(
        "other pods hold the same GPU, and the node does not tell what each pod uses: it needs "
        "--process-metrics=on");
  }
  if (shares) {
    return absl::NotFoundError(
        "other pods hold the same GPU, which measures this for all of them together; use "
        "gpu_utilization or gpu_energy_rate_watts");
  }
  return absl::NotFoundError("the GPU of the pod has no such value; see the verdict of its node");
}

}  // namespace

StatusOr<TimedValue> AskExternal(const MetricsTable& table, ExternalMetric metric,
                                 std::string_view name_space, const LabelSelector& selector) {
  switch (metric) {
    case ExternalMetric::kAverageUtilization:
      return AskAverage(table, name_space, selector);
    case ExternalMetric::kIdlePods:
      return AskIdlePods(table, name_space, selector);
    case ExternalMetric::kFreeGpus:
      return AskFree(table, selector);
    case ExternalMetric::kMemoryUsed:
      return AskSum(table, name_space, selector, &TableDevice::memory_bytes);
    case ExternalMetric::kPower:
      return AskSum(table, name_space, selector, &TableDevice::power_watts);
  }
  return absl::InternalError("unknown metric");
}

StatusOr<std::vector<PodValue>> AskPods(const MetricsTable& table, const PodQuestion& question,
                                        const LabelSelector& labels) {
  PODGPU_ASSIGN_OR_RETURN(const TableSelector selector,
                          TableSelector::Make(table, labels, kHeldLabels));
  std::vector<PodValue> values;
  size_t asked = 0;
  bool shares = false;
  for (const TablePod& pod : RowsOf(table, table.pods, question.name_space)) {
    if (!HasName(question, pod) || !selector.SelectsNamespace(question.name_space) ||
        !selector.SelectsNode(pod.node) || !selector.SelectsModel(pod.model) ||
        !selector.SelectsWorkload(pod.workload) ||
        (question.selects && !question.selects(pod.name))) {
      continue;
    }
    ++asked;
    shares = shares || pod.shares_gpu;
    if (const auto& value = pod.values[static_cast<size_t>(question.metric)]) {
      values.push_back({pod.name, *value});
    }
  }
  if (values.empty()) {
    return NoPodValue(table, question, asked, shares);
  }
  return values;
}

}  // namespace podgpu
