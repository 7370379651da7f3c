// Which of our own numbers have ever been other than 0, so that the others are left off the page.
//
// Owned by the tick, which hands it the slots of each page.  A number of a row that is shown once
// it has been seen (view/shown.h) becomes absent until then.  What was seen is known by family and
// labels, so that it outlasts a change of the devices.  Takes memory only when something is seen
// for the first time, and when the devices change.  Tick thread only.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "sample/value.h"
#include "topology/topology.h"
#include "view/shown.h"

namespace podgpu {

// One slot: which line it is, and when that is shown.
struct SlotLine {
  std::string key;  // Family and labels.
  Shown shown = Shown::kAlways;
};

class SlotHistory {
 public:
  // Makes those of `slots` absent that are not shown.  They are laid out for `topology`, which is
  // null before the first reading.
  void Withdraw(const Topology* topology, std::vector<Value>& slots);

 private:
  void TakeLayout(const Topology* topology);

  std::optional<uint64_t> epoch_;  // Of the layout; nothing: none yet, or that of no topology.
  std::vector<SlotLine> lines_;
  std::vector<bool> seen_;  // By slot.
  std::set<std::string> seen_keys_;
};

}  // namespace podgpu
