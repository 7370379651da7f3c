// Writes a page in OpenMetrics 1.0: the same lines and numbers as text.h, with the headers of this
// format, and `# EOF` at the end.
//
// The format requires that counters are not negative, so a counter that is negative or NaN has no
// line here; text.h writes it unchanged.  Appends to `out`.  Any thread.
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

// Same parameters and result as RenderText.
size_t RenderOpenMetrics(const SeriesPlan& plan, const Grid* grid, std::span<const Value> slots,
                         std::string& out);

}  // namespace podgpu
