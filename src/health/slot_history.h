// Remembers which self metrics have ever been other than 0; the page leaves out the others.
//
// Owned by the section of a view (page_sections.h), which passes the numbers of each page.  A row
// with Shown::kOnceSeen (view/shown.h) is absent until its number is not 0 for the first time.
// Rows are remembered by family and labels, so a change of the devices does not reset them.
// Allocates only when a row is seen for the first time and when the devices change.  Used on the
// tick thread only.
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

  // Makes each of `slots` absent that the page must not show yet. `slots` are all slots of the view
  // for `topology`, which is null before the first reading.
  void Withdraw(const Topology* topology, std::span<Value> slots);

 private:
  void TakeLayout(const Topology* topology);

  const SlotView view_;
  std::optional<uint64_t>
      epoch_;  // Epoch of the layout; empty before the first layout, or if it has no topology.
  std::vector<SlotLine> lines_;
  std::vector<bool> seen_;  // One for each slot.
  std::set<std::string> seen_keys_;
};

}  // namespace podgpu
