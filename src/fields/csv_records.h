// Comma-separated records as Go's encoding/csv reads them, which is what dcgm-exporter's users
// wrote their files for.
//
// A line whose first byte is # is a comment, an empty line is skipped, `\r\n` counts as `\n`.  A
// quotation mark opens a quoted column only directly after a comma or the start of a line, and
// "" inside it is one mark; any other mark is an error.  Size, records and columns are bounded, so
// that a wrong file costs no memory.  Knows nothing of fields and counters. Pure function; any
// thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace podgpu {

// More than all that there is to list, with a comment for each: a ConfigMap holds no more either.
inline constexpr size_t kMostCsvBytes = size_t{1} << 20;

// kInvalidArgument with one line that begins with `path` when `content` has more bytes than that.
Status CheckCsvSize(std::string_view content, std::string_view path);

struct CsvRecord {
  int line = 0;  // On which it begins, counted from 1.
  std::vector<std::string> columns;
};

// All records of `content`.  kInvalidArgument with one complete line that begins "<path>:<line>: ".
StatusOr<std::vector<CsvRecord>> ReadCsvRecords(std::string_view content, std::string_view path);

}  // namespace podgpu
