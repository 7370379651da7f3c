// Parser of the user's list of metrics: dcgm-exporter's counters file.
//
// As strict as dcgm-exporter: three columns, Go's CSV quoting, only known names. A file that
// dcgm-exporter rejects is rejected here too, with a one-line message that names file, line,
// problem and remedy. Pure function of the bytes; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/embedded_file.h"
#include "base/status.h"
#include "fields/field.h"
#include "fields/field_collections.h"

namespace podgpu {

// Metrics that dcgm-exporter computes itself (DCGM_EXP_*), in the order of its ids from 9001.
enum class ExporterCounter : uint8_t {
  kXidErrors,
  kClockEvents,
  kHealth,
  kPeers,
  kXidErrorsTotal,
  kClockEventsTotal,
};

// One accepted line.
struct Counter {
  int line = 0;                  // Counted from 1.
  std::string name;              // Name in the file, which is also the name of the metric.
  const Field* field = nullptr;  // Null for DCGM_EXP_* counters.
  std::string type;              // "gauge", "counter", "untyped", "histogram", "summary", or
                                 // "label".
  std::string help;
  std::optional<ExporterCounter> own = std::nullopt;  // For DCGM_EXP_* counters.
  bool is_label() const { return type == "label"; }
};

// Returns the field whose samples one of dcgm-exporter's own counters (DCGM_EXP_*) counts; nothing
// for other lines.
std::optional<uint16_t> FieldBehind(const Counter& counter);

struct Counters {
  std::string path;               // The path for messages.
  std::vector<Counter> counters;  // In file order.
  std::vector<std::string>
      warnings;  // One line each: lines that were accepted but serve nothing yet.
  FieldCollections collections = {};
};

// Parses `content`; messages name `path`. On failure kInvalidArgument with the complete one-line
// message.
StatusOr<Counters> ParseCounters(std::string_view content, std::string_view path);

// The default path of dcgm-exporter's list.
inline constexpr std::string_view kDefaultCountersPath = "/etc/dcgm-exporter/default-counters.csv";

// The lists of deploy/, which are also in the program.
std::span<const EmbeddedFile> CounterLists();

// The default list, for an empty path and for kDefaultCountersPath.  kBuiltInCounters is then its
// path in messages.
inline constexpr std::string_view kBuiltInCounters = "built-in counters";
std::string_view DefaultCountersCsv();

// What differs in the built-in lists between releases of dcgm-exporter.
struct ListsOfRelease {
  // Takes the place of the default list and of the GPU Operator's, which have the same fields under
  // older names; empty: none does.
  std::string_view renamed_list = {};
  // The type of DCGM_FI_DEV_NVLINK_BANDWIDTH_TOTAL in built-in lists.
  std::string_view nvlink_bandwidth_type = "counter";
  bool operator==(const ListsOfRelease&) const = default;
};

// The list that takes the place of a file that does not exist.
struct BuiltInList {
  std::string path;  // The path for messages: "built-in counters (dcp-metrics-included.csv)".
  std::string_view csv;
};
// Dcgm-exporter's image has three lists under /etc/dcgm-exporter/. Returns our list for the path of
// one of them, and nothing for any other path.
std::optional<BuiltInList> BuiltInListFor(std::string_view path,
                                          const ListsOfRelease& release = {});

// Returns whether `path`, as messages name it, is the default list of a release of dcgm-exporter.
bool IsDefaultList(std::string_view path);

// Parses that list, with what `release` changes in it.
StatusOr<Counters> ParseBuiltIn(const BuiltInList& list, const ListsOfRelease& release);

// Parses `content` as ParseCounters does.  A copy of a built-in list, as the chart and the
// manifests mount one, counts as that list: where `release` has another list in its place, the
// result is that one, with its path, and a line in the log says so.
StatusOr<Counters> ParseList(std::string_view content, std::string_view path,
                             const ListsOfRelease& release);

}  // namespace podgpu
