// Errors as JSON, for programs that read the paths under /api/v1.
//
// Each such path answers with an object; an error is an object with one key, beside the HTTP status
// that says what kind of error it is.  Pure; called on the HTTP thread.
#pragma once

#include <string>
#include <string_view>

namespace podgpu {

// {"error": "..."}
std::string ErrorJson(std::string_view message);

}  // namespace podgpu
