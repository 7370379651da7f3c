// Appends the lines of one family with their numbers; both page formats use it.
//
// The hottest loop of the program.  It appends the header once, then the name, the label block and
// the digits of each series that has a number.  It allocates only when `out` must grow.  Any
// thread.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "exposition/series_plan.h"
#include "sample/grid.h"
#include "sample/value.h"

namespace podgpu {

// The cells and slots from which numbers are read; the plan must fit them.
struct Numbers {
  std::span<const Value> cells;
  std::span<const Value> slots;
};

// Checks that `plan` fits, and returns the numbers.
Numbers NumbersFor(const SeriesPlan& plan, const Grid* grid, std::span<const Value> slots);

// Appends `header` and the lines of `family`, or nothing when no series has a number, and returns
// the number of lines.  `at_least_zero`: leave out numbers that are negative or NaN.
size_t AppendFamilyLines(const SeriesPlan& plan, const SeriesPlan::FamilyLines& family,
                         std::string_view header, bool at_least_zero, const Numbers& numbers,
                         std::string& out);

}  // namespace podgpu
