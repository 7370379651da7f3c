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
      {"4.8.2", "Hostname", "counter"},
      {"4.8.3", "hostname", "gauge"},
      {"4.8.4", "hostname", "gauge"},
      {"4.9", "hostname", "gauge"},
  };
  for (const auto& row : rows) {
    for (const NodeCommand& command :
         {ParseVersionFlags({"--dcgm-exporter-version=" + row.version}),
          ParseVersionFlags({}, row.version)}) {
      EXPECT_EQ(command.exporter.view.version->name, row.version);
      EXPECT_EQ(command.exporter.view.hostname_label, row.hostname_label) << row.version;
      EXPECT_EQ(command.counters.release.nvlink_bandwidth_type, row.nvlink_bandwidth_type)
          << row.version;
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

TEST(DcgmExporterVersionFlag, NamesTheKnownReleases) {
  const std::vector<std::string> arguments = {"--dcgm-exporter-version=4.8"};
  EXPECT_EQ(
      ParseFlags(arguments, [](const std::string&) { return std::nullopt; }).status().message(),
      "--dcgm-exporter-version: \"4.8\" is refused: must be one of 4.8.2, 4.8.3, 4.8.4, 4.9");
}

}  // namespace
}  // namespace podgpu
