// Reads metric pages more strictly than any scraper: it enforces every rule of the two formats.
//
// Written from the grammars of Prometheus' text format 0.0.4 and OpenMetrics 1.0, without code of
// the writer, so golden and fuzzed pages have an independent judge.  Scrapers tolerate errors that
// this parser refuses: order and number of metadata lines, families in several blocks, duplicate
// series, extra spaces, undefined escapes.  For tests; any thread.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"

namespace podgpu {

struct ParsedSample {
  std::string name;
  std::vector<std::pair<std::string, std::string>> labels;  // In order, unescaped.
  std::string number;                                       // As written.
};

struct ParsedFamily {
  std::string name;
  std::string type;
  std::string help;  // Unescaped.
  std::string unit;  // OpenMetrics only.
  std::vector<ParsedSample> samples;
};

// The families of a page, or the line and the rule that it breaks.
StatusOr<std::vector<ParsedFamily>> ParseTextStrictly(std::string_view page);
StatusOr<std::vector<ParsedFamily>> ParseOpenMetricsStrictly(std::string_view page);

}  // namespace podgpu
