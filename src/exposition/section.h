// A part of a page: the lines that it adds to the plan, and the numbers that it appends each tick.
//
// A page is a list of sections in the order of its lines (page_builder.h).  A section says how many
// slots its numbers take and has a generation, which changes whenever its set of lines changes.
// The PageBuilder gives it the place of its first slot and checks what it does with it, so a number
// cannot stand behind the labels of another section.  A Section is a value that refers to the
// objects it tells of; these outlive it.  It is used on the thread that makes the page.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "exposition/series_plan.h"
#include "sample/value.h"

namespace podgpu {

struct Section {
  // For the message of a failed check.
  std::string name;
  // The section is left out while there is no reading of the devices.
  bool needs_grid = false;
  // Changes whenever the set of lines changes.  Empty: the lines depend on the devices, the fields
  // and the owners alone, or never change.
  std::function<uint64_t()> generation = {};
  // How many numbers `append_to` will append.  Called only when a plan is made.  Empty: none.
  std::function<uint32_t()> slot_count = {};
  // Adds the lines.  Their numbers are in the slots from `first_slot` on.
  std::function<void(uint32_t first_slot, PlanBuilder& plan)> add_to;
  // Appends the number of each slot, in their order.  Called at each tick.  Empty: none.
  std::function<void(std::vector<Value>& slots)> append_to = {};
};

// Appends the number of slot `slot`, which must be the next one.  A section whose slots are laid
// out by a class that both sides use appends with this, so that the order of its numbers is checked
// too.
void AppendAt(size_t slot, Value value, std::vector<Value>& slots);

}  // namespace podgpu
