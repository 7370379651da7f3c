// Writes numbers, the same way in every page format and whatever the locale.
//
// The only place that turns a Value into digits; golden pages pin it.  Appends to `out` without
// other allocation.  Any thread.
#pragma once

#include <string>

#include "exposition/series_plan.h"
#include "sample/value.h"

namespace podgpu {

// Appends `value`, which must be a number, times `scale`, as `format` writes it.  A scale of
// exactly 1 leaves integers whole; a scale of 1/n divides by n, so that 123456 mJ are 123.456 J and
// not 123.45600000000002.
void AppendNumber(const Value& value, NumberFormat format, double scale, std::string& out);

}  // namespace podgpu
