// Writes a page in OpenMetrics 1.0: the same lines with the same numbers as text.h, under the
// headers that this format wants, and `# EOF` at the end.
//
// The format promises that counters are at least zero; a counter that is negative or not a number
// yields no line here (text.h shows it as it is).  Appends to `out`.  Any thread.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "exposition/series_plan.h"
#include "sample/grid.h"
#include "sample/value.h"

namespace podgpu {

inline constexpr std::string_view kOpenMetricsContentType =
    "application/openmetrics-text; version=1.0.0; charset=utf-8";

// As RenderText.
size_t RenderOpenMetrics(const SeriesPlan& plan, const Grid* grid, std::span<const Value> slots,
                         std::string& out);

}  // namespace podgpu
