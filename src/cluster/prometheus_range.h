// Parses the answer of a Prometheus to a range query that has at most one series.
//
// The server may be Thanos, Mimir or something else, so every answer is checked: a value that is
// not a number is absent, and an answer of another form is refused with one line.  Times that are
// not in the range, or not at a step, are ignored.  Pure functions; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace podgpu {

// The times of a range query, in seconds since 1970: begin, begin + step, ...
struct TimeRange {
  int64_t begin_s = 0;
  int64_t step_s = 1;
  size_t count = 0;
};

// Returns `range.count` values; absent where the series has none.  `json` is the body of an answer
// with status 200.  kInvalidArgument with one line.
StatusOr<std::vector<std::optional<double>>> ReadPrometheusRange(std::string_view json,
                                                                 const TimeRange& range);

}  // namespace podgpu
