// Reads metric pages the way no scraper does: every rule of the two formats is enforced.
//
// Written from the grammars of Prometheus' text format 0.0.4 and OpenMetrics 1.0, and sharing no
// code with the writer, so that a golden page and a fuzzed page are judged by someone else.  Real
// scrapers forgive what this does not: order and number of metadata lines, families in one block,
// duplicate series, stray blanks, undefined escapes.  For tests; any thread.
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

// The families of a page, or which line breaks which rule.
StatusOr<std::vector<ParsedFamily>> ParseTextStrictly(std::string_view page);
StatusOr<std::vector<ParsedFamily>> ParseOpenMetricsStrictly(std::string_view page);

}  // namespace podgpu
