// A section of a page: the lines that it adds to the plan, and the numbers that it appends at each
// tick.
//
// A page is a list of sections in the order of its lines (page_builder.h).  A section announces how
// many slots its numbers take.  Its generation changes whenever its set of lines changes.  The
// PageBuilder gives it the index of its first slot and checks that it uses only its own slots, so a
// number cannot appear after the labels of another section.  A Section is a value that refers to
// the objects it reports; these must outlive it.  Used on the thread that makes the page.
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
  // Appears in the message of a failed check.
  std::string name;
  // True: the section is left out before the first reading of the devices.
  bool needs_grid = false;
  // Returns a number that changes whenever the set of lines changes.  Empty: the lines depend only
  // on the devices, the fields and the owners, or never change.
  std::function<uint64_t()> generation = {};
  // Returns how many numbers `append_to` will append.  Called only when a plan is made.  Empty: 0.
  std::function<uint32_t()> slot_count = {};
  // Adds the lines, whose slots start at `first_slot`.
  std::function<void(uint32_t first_slot, PlanBuilder& plan)> add_to;
  // Appends the number of each slot, in slot order.  Called at each tick.  Empty: no numbers.
  std::function<void(std::vector<Value>& slots)> append_to = {};
};

// Appends the number of slot `slot` and checks that it is the next one.  For sections with a layout
// class that both add_to and append_to use: the order of their numbers is checked too.
void AppendAt(size_t slot, Value value, std::vector<Value>& slots);

}  // namespace podgpu
