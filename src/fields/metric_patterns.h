// What a user adds to the counters file, or takes out of it, without writing a list of their own.
//
// Patterns match all names that DCGM has had for a field, and the names of lines in the file.  A
// field that is added has no words and no type from anybody, so it is untyped, and its help is its
// number and unit. Pure; any thread.
#pragma once

#include <string>
#include <vector>

#include "fields/counters_csv.h"

namespace podgpu {

struct MetricPatterns {
  std::vector<std::string> include;  // Fields of the catalogue with a number, by name.
  std::vector<std::string> exclude;  // Lines, by their name or their field's.
};

// `counters` with what the patterns ask for; what is excluded is not included.  A pattern that
// matches nothing is a warning.
Counters Select(Counters counters, const MetricPatterns& patterns);

}  // namespace podgpu
