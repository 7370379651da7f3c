#include "attribution/ignored_pods.h"

#include <algorithm>
#include <re2/re2.h>
#include <utility>

#include "absl/strings/str_format.h"

#include "attribution/pattern.h"
#include "base/text.h"

namespace podgpu {

struct PodPatterns::Pattern {
  std::string name_space;
  std::unique_ptr<const re2::RE2> pod;
};

PodPatterns::PodPatterns(std::vector<Pattern> patterns) : patterns_(std::move(patterns)) {}

PodPatterns::~PodPatterns() = default;

StatusOr<std::shared_ptr<const PodPatterns>> PodPatterns::Compile(
    const std::vector<std::string>& patterns) {
  std::vector<Pattern> compiled;
  for (const std::string& text : patterns) {
    const size_t slash = text.find('/');
    if (slash == 0 || slash == std::string::npos || slash + 1 == text.size()) {
      return absl::InvalidArgumentError(absl::StrFormat(
          "%s is not NAMESPACE/REGEX, such as kai-resource-reservation/.*", Quoted(text)));
    }
    PODGPU_ASSIGN_OR_RETURN(std::unique_ptr<const re2::RE2> pod,
                            CompilePattern(text.substr(slash + 1)));
    compiled.push_back({text.substr(0, slash), std::move(pod)});
  }
  // Private constructor: make_shared cannot reach it.
  return std::shared_ptr<const PodPatterns>(
      new PodPatterns(std::move(compiled)));  // NOLINT(cppcoreguidelines-owning-memory)
}

bool PodPatterns::Match(std::string_view pod_namespace, std::string_view pod) const {
  return std::ranges::any_of(patterns_, [&](const Pattern& pattern) {
    return pattern.name_space == pod_namespace &&
           re2::RE2::FullMatch({pod.data(), pod.size()}, *pattern.pod);
  });
}

}  // namespace podgpu
