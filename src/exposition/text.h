// Writes a page in Prometheus' text format 0.0.4.
//
// For each series of a SeriesPlan it copies name and labels and appends the number.  A series whose
// value is absent or a text has no line; a family without lines has no header.  Appends to `out`
// and allocates nothing else.  The content type is kTextContentType.  Any thread.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "exposition/series_plan.h"
#include "sample/grid.h"
#include "sample/value.h"

namespace podgpu {

inline constexpr std::string_view kTextContentType = "text/plain; version=0.0.4; charset=utf-8";

// Appends the page to `out` and returns the number of lines with a number.  The plan must fit
// (SeriesPlan::Fits); `grid` may be null if the plan refers to slots only.
size_t RenderText(const SeriesPlan& plan, const Grid* grid, std::span<const Value> slots,
                  std::string& out);

}  // namespace podgpu
