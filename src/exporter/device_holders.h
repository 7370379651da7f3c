// Which pods hold a device, by what the kubelet has given out and the API server calls them.
//
// A pod counts once, whichever of its containers has the device, a replica of it or an instance in
// it.  Who has no uid yet is left out, since nobody could tell which processes are its.  Pure but
// for the numbers it takes from the book; the tick thread calls it, when one of the facts has
// changed.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "exporter/tick_facts.h"
#include "process/pod_book.h"
#include "view/process_view.h"

namespace podgpu {

struct DeviceHolders {
  std::vector<PodNumber> pods;  // Ascending.
  std::map<PodNumber, ProcessNames::Holding> holdings;

  // Null for who does not hold the device.
  const ProcessNames::Holding* HoldingOf(PodNumber pod) const;
};

// The uid of an owner's pod; empty until the API server, of which `pods` is known, has told it.
std::string UidOfOwner(const Owner& owner, const ApiFacts* pods);

// Of the GPU with this UUID.  There is a grid.
DeviceHolders HoldersOf(const std::string& uuid, const TickFacts& facts, PodBook& book);

}  // namespace podgpu
