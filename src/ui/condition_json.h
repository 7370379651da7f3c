// The condition of podgpu as JSON, for programs.
//
// The same content as the page at `/`, so programs need not parse HTML.  Pure functions; called on
// the HTTP thread.
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
