// Finds the fields of the collections that the YAML configuration names by patterns.
//
// The patterns have the form of Go's path.Match, as in dcgm-exporter: `*`, `?` and classes such as
// [a-z] and [^a-z].  They are matched against the names on the list of metrics, as the list writes
// them; a field under two names is matched by either.  A field that is read for DCGM_EXP_* counters
// alone is matched by its own name.  Facts: device_watchlist_manager.go of dcgm-exporter 4.8.4.
// Pure function; any thread.
#pragma once

#include <chrono>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "fields/counters_csv.h"
#include "fields/field_collections.h"

namespace podgpu {

// A collection as the configuration has it.
struct WantedCollection {
  int line = 0;  // Of its name.
  std::string name;
  std::chrono::milliseconds interval{0};
  std::vector<std::string> patterns;
};

// Returns the fields of each collection, for the metrics of `list`.  kInvalidArgument with one line
// that names `path`: a pattern is malformed, a field is in two collections, or a collection has no
// field.
StatusOr<FieldCollections> MatchCollections(std::span<const WantedCollection> wanted,
                                            const Counters& list, std::string_view path);

}  // namespace podgpu
