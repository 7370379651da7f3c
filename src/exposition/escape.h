// Escapes label values, label names and help texts, so any bytes are safe on a page.  Done once,
// when a plan is made.
//
// One invalid byte makes a scraper reject the whole page, so no input is trusted: invalid UTF-8,
// NUL and carriage returns become U+FFFD.  Pure functions; any thread.
#pragma once

#include <string>
#include <string_view>

namespace podgpu {

// Appends a label value, without its quotation marks.
void AppendLabelValue(std::string_view value, std::string& out);

// Appends a label name; each character that is not allowed in a name becomes '_'.
void AppendLabelName(std::string_view name, std::string& out);

// Returns a help text for text format 0.0.4 (quotation marks stay) and for OpenMetrics (they are
// escaped).
std::string TextHelp(std::string_view help);
std::string OpenMetricsHelp(std::string_view help);

// Returns whether `name` is a valid metric name: [a-zA-Z_:][a-zA-Z0-9_:]*.
bool IsMetricName(std::string_view name);

}  // namespace podgpu
