// `podgpu help metrics NAME`: what a family or a DCGM field is, without a network and without a
// running exporter. Made from the tables that the pages are made from. Pure function; any thread.
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"

namespace podgpu {

// Returns the facts about `name`: type, unit, meaning, view, and where its numbers come from. The
// name is that of a family, or any name that a DCGM field has had. For "" the names of all
// families, one per line. On an unknown name kInvalidArgument with the nearest one.
StatusOr<std::string> MetricHelp(std::string_view name);

}  // namespace podgpu
