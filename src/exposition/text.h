// Writes a page in Prometheus' text format 0.0.4.
//
// Walks a SeriesPlan, copies name and labels, appends the number.  A series whose value is absent
// yields no line, a family without lines no header.  Appends to `out` without other allocation; the
// content type is kTextContentType. Any thread.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "exposition/series_plan.h"
#include "sample/grid.h"
#include "sample/value.h"

namespace podgpu {

inline constexpr std::string_view kTextContentType = "text/plain; version=0.0.4; charset=utf-8";

// Appends the page to `out` and returns the number of lines with a number.  `grid` may be null when
// the plan refers to slots only.
size_t RenderText(const SeriesPlan& plan, const Grid* grid, std::span<const Value> slots,
                  std::string& out);

// Appends `value` as `format` writes it.  `value` must be a number.
void AppendNumber(const Value& value, NumberFormat format, double scale, std::string& out);

}  // namespace podgpu
