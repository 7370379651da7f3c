#include "metrics_api/values/metric_question.h"

#include <algorithm>

#include "absl/strings/str_format.h"

#include "base/text.h"

namespace podgpu {
namespace {

constexpr double kPercentPerWhole = 100;
constexpr const char* kNoNode = "no node has answered podgpu recently, so no GPU has a fresh value";

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

// `wanted`: what no pod holds. `unknown`: as of UnknownDevices.
Status NothingHeldLike(const MetricsTable& table, const std::string& wanted,
                       const std::string& unknown) {
  if (table.gpus.empty()) {
    return absl::NotFoundError(
        table.live_nodes == 0
            ? kNoNode
            : "no node tells which pods hold its GPUs; see the verdicts of the nodes");
  }
  std::string reason = wanted;
  if (!unknown.empty()) {
    reason += "; " + unknown;
  } else if (table.nodes_without_holders > 0) {
    absl::StrAppendFormat(&reason, "; %d nodes do not tell which pods hold their GPUs",
                          table.nodes_without_holders);
  }
  if (table.has_hidden_pods) {
    reason += "; some nodes do not tell the names of all pods (--api-namespaces)";
  }
  return absl::NotFoundError(reason);
}

Status NothingHeld(const MetricsTable& table, std::string_view name_space,
                   const std::string& unknown = "") {
  return NothingHeldLike(
      table,
      absl::StrFormat("no pod of the namespace %s holds a GPU that the selector selects",
                      Quoted(name_space)),
      unknown);
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

// Averages a measure over the samples of devices in which they are in use.
class InUseAverage {
 public:
  explicit InUseAverage(size_t measure) : measure_(measure) {}

  void Add(const TableDevice& device) {
    ++selected_;
    const InUseTally& tally = device.in_use[measure_];
    if (tally.known == 0) {
      return;
    }
    oldest_ms_ = devices_ == 0 ? tally.oldest_ms : std::min(oldest_ms_, tally.oldest_ms);
    ++devices_;
    in_use_ += tally.in_use == 0 ? 0U : 1U;
    samples_ += tally.in_use;
    shares_ += tally.shares;
  }

  bool is_empty() const { return selected_ == 0; }

  // `unknown` says which further devices may be in use; empty: there are none. Then 0 is the truth.
  StatusOr<InUseMean> Mean(const std::string& unknown) const {
    if (devices_ == 0) {
      return absl::NotFoundError(absl::StrFormat(
          "none of the %d selected GPUs has a value of the measure %s, or it is not known whether "
          "they are in use; see the pages of their nodes, or choose another measure, such as %s",
          selected_, kAveragedMeasureNames[measure_],
          kAveragedMeasureNames[measure_ == static_cast<size_t>(AveragedMeasure::kSm) ? 0 : 1]));
    }
    if (shares_ == 0 && !unknown.empty()) {
      return absl::NotFoundError("the selected GPUs do nothing as far as known, but " + unknown);
    }
    if (shares_ == 0 && devices_ < selected_) {
      return absl::NotFoundError(absl::StrFormat(
          "the selected GPUs do nothing as far as known, but %d of them have no value of the "
          "measure %s, or it is not known whether they are in use",
          selected_ - devices_, kAveragedMeasureNames[measure_]));
    }
    const double percent =
        samples_ == 0 ? 0 : shares_ / static_cast<double>(samples_) * kPercentPerWhole;
    return InUseMean{{percent, oldest_ms_}, devices_, in_use_};
  }

 private:
  const size_t measure_;
  size_t selected_ = 0, devices_ = 0, in_use_ = 0;
  uint64_t samples_ = 0;
  double shares_ = 0;
  int64_t oldest_ms_ = 0;
};

// Says which devices may be in use without a sample that says so; empty: there are none. `selects`
// takes a row of MetricsTable::unknown.
template <typename Selects>
std::string UnknownDevices(const MetricsTable& table, Selects selects) {
  if (table.nodes_unread > 0) {
    return absl::StrFormat(
        "%d nodes have not answered podgpu yet; repair them, or take them out of --nodes",
        table.nodes_unread);
  }
  if (table.may_have_more_nodes) {
    return "the list of nodes is not complete; /readyz of podgpu cluster says why";
  }
  const auto found = std::ranges::find_if(table.unknown, selects);
  if (found == table.unknown.end()) {
    return "";
  }
  return absl::StrFormat(
      "the node %s %s", Quoted(table.nodes[found->node]),
      found->is_away ? "no longer answers podgpu" : "does not tell which pods hold its GPUs");
}

StatusOr<TimedValue> AskAverage(const MetricsTable& table, std::string_view name_space,
                                const LabelSelector& labels) {
  PODGPU_ASSIGN_OR_RETURN(
      const TableSelector selector,
      TableSelector::Make(table, labels, "namespace, workload, model, node, measure"));
  InUseAverage average(selector.measure());
  VisitHeld(table, name_space, selector, [&](const TableDevice& device) { average.Add(device); });
  const std::string unknown = UnknownDevices(table, [&](const TableUnknown& row) {
    const bool may_be_of_pod =
        row.kind == TableUnknown::Kind::kOfAny ||
        (row.kind == TableUnknown::Kind::kOfPod && table.namespaces[row.name_space] == name_space &&
         selector.SelectsNamespace(name_space) && selector.SelectsWorkload(row.workload));
    return may_be_of_pod && selector.SelectsNode(row.node) && selector.SelectsModel(row.model);
  });
  if (average.is_empty()) {
    return NothingHeld(table, name_space, unknown);
  }
  PODGPU_ASSIGN_OR_RETURN(const InUseMean mean, average.Mean(unknown));
  return mean.percent;
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

// Which of the texts are `wanted`: all, if it is empty.
std::vector<bool> Selected(const std::vector<std::string>& texts, const std::string& wanted) {
  std::vector<bool> selected(texts.size());
  for (size_t i = 0; i < texts.size(); ++i) {
    selected[i] = wanted.empty() || texts[i] == wanted;
  }
  return selected;
}

// Names what the question selects, so that a typing error can be seen.
Status NothingToAverage(const MetricsTable& table, const InUseQuestion& question,
                        const std::string& unknown) {
  if (table.devices.empty()) {
    return absl::NotFoundError(table.live_nodes == 0 ? kNoNode
                                                     : "the nodes that answer have no GPU");
  }
  const bool is_held = !question.name_space.empty() || !question.workload.empty();
  std::string wanted = is_held ? "no pod holds a GPU with" : "there is no GPU with";
  for (const auto& [name, value] :
       {std::pair("namespace", &question.name_space), std::pair("workload", &question.workload),
        std::pair("model", &question.model)}) {
    if (!value->empty()) {
      absl::StrAppendFormat(&wanted, " %s=%s", name, Quoted(*value));
    }
  }
  return is_held ? NothingHeldLike(table, wanted, unknown) : absl::NotFoundError(wanted);
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

StatusOr<InUseMean> AskInUse(const MetricsTable& table, const InUseQuestion& question) {
  const std::vector<bool> namespaces = Selected(table.namespaces, question.name_space);
  const std::vector<bool> workloads = Selected(table.workloads, question.workload);
  const std::vector<bool> models = Selected(table.models, question.model);
  const auto selects_pods = [&](uint32_t name_space, uint32_t workload) {
    return namespaces[name_space] && workloads[workload];
  };
  const bool asks_for_pods = !question.name_space.empty() || !question.workload.empty();
  std::vector<bool> is_selected(table.devices.size(), !asks_for_pods);
  for (size_t i = 0; asks_for_pods && i < table.holdings.size(); ++i) {
    const TableHolding& holding = table.holdings[i];
    const auto begin = table.held_by.begin() + holding.first_workload;
    if (std::any_of(begin, begin + holding.workload_count, [&](uint32_t workload) {
          return selects_pods(holding.name_space, workload);
        })) {
      is_selected[holding.device] = true;
    }
  }
  InUseAverage average(static_cast<size_t>(question.measure));
  for (size_t i = 0; i < table.devices.size(); ++i) {
    if (is_selected[i] && models[table.devices[i].model]) {
      average.Add(table.devices[i]);
    }
  }
  const std::string unknown = UnknownDevices(table, [&](const TableUnknown& row) {
    const bool may_be_of_pod =
        row.kind == TableUnknown::Kind::kOfAny ||
        (row.kind == TableUnknown::Kind::kOfPod && selects_pods(row.name_space, row.workload));
    return models[row.model] && (asks_for_pods ? may_be_of_pod : row.is_away);
  });
  return average.is_empty() ? NothingToAverage(table, question, unknown) : average.Mean(unknown);
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
