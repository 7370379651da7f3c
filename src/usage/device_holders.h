// Which pods hold a device: the kubelet says which device a pod holds, the API server which uid the
// pod has.
//
// A pod counts once, whether one or several of its containers hold the device, a replica of it or
// an instance in it.  A pod without a known uid is left out, since its processes could not be told
// from those of others.  Pure except that new pods get a number from the book.  Called on the tick
// thread when one of the facts has changed.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "facts/tick_facts.h"
#include "process/pod_numbers.h"
#include "usage/learned_pods.h"
#include "view/process_view.h"

namespace podgpu {

struct DeviceHolders {
  std::vector<PodNumber> pods;  // Ascending.
  std::map<PodNumber, ProcessNames::Holding> holdings;

  // Returns null for a pod that does not hold the device.
  const ProcessNames::Holding* HoldingOf(PodNumber pod) const;
};

// Finds the uid of an owner's pod.  Borrows all members.
struct PodUids {
  const ApiFacts* api = nullptr;                   // Null where the API server is not used.
  const LearnedPods& learned;                      // Empty where the API server lists pods.
  std::span<const std::string> younger_pods = {};  // Created after the kubelet's answer.

  // Returns the uid that cgroups carry; for a static pod this is the hash of its file.  Empty while
  // the uid is unknown.
  std::string Of(const Owner& owner) const;
};

// Returns the holders of the GPU with this UUID.  `facts.grid` is not null.
DeviceHolders HoldersOf(const std::string& uuid, const TickFacts& facts, const PodUids& uids,
                        PodNumbers& book);

}  // namespace podgpu
