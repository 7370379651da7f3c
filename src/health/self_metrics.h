// What podgpu says of itself and of the state of devices: families whose numbers the tick computes.
//
// One table (self_metrics.cc) names every such family with its type, unit, help, labels and the
// function that writes its values, so that page, documents and tests cannot disagree.  Slots are
// numbered in table order within a view; the layout depends only on the GPUs of the topology, the
// values on the facts of the tick.  Which of the values stand on the page is slot_history.h.  Pure;
// the tick thread calls it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "facts/tick_facts.h"
#include "sample/value.h"
#include "view/shown.h"
#include "view/view.h"

namespace podgpu {

// Which view a family belongs to; what is of the core is of the view native too.
enum class SlotView : uint8_t { kCore, kSelf };

// One slot: which line it is, and when that is shown.
struct SlotLine {
  std::string key;  // Family and labels.
  Shown shown = Shown::kAlways;
};

// The families of `view` for the GPUs of `topology` (null: before the first reading), in slots from
// `first_slot` on.
std::vector<SlotFamily> SlotFamiliesOf(SlotView view, const Topology* topology,
                                       uint32_t first_slot);

// The slots of `view` for the GPUs of `topology`, in their order.
std::vector<SlotLine> SlotLinesOf(SlotView view, const Topology* topology);

// Appends the value of every slot of `view`, in their order.
void AppendSlots(SlotView view, const TickFacts& facts, bool ready, std::vector<Value>& slots);

// One row of the generated reference.
struct SlotFamilyDoc {
  SlotView view;
  std::string_view name, type, unit, labels, help;
  Shown shown;
};
std::vector<SlotFamilyDoc> SlotFamilyDocs();

}  // namespace podgpu
