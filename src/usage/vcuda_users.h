// Finds the containers on the page of requests and use, their cards, and the container ids that
// their processes carry.
//
// The API server lists pods with their requests and container ids.  Without it the page has the
// containers to which the kubelet has allocated devices.  If such a container holds a device alone,
// the only container id among the processes there is its id.  Containers that share all their
// devices stay without an id, since their processes cannot be told apart.  Pure; called on the tick
// thread when one of the facts has changed.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "attribution/join.h"
#include "attribution/owner.h"
#include "facts/thread_facts.h"
#include "kube/api_object.h"
#include "process/process_table.h"
#include "topology/topology.h"
#include "view/vcuda_view.h"

namespace podgpu {

// All borrowed for the call.
struct CardFacts {
  const Topology& topology;
  const ProcessFacts& processes;  // UUIDs of device numbers.
  const ProcessTable& table;
  // Pods of this node; null until the API server has listed pods.
  const ApiObjects* pods = nullptr;
  const Owners* owners = nullptr;  // Owners from the kubelet; null while unknown.
  const JoinOptions& join;  // Names further resources that are cards, and pods that hold none.
  std::optional<uint64_t> volcano_unit_mib = {};  // Unit for AskedBy (gpu_request.h).
};

// Sorted by namespace, pod and container.
std::vector<CardUser> FindCardUsers(const CardFacts& facts);

}  // namespace podgpu
