// Which of our own numbers have ever been other than 0, so that the others are left off the page.
//
// Owned by the section of a view (page_sections.h), which hands it the numbers of each page.  A
// number of a row that is shown once it has been seen (view/shown.h) is absent until then.  What
// was seen is known by family and labels, so it outlasts a change of the devices.  Takes memory
// only when something is seen for the first time, and when the devices change.  Tick thread only.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "health/self_metrics.h"
#include "sample/value.h"
#include "topology/topology.h"

namespace podgpu {

class SlotHistory {
 public:
  explicit SlotHistory(SlotView view) : view_(view) {}

  // Makes those of `slots` absent that are not shown.  They are all slots of the view, laid out for
  // `topology`, which is null before the first reading.
  void Withdraw(const Topology* topology, std::span<Value> slots);

 private:
  void TakeLayout(const Topology* topology);

  const SlotView view_;
  std::optional<uint64_t> epoch_;  // Of the layout; nothing: none yet, or that of no topology.
  std::vector<SlotLine> lines_;
  std::vector<bool> seen_;  // By slot.
  std::set<std::string> seen_keys_;
};

}  // namespace podgpu
