// Connects the cluster role with the metrics API: which reports its window takes, and what they
// mean.
//
// In use and idle mean the same there as on the pages of the cluster role. Pure functions; tick
// thread.
#pragma once

#include <vector>

#include "cluster/cluster_facts.h"
#include "metrics_api/values/use_window.h"

namespace podgpu {

// Returns `window` with the meanings of the cluster role.
WindowOptions MetricsWindowOf(WindowOptions window, InUseMeaning meaning);

// The reports of the nodes that count, in the order of their addresses.
std::vector<WindowNode> MetricsNodesOf(const ClusterFacts& facts);

}  // namespace podgpu
