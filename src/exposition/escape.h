// Makes any bytes fit for a page: label values and help texts, escaped once, when a plan is made.
//
// One stray byte costs the reader the whole page, so nothing is trusted here: invalid UTF-8, NUL
// and carriage returns become U+FFFD, whatever their origin.  Pure functions; any thread.
#pragma once

#include <string>
#include <string_view>

namespace podgpu {

// Appends a label value, without its quotation marks.
void AppendLabelValue(std::string_view value, std::string& out);

// Appends a label name; each character that a name cannot have becomes '_'.
void AppendLabelName(std::string_view name, std::string& out);

// A help text for text format 0.0.4 (quotation marks stay) and for OpenMetrics (they are escaped).
std::string TextHelp(std::string_view help);
std::string OpenMetricsHelp(std::string_view help);

// Whether `name` can be the name of a metric: [a-zA-Z_:][a-zA-Z0-9_:]*.
bool IsMetricName(std::string_view name);

}  // namespace podgpu
