// The JSON of /api/v1/fleet: every GPU of every node, with its holders and its activity.
//
// It has columns and tables of names, so 40,000 GPUs take about three megabytes; docs/api.md
// describes the format.  Tables (nodes, boards, holders) change seldom; their hash is the epoch.
// The delta has only what changes with every reading: states and values, for clients that have the
// tables of this epoch.  Times are absolute, so the bytes change only when a node has been read.
// Pure function; called on the HTTP thread.
#pragma once

#include <string>
#include <string_view>

#include "cluster/cluster_facts.h"
#include "cluster/fleet_links.h"

namespace podgpu {

struct FleetText {
  std::string epoch;  // 16 hexadecimal digits.
  std::string whole;
  std::string delta;
};

// Returns the JSON of all GPUs in `facts`; with a namespace, only of the GPUs that its pods hold
// and of their nodes.
FleetText MakeFleetText(const ClusterFacts& facts, std::string_view pod_namespace = {},
                        const FleetLinks& links = {});

}  // namespace podgpu
