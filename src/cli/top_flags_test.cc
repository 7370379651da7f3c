#include "cli/top_flags.h"

#include <map>

#include <gtest/gtest.h>

namespace podgpu {
namespace {

using TopVariables = std::map<std::string, std::string>;

StatusOr<TopCommand> ParseTop(std::vector<std::string> words, const TopVariables& variables = {}) {
  return ParseTopFlags(words, [&](const std::string& name) {
    const auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional(found->second);
  });
}

TEST(TopFlags, WithoutAUrlTopAsksThePodgpuOfItsPod) {
  struct Case {
    std::string_view listens, url;
  };
  constexpr Case kCases[] = {{"", "http://localhost:9400"},
                             {":22004", "http://localhost:22004"},
                             {"0.0.0.0:9500", "http://localhost:9500"},
                             {"[::]:9500", "http://localhost:9500"},
                             {"10.0.0.7:9500", "http://10.0.0.7:9500"},
                             {"[fd00::7]:9500", "http://[fd00::7]:9500"},
                             {"unix:/run/podgpu.sock", "unix:/run/podgpu.sock"},
                             {"nonsense", "http://localhost:9400"}};
  for (const Case& c : kCases) {
    const auto command = ParseTop({}, {{"DCGM_EXPORTER_LISTEN", std::string(c.listens)}});
    ASSERT_TRUE(command.ok()) << command.status();
    EXPECT_EQ(command->top.url, c.url);
  }
  const TopVariables both = {{"DCGM_EXPORTER_LISTEN", ":1"}, {"PODGPU_CLUSTER_LISTEN", ":2"}};
  EXPECT_EQ(ParseTop({"--fleet"}, both)->top.url, "http://localhost:2");
  EXPECT_EQ(ParseTop({"http://a:3"}, both)->top.url, "http://a:3");
}

TEST(TopFlags, TheTerminalsVariablesDecideWhatTheFlagsLeaveOpen) {
  const TopVariables plain = {
      {"NO_COLOR", "1"}, {"TERM", "dumb"}, {"COLUMNS", "90"}, {"LANG", "C.UTF-8"}};
  const TopCommand command = ParseTop({}, plain).value();
  EXPECT_FALSE(command.top.colour);
  EXPECT_TRUE(command.is_dumb);
  EXPECT_EQ(command.top.columns, 90U);
  EXPECT_FALSE(command.top.ascii);
  EXPECT_TRUE(ParseTop({"--color=always", "--ascii"}, plain)->top.colour);
  EXPECT_TRUE(ParseTop({})->top.ascii);
  EXPECT_FALSE(ParseTop({})->top.columns.has_value());
}

TEST(TopFlags, WrongUseIsOneLine) {
  for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{
           {"--interval=1h"}, {"--color=blue"}, {"--once=perhaps"}, {"a", "b"}, {"--no-such"}}) {
    const auto command = ParseTop(words);
    EXPECT_EQ(command.status().code(), absl::StatusCode::kInvalidArgument) << words[0];
    EXPECT_EQ(command.status().message().find('\n'), std::string_view::npos) << command.status();
  }
}

}  // namespace
}  // namespace podgpu
