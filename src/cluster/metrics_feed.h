// Connects the cluster role with the metrics API: which reports its window takes, and what they
// mean.
//
// In use and idle mean the same there as on the pages of the cluster role. Pure functions; tick
// thread.
#pragma once

#include "cluster/cluster_facts.h"
#include "metrics_api/values/use_window.h"

namespace podgpu {

// Returns `window` with the meanings of the cluster role.
WindowOptions MetricsWindowOf(WindowOptions window, InUseMeaning meaning);

// The nodes in the order of their addresses. A duplicate of another node is not there at all.
WindowFleet MetricsFleetOf(const ClusterFacts& facts);

}  // namespace podgpu
