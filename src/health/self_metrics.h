// The metric families about podgpu itself and about the state of devices.  The tick computes their
// numbers.
//
// One table (self_metrics.cc) lists every such family with its type, unit, help, labels and the
// function that writes its values, so page, documents and tests agree.  Slots are numbered in table
// order within a view.  The layout depends only on the GPUs of the topology; the values depend on
// the facts of the tick. slot_history.h decides which values the page shows.  Pure functions;
// called on the tick thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "facts/tick_facts.h"
#include "sample/value.h"
#include "view/family_doc.h"
#include "view/shown.h"
#include "view/view.h"

namespace podgpu {

// The view of a family.  The view native contains the families of kCore too.
enum class SlotView : uint8_t { kCore, kSelf };

// One slot: its line on the page, and when the page shows it.
struct SlotLine {
  std::string key;  // Family and labels.
  Shown shown = Shown::kAlways;
};

// Returns the families of `view` for the GPUs of `topology` (null: before the first reading).
// Their slots start at `first_slot`.
std::vector<SlotFamily> SlotFamiliesOf(SlotView view, const Topology* topology,
                                       uint32_t first_slot);

// Returns the slots of `view` for the GPUs of `topology`, in their order.
std::vector<SlotLine> SlotLinesOf(SlotView view, const Topology* topology);

// Appends the value of every slot of `view`, in the same order.
void AppendSlots(SlotView view, const TickFacts& facts, bool ready, std::vector<Value>& slots);

// Returns the descriptions of the families of `view`.
std::vector<FamilyDoc> SlotFamilyDocs(SlotView view);

}  // namespace podgpu
