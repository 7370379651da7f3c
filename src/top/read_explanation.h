// Parses the JSON of GET /api/v1/explain, which ui/explanation.h writes.
//
// Unknown keys are ignored.  Texts and lists have limits, because the answer comes from outside.
// Pure; any thread.
#pragma once

#include <string_view>

#include "base/status.h"
#include "ui/explanation.h"

namespace podgpu {

// kInvalidArgument with one line that states the problem.
StatusOr<Explanation> ReadExplanation(std::string_view json);

}  // namespace podgpu
