// Adds fields to the counters file, or removes lines from it, by patterns from the command line.
//
// Patterns match all names that DCGM has had for a field, and the names of lines in the file. An
// added field has no help text and no type in any list, so it is untyped and its help is its number
// and unit. Pure; any thread.
#pragma once

#include <string>
#include <vector>

#include "fields/counters_csv.h"

namespace podgpu {

struct MetricPatterns {
  std::vector<std::string> include;  // Numeric fields of the catalogue, by name.
  std::vector<std::string> exclude;  // Lines, by their name or a name of their field.
};

// Returns `counters` with the patterns applied; exclude wins over include. A pattern that matches
// nothing causes a warning.
Counters Select(Counters counters, const MetricPatterns& patterns);

}  // namespace podgpu
