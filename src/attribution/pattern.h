// Regular expressions that an operator gives in flags: all have the same syntax, and the same limit
// of memory, because a pattern must not cost more than the exporter itself.  Pure; any thread.
#pragma once

#include <memory>
#include <string>

#include "base/status.h"

namespace re2 {
class RE2;
}

namespace podgpu {

// RE2 syntax.  kInvalidArgument quotes a pattern that cannot be compiled and gives RE2's reason.
// The expression is immutable; any thread.
StatusOr<std::unique_ptr<const re2::RE2>> CompilePattern(const std::string& pattern);

}  // namespace podgpu
