// All facts of one tick of the cluster role, and the families that report them.
//
// The tick gathers the facts once; map, slots and verdict are functions of the same facts.  The
// families form one table.  Their lines are made when a node is added, is removed or changes its
// state; their numbers are made at each tick, in the same order.  Plain data and pure functions;
// used on the tick thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "cluster/cluster_map.h"
#include "cluster/discovery.h"
#include "cluster/fleet.h"
#include "cluster/history_reader.h"
#include "cluster/in_use.h"
#include "cluster/node_labels.h"
#include "cluster/prometheus_reader.h"
#include "metrics_api/serving/tally.h"
#include "sample/value.h"
#include "view/view.h"

namespace podgpu {

struct ClusterFacts {
  Instant now{};
  WallTime wall_now{};
  std::shared_ptr<const Fleet> fleet;  // Never null; list is never null either.
  std::shared_ptr<const NodeList> list;
  std::shared_ptr<const PrometheusReading> prometheus;  // Null without --in-use-prometheus.
  std::shared_ptr<const NodeLabels> labels;             // Null without --group-labels.
  std::optional<HistoryCounts> history_queries;         // Empty without --in-use-prometheus.
  std::vector<NodeState> states;                        // One state for each node of the fleet.
  ClusterMap map;
  InUse in_use;
  std::shared_ptr<const MetricsApiFacts> metrics_api;  // Null without --metrics-api-listen.
};

// The condition of the cluster role, for /readyz and `/`.
struct ClusterCondition {
  bool ready = false;  // Every node that was found has been asked.
  std::string verdict;
};
ClusterCondition JudgeCluster(const ClusterFacts& facts);

// Returns the families; their slots start at `first_slot`.
std::vector<SlotFamily> ClusterFamilies(const ClusterFacts& facts, uint32_t first_slot);
// Appends the values of these slots.
void WriteClusterSlots(const ClusterFacts& facts, std::vector<Value>& slots);

// Returns name, type, unit and help of each family.
std::vector<Family> ClusterFamilyList();

}  // namespace podgpu
