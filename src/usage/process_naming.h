// Names for the labels of process rows, from pod uids, container ids and devices.
//
// The cgroup of a process has the uid of its pod and the id of its container; the API server and
// the kubelet have the names.  Order of precedence: the API server's names; then a name found
// before, which stays as long as a row needs it, also after the pod has ended; then names learned
// from devices that only one container holds (learned_pods.h); and for a container, the only
// container of its pod that holds devices.  Pure; called on the tick thread when one of the inputs
// has changed.
#pragma once

#include "attribution/owner.h"
#include "facts/thread_facts.h"
#include "kube/api_object.h"
#include "process/process_table.h"
#include "topology/topology.h"
#include "usage/learned_pods.h"
#include "view/process_view.h"

namespace podgpu {

// All borrowed for the call.
struct NamingFacts {
  const ProcessFacts& processes;  // UUIDs of device numbers.
  const Topology& topology;
  const ApiObjects* pods = nullptr;        // Null until the API server has listed pods.
  const Owners* owners = nullptr;          // Owners from the kubelet; null while unknown.
  const LearnedPods* learned = nullptr;    // Null where the API server lists pods.
  std::vector<std::string> pod_uids = {};  // Further pods that need names, beside the table's.
};

// Returns the names of everything in `table`; `before` is the previous result.
ProcessNames NameProcesses(const ProcessTable& table, const NamingFacts& facts,
                           const ProcessNames& before);

}  // namespace podgpu
