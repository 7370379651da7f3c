#include "attribution/pattern.h"

#include <re2/re2.h>

#include "absl/strings/str_format.h"

#include "base/text.h"

namespace podgpu {

StatusOr<std::unique_ptr<const re2::RE2>> CompilePattern(const std::string& pattern) {
  constexpr int64_t kMostBytes = int64_t{1} << 20;  // Most memory of one compiled pattern.
  re2::RE2::Options options;
  options.set_log_errors(false);
  options.set_max_mem(kMostBytes);
  auto expression = std::make_unique<const re2::RE2>(pattern, options);
  if (!expression->ok()) {
    return absl::InvalidArgumentError(absl::StrFormat("%s is not a regular expression of RE2: %s",
                                                      Quoted(pattern), expression->error()));
  }
  return expression;
}

}  // namespace podgpu
