// How podgpu is, as JSON for programs.
//
// The same that `/` tells people, so that nobody has to read HTML.  Pure functions; the HTTP thread
// calls them.
#pragma once

#include <string>
#include <string_view>

#include "ui/condition.h"

namespace podgpu {

// {"ready", "verdict", "parts": [...], "devices": [...]}, with the words of the status page.
std::string ConditionJson(const Condition& condition);

// {"error": "..."}
std::string ErrorJson(std::string_view message);

}  // namespace podgpu
