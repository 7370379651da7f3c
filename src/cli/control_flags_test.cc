#include <gtest/gtest.h>

#include "cli/flags.h"

namespace podgpu {
namespace {

TEST(Flags, WarnAboutControlWithoutAPassword) {
  const Environment none = [](const std::string&) { return std::nullopt; };
  const auto warnings_of = [&](std::vector<std::string> arguments) {
    return FlagWarnings(ParseFlags(arguments, none).value()).size();
  };
  EXPECT_EQ(warnings_of({}), 0U);
  EXPECT_EQ(warnings_of({"--web-enable-control"}), 1U);
  EXPECT_EQ(warnings_of({"--web-enable-control", "--web-config-file=/web.yaml"}), 0U);
  EXPECT_EQ(warnings_of({"--web-enable-control", "--address=unix:/run/podgpu.sock"}), 0U);
  const auto hosts_of = [&](const std::string& hosts) {
    return ParseFlags(std::vector<std::string>{"--web-allowed-hosts=" + hosts}, none);
  };
  EXPECT_EQ(hosts_of("a.example, b.example")->exporter.http.guard.allowed_hosts,
            (std::vector<std::string>{"a.example", "b.example"}));
  for (const std::string wrong : {"http://a.example", "a.example:9400", "[::1]"}) {
    EXPECT_EQ(hosts_of(wrong).status().code(), absl::StatusCode::kInvalidArgument) << wrong;
  }
}

}  // namespace
}  // namespace podgpu
