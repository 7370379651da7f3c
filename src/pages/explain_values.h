// The last step of an explanation: which values a device has, and why the others are missing.
//
// Pure functions over one reading; called on the HTTP thread.
#pragma once

#include <string_view>

#include "sample/grid.h"
#include "ui/explanation.h"

namespace podgpu {

// Explains all fields that are read on `entity`, a GPU or an instance.
ExplainedStep ExplainValues(const Grid& grid, EntityId entity);

// Explains the field that `metric` names, or says that DCGM has no such field or that it is not
// read.
ExplainedStep ExplainMetric(const Grid& grid, EntityId entity, std::string_view metric);

}  // namespace podgpu
