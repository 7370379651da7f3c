// Which containers the page of requests and use is about, which cards are theirs, and how their
// processes are known.
//
// The API server names pods, what they ask for and the ids of their containers.  Without it there
// are those that the kubelet has given devices to: a container that has a device for itself is
// known by the one container whose processes run there; of those that share one, nobody can tell
// whose process is whose.  Pure; the tick thread calls it, when one of the facts has changed.
#pragma once

#include <span>
#include <string>
#include <vector>

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
  const ProcessFacts& processes;  // Which number is which device.
  const ProcessTable& table;
  const ApiObjects* pods = nullptr;  // Of this node; null while the API server has said nothing.
  const Owners* owners = nullptr;    // By the kubelet; null while unknown.
  std::span<const std::string> more_cards = {};  // Names of resources.
};

// Sorted by namespace, pod and container.
std::vector<CardUser> FindCardUsers(const CardFacts& facts);

}  // namespace podgpu
