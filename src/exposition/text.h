// Writes a page in Prometheus' text format 0.0.4.
//
// Walks a SeriesPlan, copies name and labels, appends the number.  A series whose value is absent
// or a text yields no line, a family without lines no header.  Appends to `out` without other
// allocation; the content type is kTextContentType.  Any thread.
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
// (SeriesPlan::Fits); `grid` may be null when it refers to slots only.
size_t RenderText(const SeriesPlan& plan, const Grid* grid, std::span<const Value> slots,
                  std::string& out);

}  // namespace podgpu
