// --kubernetes-pod-label-allowlist-regex bounds cardinality and what leaves the cluster: a mistake
// in it must not open it.
#include <gtest/gtest.h>

#include "cli/flags.h"

namespace podgpu {
namespace {

// With `patterns` in the variable of the flag.
StatusOr<NodeCommand> ParsePatterns(const std::vector<std::string>& arguments,
                                    const std::optional<std::string>& patterns = std::nullopt) {
  return ParseFlags(arguments, [&](const std::string& name) -> std::optional<std::string> {
    return name == "DCGM_EXPORTER_KUBERNETES_POD_LABEL_ALLOWLIST_REGEX" ? patterns : std::nullopt;
  });
}

TEST(LabelPatternFlags, OneThatCannotBeCompiledEndsTheStart) {
  EXPECT_EQ(ParsePatterns({"-k", "--kubernetes-enable-pod-labels",
                           "--kubernetes-pod-label-allowlist-regex=^team$,[oops"})
                .status()
                .message(),
            "--kubernetes-pod-label-allowlist-regex: \"[oops\" is not a regular expression of RE2: "
            "missing ]: [oops. Correct it (a comma begins the next pattern), or remove the flag to "
            "show all labels");
  EXPECT_FALSE(ParsePatterns({"-k"}, "(a)\\1").ok()) << "also without labels";
  EXPECT_TRUE(ParsePatterns({"-k"}, "").ok()) << "an empty variable is none";
}

}  // namespace
}  // namespace podgpu
