// The last step of an explanation: which values a device has, and why it lacks the others.
//
// Pure; the HTTP thread calls it.
#pragma once

#include <string_view>

#include "sample/grid.h"
#include "ui/explanation.h"

namespace podgpu {

// Of all fields that are read on `entity`, a GPU or an instance.
ExplainedStep ExplainValues(const Grid& grid, EntityId entity);

// Of the one that `metric` names; says so when there is no such field or nobody asks for it.
ExplainedStep ExplainMetric(const Grid& grid, EntityId entity, std::string_view metric);

}  // namespace podgpu
