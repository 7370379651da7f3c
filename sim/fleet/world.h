// What the nodes of a simulated fleet report: one world, told by thousands of nodes.
//
// Each node is the world of the scenario at another time, so that no two do the same at once, with
// a name, boards and pods of its own: UUIDs differ, and a pod's number goes on from node to node,
// as that of a StatefulSet does.  What is told is what podgpu would read there through DCGM, of the
// same second.  Of the scenario's faults only lost GPUs show.  The world outlives the object; any
// thread.
#pragma once

#include <string>

#include "report/node_report.h"
#include "sim/world/world.h"

namespace podgpu::sim {

class FleetWorld {
 public:
  FleetWorld(const World& world, size_t nodes) : world_(world), nodes_(nodes) {}

  // The report that `node` makes at the fleet's time `t`; the same through each second.
  NodeReport ReportOf(size_t node, TimeUs t) const;

 private:
  const World& world_;
  const size_t nodes_;
};

// "GPU-5e0c...": that of `uuid`, but of this node; node 0 keeps it.
std::string FleetUuid(std::string_view uuid, size_t node);
// "trainer-3" of node 7 of 100 is "trainer-307", "notebook" is "notebook-7".
std::string FleetPodName(std::string_view pod, size_t node, size_t nodes);

}  // namespace podgpu::sim
