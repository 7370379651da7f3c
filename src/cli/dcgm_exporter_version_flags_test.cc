#include <gtest/gtest.h>

#include "cli/flags.h"

namespace podgpu {
namespace {

NodeCommand ParseVersionFlags(const std::vector<std::string>& arguments,
                              const std::string& variable = "") {
  return ParseFlags(arguments,
                    [&](const std::string& name) {
                      return name == "PODGPU_DCGM_EXPORTER_VERSION" && !variable.empty()
                                 ? std::optional(variable)
                                 : std::nullopt;
                    })
      .value();
}

TEST(DcgmExporterVersionFlag, SetsWhatFollowsFromTheRelease) {
  const struct {
    std::string version;
    std::string hostname_label, nvlink_bandwidth_type;
  } rows[] = {
      {"4.8.2", "Hostname", "counter"}, {"4.8.3", "hostname", "gauge"},
      {"4.8.4", "hostname", "gauge"},   {"4.9", "hostname", "gauge"},
      {"4.9.0", "hostname", "gauge"},
  };
  for (const auto& row : rows) {
    for (const NodeCommand& command :
         {ParseVersionFlags({"--dcgm-exporter-version=" + row.version}),
          ParseVersionFlags({}, row.version)}) {
      EXPECT_EQ(command.exporter.view.version->name,
                row.version.substr(0, row.version == "4.9.0" ? 3 : 5));
      EXPECT_EQ(command.exporter.view.hostname_label, row.hostname_label) << row.version;
      EXPECT_EQ(command.counters.release.nvlink_bandwidth_type, row.nvlink_bandwidth_type)
          << row.version;
      EXPECT_EQ(command.patterns.release, command.counters.release);
    }
  }
}

TEST(DcgmExporterVersionFlag, YieldsToAFlagOfItsOwn) {
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{"--hostname-label=Hostname", "--dcgm-exporter-version=4.8.3"},
        {"--dcgm-exporter-version=4.8.3", "--hostname-label=Hostname"}}) {
    EXPECT_EQ(ParseVersionFlags(arguments).exporter.view.hostname_label, "Hostname");
  }
}

TEST(FlagsSince483, SetTheTimeoutsOfClients) {
  using std::chrono::milliseconds;
  const HttpServerOptions usual = ParseVersionFlags({}).exporter.http;
  EXPECT_EQ(usual.request_timeout, milliseconds(10'000));
  EXPECT_EQ(usual.response_timeout, milliseconds(30'000));
  const NodeCommand command =
      ParseVersionFlags({"--web-read-timeout=1500ms", "--web-write-timeout=1m"});
  EXPECT_EQ(command.exporter.http.request_timeout, milliseconds(1'500));
  EXPECT_EQ(command.exporter.http.response_timeout, milliseconds(60'000));
  EXPECT_TRUE(FlagWarnings(command).empty());
  for (const std::string bad : {"soon", "0", "-1s", "10", "2h", ""}) {
    const NodeCommand kept = ParseVersionFlags({"--web-write-timeout=" + bad});
    EXPECT_EQ(kept.exporter.http.response_timeout, milliseconds(30'000)) << bad;
    ASSERT_EQ(FlagWarnings(kept).size(), 1U) << bad;
    EXPECT_EQ(FlagWarnings(kept)[0],
              "--web-write-timeout=\"" + bad +
                  "\" has no effect: it is no duration above 0 and up to one hour, such as 10s. 30 "
                  "seconds apply; correct or remove it");
  }
}

TEST(FlagsSince483, ACorrectFlagWinsOverAWrongVariable) {
  const std::vector<std::string> arguments = {"--web-read-timeout=5s", "--watch-max-keep-age=5m"};
  const NodeCommand command =
      ParseFlags(arguments, [](const std::string& name) {
        return name == "DCGM_EXPORTER_WEB_READ_TIMEOUT"     ? std::optional<std::string>("bad")
               : name == "DCGM_EXPORTER_WATCH_MAX_KEEP_AGE" ? std::optional<std::string>("5m")
                                                            : std::nullopt;
      }).value();
  EXPECT_EQ(command.exporter.http.request_timeout, std::chrono::seconds(5));
  EXPECT_EQ(FlagWarnings(command).size(), 1U) << "of --watch-max-keep-age, once";
}

TEST(DcgmExporterVersionFlag, SaysWhereGpuUtilRatioIsAPercentage) {
  const auto is_percent = [](const std::vector<std::string>& arguments) {
    return ParseVersionFlags(arguments).source.util_ratio_is_percent_of_4_6;
  };
  EXPECT_FALSE(is_percent({}));
  EXPECT_TRUE(is_percent({"--dcgm-exporter-version=4.8.3"}));
  EXPECT_TRUE(is_percent({"--dcgm-exporter-version=4.8.4"}));
  EXPECT_FALSE(is_percent({"--dcgm-exporter-version=4.8.4", "--both-names"}));
  EXPECT_FALSE(is_percent({"--dcgm-exporter-version=4.9"}));
}

TEST(FlagsSince483, WithoutMeaningHereAreNamed) {
  EXPECT_TRUE(FlagWarnings(ParseVersionFlags({"--enable-exporter-metrics=false"})).empty());
  for (const std::string flag : {"--watch-max-keep-age=5m", "--watch-max-keep-samples=0",
                                 "--max-concurrent-scrapes=4", "--enable-exporter-metrics"}) {
    const std::vector<std::string> warnings = FlagWarnings(ParseVersionFlags({flag}));
    ASSERT_EQ(warnings.size(), 1U) << flag;
    EXPECT_TRUE(warnings[0].starts_with(flag.substr(0, flag.find('=')) + " has no effect: "))
        << warnings[0];
  }
  for (const std::string bad : {"--watch-max-keep-age=-1s", "--watch-max-keep-samples=-1",
                                "--max-concurrent-scrapes=0", "--max-concurrent-scrapes=many"}) {
    const std::vector<std::string> arguments = {bad};
    EXPECT_FALSE(ParseFlags(arguments, [](const std::string&) { return std::nullopt; }).ok())
        << bad;
  }
}

TEST(DcgmExporterVersionFlag, NamesTheKnownReleases) {
  const std::vector<std::string> arguments = {"--dcgm-exporter-version=4.8"};
  EXPECT_EQ(
      ParseFlags(arguments, [](const std::string&) { return std::nullopt; }).status().message(),
      "--dcgm-exporter-version: \"4.8\" is refused: must be one of 4.8.2, 4.8.3, 4.8.4, 4.9");
}

}  // namespace
}  // namespace podgpu
