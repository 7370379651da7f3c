#include "cluster/cluster_facts.h"

#include <algorithm>
#include <array>
#include <span>

#include "absl/strings/str_format.h"

#include "base/version.h"
#include "cluster/cluster_row.h"

namespace podgpu {
namespace {

void PushCount(uint64_t count, std::vector<Value>& slots) {
  slots.push_back(Value::OfInt64(static_cast<int64_t>(count)));
}

FactLabels Unlabelled(const ClusterFacts& /*facts*/) { return {{}}; }

FactLabels VersionLabel(const ClusterFacts& /*facts*/) {
  return {{{"version", std::string(kVersion)}}};
}

FactLabels StateNames(const ClusterFacts& /*facts*/) {
  FactLabels sets;
  for (int i = 0; i < kNodeWordCount; ++i) {
    sets.push_back({{"state", std::string(NodeStateName(static_cast<NodeState>(i)))}});
  }
  return sets;
}

FactLabels ResultNames(const ClusterFacts& /*facts*/) {
  FactLabels sets;
  for (int i = 0; i < kFetchResultCount; ++i) {
    sets.push_back({{"result", std::string(FetchResultName(static_cast<FetchResult>(i)))}});
  }
  return sets;
}

FactLabels NodeFactLabels(const ClusterFacts& facts) {
  FactLabels sets;
  for (const NodeEntry& node : facts.fleet->nodes) {
    sets.push_back(
        {{"address", node.address.id}, {"node", node.report == nullptr ? "" : node.report->node}});
  }
  return sets;
}

FactLabels NodeStateLabels(const ClusterFacts& facts) {
  FactLabels sets = NodeFactLabels(facts);
  for (size_t i = 0; i < sets.size(); ++i) {
    sets[i].push_back({"state", std::string(NodeStateName(facts.states[i]))});
    sets[i].push_back({"reason", std::string(NodeReason(facts.fleet->nodes[i], facts.states[i]))});
  }
  return sets;
}

void WriteOne(const ClusterFacts& /*facts*/, std::vector<Value>& slots) { PushCount(1, slots); }

void WriteReady(const ClusterFacts& facts, std::vector<Value>& slots) {
  PushCount(JudgeCluster(facts).ready ? 1 : 0, slots);
}

void WriteStates(const ClusterFacts& facts, std::vector<Value>& slots) {
  std::array<uint64_t, kNodeWordCount> counts{};
  for (const NodeState state : facts.states) {
    ++counts[NodeWordIndex(state)];
  }
  for (const uint64_t count : counts) {
    PushCount(count, slots);
  }
}

void WriteOnePerNode(const ClusterFacts& facts, std::vector<Value>& slots) {
  slots.insert(slots.end(), facts.fleet->nodes.size(), Value::OfInt64(1));
}

void WriteAges(const ClusterFacts& facts, std::vector<Value>& slots) {
  for (const NodeEntry& node : facts.fleet->nodes) {
    const double age_s = std::chrono::duration<double>(facts.now - node.read_at).count();
    slots.push_back(node.report == nullptr ? Value::OfAbsence(Absence::kNoData)
                                           : Value::OfDouble(std::max(age_s, 0.0)));
  }
}

void WriteFailures(const ClusterFacts& facts, std::vector<Value>& slots) {
  for (const NodeEntry& node : facts.fleet->nodes) {
    PushCount(node.failures, slots);
  }
}

FactLabels MeasuresOfPrometheus(const ClusterFacts& facts) {
  FactLabels sets;
  for (size_t i = 0; facts.prometheus != nullptr && i < kInUseMeasureCount; ++i) {
    sets.push_back({{"measure", std::string(InUseMeasureName(static_cast<InUseMeasure>(i)))}});
  }
  return sets;
}

FactLabels ResultsOfPrometheus(const ClusterFacts& facts) {
  return facts.prometheus == nullptr ? FactLabels() : ResultNames(facts);
}

void WritePrometheusUp(const ClusterFacts& facts, std::vector<Value>& slots) {
  if (facts.prometheus != nullptr) {
    for (const PrometheusReading::Measure& measure : facts.prometheus->measures) {
      PushCount(measure.last && IsGood(*measure.last) ? 1 : 0, slots);
    }
  }
}

void WritePrometheusAges(const ClusterFacts& facts, std::vector<Value>& slots) {
  if (facts.prometheus != nullptr) {
    for (const PrometheusReading::Measure& measure : facts.prometheus->measures) {
      const double age_s = std::chrono::duration<double>(facts.now - measure.read_at).count();
      slots.push_back(measure.sums == nullptr ? Value::OfAbsence(Absence::kNoData)
                                              : Value::OfDouble(std::max(age_s, 0.0)));
    }
  }
}

void WritePrometheusQueries(const ClusterFacts& facts, std::vector<Value>& slots) {
  if (facts.prometheus != nullptr) {
    for (const uint64_t count : facts.prometheus->queries) {
      PushCount(count, slots);
    }
  }
}

void WriteFetches(const ClusterFacts& facts, std::vector<Value>& slots) {
  for (const uint64_t count : facts.fleet->fetches) {
    PushCount(count, slots);
  }
}

FactLabels UnlabelledWithGroups(const ClusterFacts& facts) {
  return facts.labels == nullptr ? FactLabels() : FactLabels{{}};
}

constexpr ClusterRow kClusterRows[] = {
    {"podgpu_build_info", "gauge", "", "Always 1; the label has the version of podgpu.",
     VersionLabel, WriteOne},
    {"podgpu_cluster_ready", "gauge", "",
     "1 when every node that was found has been asked, else 0: the map is not complete yet.",
     Unlabelled, WriteReady},
    {"podgpu_cluster_nodes", "gauge", "",
     "Nodes by state. The pages contain only the nodes in the states ok and degraded."
     " A node whose name another node has is degraded and not on the pages.",
     StateNames, WriteStates},
    {"podgpu_cluster_node_state", "gauge", "",
     "Always 1; the state of each node, and its reason: the result of the last request, if it"
     " failed, or duplicate if another node has its name.",
     NodeStateLabels, WriteOnePerNode},
    {"podgpu_cluster_node_age_seconds", "gauge", "seconds",
     "Time since the node read the values of its report.", NodeFactLabels, WriteAges},
    {"podgpu_cluster_node_failures_total", "counter", "", "Failed requests to the node.",
     NodeFactLabels, WriteFailures},
    {"podgpu_cluster_fetches_total", "counter", "",
     "Requests to nodes, by result; unchanged: the node answered that nothing has changed.",
     ResultNames, WriteFetches},
    {"podgpu_cluster_discovery_up", "gauge", "",
     "1 when the last search for nodes was complete, else 0: then the nodes found before stay.",
     Unlabelled,
     [](const ClusterFacts& facts, std::vector<Value>& slots) {
       PushCount(facts.list->is_ok ? 1 : 0, slots);
     }},
    {"podgpu_cluster_discovery_failures_total", "counter", "",
     "Searches for nodes that failed or were incomplete.", Unlabelled,
     [](const ClusterFacts& facts, std::vector<Value>& slots) {
       PushCount(facts.list->failures, slots);
     }},
    {"podgpu_cluster_gpus", "gauge", "", "GPUs of the nodes that are on the pages.", Unlabelled,
     [](const ClusterFacts& facts, std::vector<Value>& slots) {
       PushCount(facts.map.gpus.size(), slots);
     }},
    {"podgpu_cluster_repeated_gpus", "gauge", "",
     "GPUs that are left out because another GPU has the same UUID.", Unlabelled,
     [](const ClusterFacts& facts, std::vector<Value>& slots) {
       PushCount(facts.map.repeated_gpus, slots);
     }},
    {"podgpu_cluster_hidden_owners", "gauge", "",
     "Holders of GPUs that are not on the map because their nodes do not report their namespaces "
     "(--api-namespaces of the node).",
     Unlabelled,
     [](const ClusterFacts& facts, std::vector<Value>& slots) {
       PushCount(facts.map.hidden_owners, slots);
     }},
    {"podgpu_cluster_prometheus_up", "gauge", "",
     "1 when the Prometheus of --in-use-prometheus answered the last query for the measure.",
     MeasuresOfPrometheus, WritePrometheusUp},
    {"podgpu_cluster_prometheus_age_seconds", "gauge", "seconds",
     "Time since Prometheus last answered the query for the measure.", MeasuresOfPrometheus,
     WritePrometheusAges},
    {"podgpu_cluster_prometheus_queries_total", "counter", "",
     "Queries to the Prometheus of --in-use-prometheus, by result.", ResultsOfPrometheus,
     WritePrometheusQueries},
    {"podgpu_cluster_history_queries_total", "counter", "",
     "Queries for /api/v1/history to the Prometheus of --in-use-prometheus, by result.",
     ResultsOfPrometheus,
     [](const ClusterFacts& facts, std::vector<Value>& slots) {
       for (const uint64_t count : facts.prometheus == nullptr
                                       ? std::span<const uint64_t>()
                                       : std::span<const uint64_t>(*facts.history_queries)) {
         PushCount(count, slots);
       }
     }},
    {"podgpu_cluster_node_labels_up", "gauge", "",
     "1 when the API server answered the last request for the labels of --group-labels.",
     UnlabelledWithGroups,
     [](const ClusterFacts& facts, std::vector<Value>& slots) {
       if (facts.labels != nullptr) {
         PushCount(facts.labels->is_ok ? 1 : 0, slots);
       }
     }},
    {"podgpu_cluster_node_labels_failures_total", "counter", "",
     "Failed requests for the labels of --group-labels.", UnlabelledWithGroups,
     [](const ClusterFacts& facts, std::vector<Value>& slots) {
       if (facts.labels != nullptr) {
         PushCount(facts.labels->failures, slots);
       }
     }},
};

// Calls `visit` with each row, in the order of the page.
template <typename Visit>
void VisitRows(Visit visit) {
  std::ranges::for_each(kClusterRows, visit);
  std::ranges::for_each(MetricsApiRows(), visit);
}

Family FamilyOf(const ClusterRow& row) {
  Family family;
  family.name = row.name;
  family.help = row.help;
  family.type = row.type;
  family.unit = row.unit;
  return family;
}

// The verdict when only Prometheus is configured.
ClusterCondition JudgePrometheus(const PrometheusReading& reading) {
  const auto told = std::ranges::count_if(
      reading.measures, [](const auto& measure) { return measure.last && IsGood(*measure.last); });
  if (!reading.measures[0].last) {
    return {false, "not ready: Prometheus has not been queried yet"};
  }
  std::string verdict =
      absl::StrFormat("ready: Prometheus answers %d of %d measures", told, kInUseMeasureCount);
  return {true, reading.detail.empty() ? verdict : verdict + "; " + reading.detail};
}

}  // namespace

ClusterCondition JudgeCluster(const ClusterFacts& facts) {
  const auto in = [&](NodeState state) {
    return static_cast<size_t>(std::ranges::count(facts.states, state));
  };
  if (facts.list->is_unwanted) {
    return JudgePrometheus(*facts.prometheus);
  }
  const size_t nodes = facts.states.size();
  const size_t waiting = in(NodeState::kStarting);
  if (!facts.list->is_found) {
    return {false, "not ready: " + facts.list->detail};
  }
  if (waiting > 0 || nodes < facts.list->addresses.size()) {
    return {false, absl::StrFormat("not ready: %d of %d nodes have not been contacted yet",
                                   waiting + facts.list->addresses.size() - nodes,
                                   facts.list->addresses.size())};
  }
  std::string verdict = absl::StrFormat("ready: %d of %d nodes answer, with %d GPUs",
                                        in(NodeState::kOk), nodes, facts.map.gpus.size());
  if (in(NodeState::kUnresponsive) > 0) {
    absl::StrAppendFormat(&verdict, "; %d unresponsive", in(NodeState::kUnresponsive));
  }
  const size_t degraded = in(NodeState::kDegraded) + in(NodeState::kDuplicate);
  if (degraded > 0) {
    absl::StrAppendFormat(&verdict, "; %d degraded", degraded);
  }
  const auto duplicate = std::ranges::find(facts.states, NodeState::kDuplicate);
  if (duplicate != facts.states.end()) {
    const auto index = static_cast<size_t>(duplicate - facts.states.begin());
    absl::StrAppendFormat(&verdict, ": %s", WhyDuplicate(*facts.fleet, facts.states, index));
  }
  if (facts.labels != nullptr && facts.labels->failures > 0 && !facts.labels->is_ok) {
    absl::StrAppendFormat(&verdict, "; no groups of nodes: %s", facts.labels->detail);
  }
  if (facts.metrics_api != nullptr) {
    if (const MetricsApiVerdict api = JudgeMetricsApi(*facts.metrics_api); api.has_fault) {
      absl::StrAppendFormat(&verdict, "; metrics API %s", api.text);
    }
  }
  return {true, verdict};
}

std::vector<SlotFamily> ClusterFamilies(const ClusterFacts& facts, uint32_t first_slot) {
  std::vector<SlotFamily> families;
  uint32_t slot = first_slot;
  VisitRows([&](const ClusterRow& row) {
    SlotFamily family{FamilyOf(row), {}};
    for (std::vector<Label>& labels : row.labels(facts)) {
      family.series.push_back({std::move(labels), slot++});
    }
    families.push_back(std::move(family));
  });
  return families;
}

void WriteClusterSlots(const ClusterFacts& facts, std::vector<Value>& slots) {
  VisitRows([&](const ClusterRow& row) { row.write(facts, slots); });
}

std::vector<Family> ClusterFamilyList() {
  std::vector<Family> families;
  VisitRows([&](const ClusterRow& row) { families.push_back(FamilyOf(row)); });
  return families;
}

}  // namespace podgpu
