// What rows of processes are called: from uids, container ids and devices to the words of labels.
//
// A process knows the uid of its pod and the id of its container, from its cgroup; names are the
// business of the API server and the kubelet.  The API server's word comes first.  Where it says
// nothing of a container, a pod of which one container alone holds devices tells it.  Where it says
// nothing at all, devices that one container holds alone do (learned_pods.h).  A name that
// was once found stays, as long as a row needs it: a pod that has ended is still called what it
// was.  Pure; the tick thread calls it, only when something that names depend on has changed.
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
  const ProcessFacts& processes;  // Which number is which device.
  const Topology& topology;
  const ApiObjects* pods = nullptr;  // Null where the API server is not asked, or said nothing yet.
  const Owners* owners = nullptr;    // By the kubelet; null while unknown.
  const LearnedPods* learned = nullptr;  // Null where the API server tells.
  std::vector<std::string> pod_uids =
      {};  // Of pods that are named too, besides those in the table.
};

// The names of all that is in `table`; `before` is what this gave last.
ProcessNames NameProcesses(const ProcessTable& table, const NamingFacts& facts,
                           const ProcessNames& before);

}  // namespace podgpu
