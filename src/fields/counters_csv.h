// The user's list of metrics: dcgm-exporter's counters file.
//
// Strict as upstream: three columns, Go's CSV quoting, every name
// known.  What upstream rejects is rejected here, with one line that names file, line, what is
// wrong and what helps; all other lines are fine.  Pure function of the bytes; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "fields/field.h"

namespace podgpu {

// What dcgm-exporter computes itself (DCGM_EXP_*), in the order of its ids, 9001 and on.
enum class ExporterCounter : uint8_t { kXidErrors, kClockEvents, kHealth, kPeers };

// One accepted line.
struct Counter {
  int line = 0;                  // Counted from 1.
  std::string name;              // As written; also the metric's name.
  const Field* field = nullptr;  // Null for DCGM_EXP_* counters.
  std::string type;              // "gauge", "counter", "histogram", "summary", or "label".
  std::string help;
  std::optional<ExporterCounter> own = std::nullopt;  // Of DCGM_EXP_* counters.
  bool is_label() const { return type == "label"; }
};

struct Counters {
  std::string path;               // As it is named in messages.
  std::vector<Counter> counters;  // In file order.
  std::vector<std::string>
      warnings;  // One line each: lines that were accepted but serve nothing yet.
};

// Reads `content`; `path` is named in messages.  kInvalidArgument with the complete one-line
// message.
StatusOr<Counters> ParseCounters(std::string_view content, std::string_view path);

// Where dcgm-exporter looks for its list.
inline constexpr std::string_view kDefaultCountersPath = "/etc/dcgm-exporter/default-counters.csv";

// dcgm-exporter's default set (its "A" list), for when no file is given and none is at the default
// path; kBuiltInCounters then stands in place of a path.
inline constexpr std::string_view kBuiltInCounters = "built-in counters";
std::string_view DefaultCountersCsv();

}  // namespace podgpu
