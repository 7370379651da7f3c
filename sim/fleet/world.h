// The reports of a simulated fleet: thousands of nodes made from one world.
//
// Each node is the world of the scenario at a different time, so no two nodes do the same at once.
// Each has its own name, boards and pods: UUIDs differ, and pod numbers continue from node to node,
// as in a StatefulSet.  A report has the values that podgpu would read there through DCGM in the
// same second, and the number of processes.  Of the scenario's faults only lost GPUs are visible.
// The world must outlive the object; any thread.
#pragma once

#include <string>

#include "report/node_report.h"
#include "sim/world/world.h"

namespace podgpu::sim {

class FleetWorld {
 public:
  FleetWorld(const World& world, size_t nodes) : world_(world), nodes_(nodes) {}

  // The report of `node` at the fleet's time `t`; the same during one whole second.
  NodeReport ReportOf(size_t node, TimeUs t) const;

 private:
  const World& world_;
  const size_t nodes_;
};

// The UUID of this node's board for the world's `uuid`, "GPU-5e0c..."; node 0 keeps `uuid`.
std::string FleetUuid(std::string_view uuid, size_t node);
// The pod's name on `node`: "trainer-3" on node 7 of 100 is "trainer-307", "notebook" is
// "notebook-7".
std::string FleetPodName(std::string_view pod, size_t node, size_t nodes);

}  // namespace podgpu::sim
