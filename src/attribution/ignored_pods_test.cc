#include "attribution/ignored_pods.h"

#include <gtest/gtest.h>

namespace podgpu {
namespace {

TEST(IgnoredPods, AreItsOwnPodAndThoseOfThePatterns) {
  const IgnoredPods ignored{
      .own = {"exporter-x1", "gpu-monitoring"},
      .named = PodPatterns::Compile({"kai/.*", "batch/reserve-[0-9]+"}).value()};
  struct Row {
    std::string_view name_space, pod;
    bool is_ignored;
  };
  for (const Row& row :
       {Row{"gpu-monitoring", "exporter-x1", true}, Row{"gpu-monitoring", "exporter-x2", false},
        Row{"kai", "gpu-reservation-a", true}, Row{"kai2", "gpu-reservation-a", false},
        Row{"batch", "reserve-12", true}, Row{"batch", "reserve-12-a", false},
        Row{"batch", "my-reserve-12", false}}) {
    EXPECT_EQ(ignored.Contain(row.name_space, row.pod), row.is_ignored) << row.pod;
  }
  EXPECT_FALSE(IgnoredPods().Contain("", ""));
}

TEST(IgnoredPods, RefuseWhatIsNoPattern) {
  for (const std::string text : {"", "kai", "/x", "kai/"}) {
    EXPECT_EQ(PodPatterns::Compile({text}).status().message(),
              "\"" + text + "\" is not NAMESPACE/REGEX, such as kai-resource-reservation/.*");
  }
  EXPECT_EQ(PodPatterns::Compile({"kai/.*", "a/[oops"}).status().message(),
            "\"[oops\" is not a regular expression of RE2: missing ]: [oops");
}

}  // namespace
}  // namespace podgpu
