// Adds fields to the counters file, or removes lines from it, by patterns from the command line.
//
// Patterns match all names that DCGM has had for a field, and the names of lines in the file. A
// field that the file has is not added under another name, except by a pattern that is exactly that
// name. A pattern removes a line of the field's current name, and lines of its older names unless
// the list also has the current one. An added field has no help text and no type in any list, so it
// is untyped and its help is its number and unit. The other name of a renamed metric has type and
// help of its line in the built-in lists. Pure; any thread.
#pragma once

#include <string>
#include <vector>

#include "fields/counters_csv.h"

namespace podgpu {

struct MetricPatterns {
  std::vector<std::string> include;  // Numeric fields of the catalogue, by name.
  std::vector<std::string> exclude;  // Lines, by their name or a name of their field.
  // Each line whose metric has another name in dcgm-exporter 4.9 (renamed_fields.h) also counts
  // under that name.
  bool both_names = false;
  ListsOfRelease release = {};  // For the lines that are added from built-in lists.
};

// Returns `counters` with the patterns applied; exclude wins over include. A pattern that matches
// nothing causes a warning.
Counters Select(Counters counters, const MetricPatterns& patterns);

}  // namespace podgpu
