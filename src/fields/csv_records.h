// Parses comma-separated records with the rules of Go's encoding/csv, because users wrote their
// files for dcgm-exporter, which uses it.
//
// A line that begins with # is a comment, an empty line is skipped, `\r\n` counts as `\n`. A
// quotation mark opens a quoted column only directly after a comma or at the start of a line; ""
// inside it is one mark; any other mark is an error. Size, records and columns are limited, so a
// wrong file costs little memory. Knows nothing of fields and counters. Pure function; any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace podgpu {

// Enough for every field with a comment; also the size limit of a ConfigMap.
inline constexpr size_t kMostCsvBytes = size_t{1} << 20;

// kInvalidArgument, with one line that begins with `path`, when `content` is larger.
Status CheckCsvSize(std::string_view content, std::string_view path);

struct CsvRecord {
  int line = 0;  // The line on which it begins, counted from 1.
  std::vector<std::string> columns;
};

// Returns all records of `content`. On failure kInvalidArgument with one complete line that begins
// "<path>:<line>: ".
StatusOr<std::vector<CsvRecord>> ReadCsvRecords(std::string_view content, std::string_view path);

}  // namespace podgpu
