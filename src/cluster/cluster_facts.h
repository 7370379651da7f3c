// Everything that one tick of the cluster role knows, and the families that tell of it.
//
// The tick gathers these once; map, slots and verdict are functions of the same facts.  The
// families are one table: their lines are made when a node comes, goes or changes its state, their
// numbers at each tick, in the same order.  Plain data and pure functions; the tick thread uses
// them.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "cluster/cluster_map.h"
#include "cluster/discovery.h"
#include "cluster/fleet.h"
#include "cluster/in_use.h"
#include "cluster/prometheus_reader.h"
#include "sample/value.h"
#include "view/view.h"

namespace podgpu {

struct ClusterFacts {
  Instant now{};
  WallTime wall_now{};
  std::shared_ptr<const Fleet> fleet;  // Never null, as the next.
  std::shared_ptr<const NodeList> list;
  std::shared_ptr<const PrometheusReading> prometheus;  // Null where none is asked.
  std::vector<NodeState> states;                        // By node of the fleet.
  ClusterMap map;
  InUse in_use;
};

// How the cluster role is, for /readyz and `/`.
struct ClusterCondition {
  bool ready = false;  // Every node that was found has been asked.
  std::string verdict;
};
ClusterCondition JudgeCluster(const ClusterFacts& facts);

// Slots from `first_slot` on.
std::vector<SlotFamily> ClusterFamilies(const ClusterFacts& facts, uint32_t first_slot);
// Appends their values.
void WriteClusterSlots(const ClusterFacts& facts, std::vector<Value>& slots);

// Name, type, unit and help of each family.
std::vector<Family> ClusterFamilyList();

}  // namespace podgpu
