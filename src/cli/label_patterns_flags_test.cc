// Flags with regular expressions.  --kubernetes-pod-label-allowlist-regex limits cardinality and
// the data that leaves the cluster: a mistake in it must not remove the limit.
#include <gtest/gtest.h>

#include "cli/flags.h"

namespace podgpu {
namespace {

// Parses with `patterns` in the variable of the flag.
StatusOr<NodeCommand> ParsePatterns(const std::vector<std::string>& arguments,
                                    const std::optional<std::string>& patterns = std::nullopt) {
  return ParseFlags(arguments, [&](const std::string& name) -> std::optional<std::string> {
    return name == "DCGM_EXPORTER_KUBERNETES_POD_LABEL_ALLOWLIST_REGEX" ? patterns : std::nullopt;
  });
}

TEST(LabelPatternFlags, RefuseAnInvalidPatternAtTheStart) {
  EXPECT_EQ(ParsePatterns({"-k", "--kubernetes-enable-pod-labels",
                           "--kubernetes-pod-label-allowlist-regex=^team$,[oops"})
                .status()
                .message(),
            "--kubernetes-pod-label-allowlist-regex: \"[oops\" is not a regular expression of RE2: "
            "missing ]: [oops. Correct it (a comma begins the next pattern), or remove the flag to "
            "show all labels");
  EXPECT_FALSE(ParsePatterns({"-k"}, "(a)\\1").ok()) << "even while no labels are shown";
  EXPECT_TRUE(ParsePatterns({"-k"}, "").ok()) << "an empty variable means no pattern";
}

TEST(IgnorePodsFlag, TakesPatternsOfPodsThatAreNoOwners) {
  const StatusOr<NodeCommand> command = ParsePatterns({"--ignore-pods=kai/.*,batch/reserve-.*"});
  const IgnoredPods& ignored = command->exporter.join.ignored;
  EXPECT_TRUE(ignored.Contain("batch", "reserve-1"));
  EXPECT_FALSE(ignored.Contain("batch", "train"));
  EXPECT_EQ(ParsePatterns({"--ignore-pods=kai"}).status().message(),
            "--ignore-pods: \"kai\" is not NAMESPACE/REGEX, such as kai-resource-reservation/.*. "
            "Correct it (a comma begins the next pattern)");
}

}  // namespace
}  // namespace podgpu
