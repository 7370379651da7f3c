// The rows of a node's status: devices with their shares and instances, pods, processes, faults and
// missing values.
//
// Parts of MakeNodeStatus (node_status_page.h), in the order in which it calls them: each may read
// what the earlier ones have added.  `facts.snapshot` has a grid.  Pure functions; HTTP thread.
#pragma once

#include <string>
#include <vector>

#include "pages/node_status_page.h"
#include "pages/power_split.h"

namespace podgpu {

void AddDevices(const NodeStatusFacts& facts, const UseCopy& use, NodeStatus& status);

// Adds the pods of all devices; last the watts of the node that no pod has.
void AddPods(const NodeStatusFacts& facts, const UseCopy& use, NodeStatus& status);

void AddProcesses(const NodeStatusFacts& facts, const UseCopy& use, NodeStatus& status);

// Works without a grid too.
void AddFaults(const NodeStatusFacts& facts, NodeStatus& status);

void AddMissing(const NodeStatusFacts& facts, const UseCopy& use, NodeStatus& status);

// Returns whether a container holds the GPU or an instance of it, as far as is known.
bool IsAllocated(const StatusGpu& gpu);

// Returns whether the device gives no more numbers, so that old ones must not stand beside it.
bool HasNoNumbers(const StatusGpu& gpu);

// Divides the power of a GPU among its processes and pods.
PowerSplit SplitOf(const NodeStatusFacts& facts, const UseCopy& use, const StatusGpu& gpu);

// Returns the use of `gpu` by the pod.
StatusUse UseOfPod(const CopiedPod& pod, const PowerSplit& split, const StatusGpu& gpu);

}  // namespace podgpu
