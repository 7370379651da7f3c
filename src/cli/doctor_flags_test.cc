#include "cli/doctor_flags.h"

#include <map>

#include <gtest/gtest.h>

namespace podgpu {
namespace {

StatusOr<DoctorCommand> ParseDoctor(const std::vector<std::string>& arguments,
                                    const std::map<std::string, std::string>& variables = {}) {
  return ParseDoctorFlags(arguments, [&](const std::string& name) {
    const auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional<std::string>(found->second);
  });
}

TEST(DoctorFlags, AreThoseOfTheExporterAndItsOwn) {
  const StatusOr<DoctorCommand> command = ParseDoctor(
      {"-k", "--libnvidia-ml=/lib/x", "-v", "--only=kube,gpu.states", "--json", "--color", "never"},
      {{"DCGM_EXPORTER_LISTEN", ":9500"}});
  ASSERT_TRUE(command.ok()) << command.status();
  EXPECT_TRUE(command->node.exporter.kubernetes);
  EXPECT_EQ(command->node.source.nvml_library, "/lib/x");
  EXPECT_EQ(command->node.exporter.http.address, ":9500");
  EXPECT_TRUE(command->verbose);
  EXPECT_TRUE(command->json);
  EXPECT_EQ(command->colour, ColourUse::kNever);
  EXPECT_EQ(command->only, (std::vector<std::string>{"kube", "gpu.states"}));
  EXPECT_FALSE(command->report.has_value());
  EXPECT_EQ(command->settings.front().name, "address");
  EXPECT_EQ(command->settings.front().value, ":9500");
}

TEST(DoctorFlags, ConsequencesOfFlagsAreThoseOfTheExporter) {
  const StatusOr<DoctorCommand> command = ParseDoctor({"--process-metrics"});
  ASSERT_TRUE(command.ok()) << command.status();
  EXPECT_TRUE(command->node.exporter.processes.enabled);
}

// The variable configures the exporter; only the flag is a task for the doctor.
TEST(DoctorFlags, SwitchAccountingOnOnlyOnTheCommandLine) {
  const StatusOr<DoctorCommand> asked = ParseDoctor({"--enable-accounting"});
  ASSERT_TRUE(asked.ok()) << asked.status();
  EXPECT_TRUE(asked->enable_accounting);
  EXPECT_FALSE(asked->node.source.enable_accounting);
  const StatusOr<DoctorCommand> configured =
      ParseDoctor({}, {{"PODGPU_ENABLE_ACCOUNTING", "true"}});
  ASSERT_TRUE(configured.ok()) << configured.status();
  EXPECT_FALSE(configured->enable_accounting);
  EXPECT_TRUE(configured->node.source.enable_accounting);
}

TEST(DoctorFlags, AReportHasAFileOrNone) {
  EXPECT_EQ(ParseDoctor({"--report"})->report, "");
  EXPECT_EQ(ParseDoctor({"--report", "-k"})->report, "");
  EXPECT_EQ(ParseDoctor({"--report=/tmp/r"})->report, "/tmp/r");
  EXPECT_EQ(ParseDoctor({"--report-for=5s"})->report_for, std::chrono::seconds(5));
  EXPECT_FALSE(ParseDoctor({"--report-for=11m"}).ok());
}

TEST(DoctorFlags, AreRefusedInOneLine) {
  EXPECT_FALSE(ParseDoctor({"--enable-accounting", "now"}).ok());
  EXPECT_FALSE(ParseDoctor({"--fix"}).ok());
  EXPECT_FALSE(ParseDoctor({"--validate"}).ok());
  EXPECT_FALSE(ParseDoctor({"--color=blue"}).ok());
  EXPECT_EQ(ParseDoctor({"--jsn"}).status().message(),
            "unknown flag \"--jsn\"; nearest is --json. See podgpu doctor --help");
}

TEST(DoctorFlags, HelpNamesThem) {
  EXPECT_TRUE(ParseDoctor({"--help"})->wants_help);
  EXPECT_TRUE(ParseDoctor({"help"})->wants_help);
  EXPECT_NE(DoctorHelpText().find("--enable-accounting"), std::string::npos);
}

}  // namespace
}  // namespace podgpu
