// Kinds of flags whose values have several spellings: milliseconds or durations, and switches.
#include <chrono>
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "cli/flags.h"

namespace podgpu {
namespace {

StatusOr<NodeCommand> ParseNode(const std::vector<std::string>& arguments,
                                const std::map<std::string, std::string>& settings = {}) {
  return ParseFlags(arguments, [&](const std::string& name) {
    const auto found = settings.find(name);
    return found == settings.end() ? std::nullopt : std::optional(found->second);
  });
}

std::string WhyRefused(const std::vector<std::string>& arguments) {
  const StatusOr<NodeCommand> command = ParseNode(arguments);
  return command.ok() ? "accepted" : std::string(command.status().message());
}

TEST(FlagKinds, AcceptIntervalsAsMillisecondsOrDurations) {
  using std::chrono::milliseconds;
  EXPECT_EQ(ParseNode({"-c", "5s"}).value().exporter.collect_interval, milliseconds(5'000));
  EXPECT_EQ(ParseNode({"-c=5000"}).value().exporter.collect_interval, milliseconds(5'000));
  EXPECT_EQ(ParseNode({}, {{"DCGM_EXPORTER_INTERVAL", "1m30s"}}).value().exporter.collect_interval,
            milliseconds(90'000));
  EXPECT_EQ(ParseNode({"-x=10m"}).value().exporter.windows.xid_window, milliseconds(600'000));
  EXPECT_EQ(
      ParseNode({"--clock-events-count-window-size=1h"}).value().exporter.windows.clock_window,
      milliseconds(3'600'000));
  EXPECT_EQ(ParseNode({"--textfile-interval=15s"}).value().exporter.text_files.interval,
            milliseconds(15'000));
  EXPECT_EQ(
      WhyRefused({"-c=2h"}),
      "--collect-interval: \"2h\" is refused: must be 100 to 3600000 milliseconds, or as long "
      "a duration such as 5s");
}

TEST(FlagKinds, ASwitchWithoutAValueMeansOn) {
  const auto enabled = [](const std::vector<std::string>& arguments) {
    const NodeCommand command = ParseNode(arguments).value();
    EXPECT_TRUE(command.ignored_arguments.empty());
    return command.exporter.processes.enabled;
  };
  EXPECT_TRUE(enabled({"--process-metrics"}));
  EXPECT_TRUE(enabled({"--process-metrics", "-k"}));
  EXPECT_TRUE(enabled({"--process-metrics=true"}));
  EXPECT_TRUE(enabled({"--process-metrics", "on"}));
  EXPECT_FALSE(enabled({"--process-metrics=false"}));
  EXPECT_FALSE(enabled({"--process-metrics", "off"}));
  EXPECT_TRUE(enabled({"--requested-vs-used"}));
  EXPECT_EQ(WhyRefused({"--process-metrics=maybe"}),
            "--process-metrics: \"maybe\" is not on or off. See podgpu --help");
}

}  // namespace
}  // namespace podgpu
