// Which pods hold a device, by what the kubelet has given out and the API server calls them.
//
// A pod counts once, whichever of its containers has the device, a replica of it or an instance in
// it.  Who has no uid yet is left out, since nobody could tell which processes are its.  Pure but
// for the numbers it takes from the book; the tick thread calls it, when one of the facts has
// changed.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "facts/tick_facts.h"
#include "process/pod_book.h"
#include "usage/learned_pods.h"
#include "view/process_view.h"

namespace podgpu {

struct DeviceHolders {
  std::vector<PodNumber> pods;  // Ascending.
  std::map<PodNumber, ProcessNames::Holding> holdings;

  // Null for who does not hold the device.
  const ProcessNames::Holding* HoldingOf(PodNumber pod) const;
};

// Who says which uid the pod of an owner has.  Borrows both.
struct PodUids {
  const ApiFacts* api = nullptr;                   // Null where the API server is not asked.
  const LearnedPods& learned;                      // Knows nothing where the API server tells.
  std::span<const std::string> younger_pods = {};  // Than the kubelet's answer.

  // As it stands in cgroups: of a static pod the hash of its file.  Empty while it is not known.
  std::string Of(const Owner& owner) const;
};

// Of the GPU with this UUID.  There is a grid.
DeviceHolders HoldersOf(const std::string& uuid, const TickFacts& facts, const PodUids& uids,
                        PodBook& book);

}  // namespace podgpu
