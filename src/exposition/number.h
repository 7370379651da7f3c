// Writes numbers the same way in every page format, independent of the locale.
//
// The only place that turns a Value into digits; golden pages fix the result.  Appends to `out` and
// allocates nothing else.  Any thread.
#pragma once

#include <string>

#include "exposition/series_plan.h"
#include "sample/value.h"

namespace podgpu {

// Appends `value` times `scale` in `format`. `value` must be a number.  A scale of exactly 1 keeps
// integers whole.  A scale of 1/n divides by n: 123456 mJ are 123.456 J and not 123.45600000000002.
void AppendNumber(const Value& value, NumberFormat format, double scale, std::string& out);

}  // namespace podgpu
