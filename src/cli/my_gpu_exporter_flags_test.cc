#include <algorithm>
#include <map>

#include <gtest/gtest.h>

#include "cli/flags.h"

namespace podgpu {
namespace {

using Settings = std::map<std::string, std::string>;

StatusOr<NodeCommand> ParseAs(CalledAs called_as, const std::vector<std::string>& arguments,
                              const Settings& settings = {}) {
  return ParseFlags(
      arguments,
      [&](const std::string& name) {
        const auto found = settings.find(name);
        return found == settings.end() ? std::nullopt : std::optional(found->second);
      },
      called_as);
}

std::string RefusalOf(const std::vector<std::string>& arguments) {
  const StatusOr<NodeCommand> command = ParseAs(CalledAs::kPodgpu, arguments);
  return command.ok() ? "accepted" : std::string(command.status().message());
}

TEST(MyGpuExporterFlags, ValidateTheFlagsOfProcesses) {
  EXPECT_EQ(
      ParseAs(CalledAs::kPodgpu, {"--dcgm-update-frequency=5s"}).value().exporter.processes.period,
      std::chrono::seconds(5))
      << "as my-gpu-exporter calls it";
  EXPECT_TRUE(
      ParseAs(CalledAs::kPodgpu, {"--metrics-views=process"}).value().exporter.processes.enabled);
  EXPECT_EQ(ParseAs(CalledAs::kPodgpu,
                    {"--process-scan-interval=10s", "--enable-energy-estimation=false"})
                .value()
                .exporter.processes.period,
            std::chrono::seconds(1));
  EXPECT_NE(RefusalOf({"--process-metrics=yes"}).find("is not on or off"), std::string::npos);
  EXPECT_NE(RefusalOf({"--process-interval=50ms"}).find("100ms"), std::string::npos);
  EXPECT_NE(RefusalOf({"--metric-retention=-1s"}).find("0s or more"), std::string::npos);
  EXPECT_NE(RefusalOf({"--metric-prefix=2x"}).find("digit"), std::string::npos);
  EXPECT_NE(RefusalOf({"--gpu-idle-power=nan"}).find("watts"), std::string::npos);
  EXPECT_NE(RefusalOf({"--idle-energy=mine"}).find("unattributed"), std::string::npos);
  EXPECT_NE(RefusalOf({"--process-scope=pods"}).find("containers"), std::string::npos);
}

TEST(MyGpuExporterFlags, WarnAboutFlagsWithoutEffect) {
  for (const char* value : {"dcgm", "apportioned"}) {
    const std::string flag = std::string("--process-energy=") + value;
    const auto warnings = FlagWarnings(ParseAs(CalledAs::kMyGpuExporter, {flag}).value());
    ASSERT_EQ(warnings.size(), 1U);
    EXPECT_NE(warnings.front().find("--process-energy has no effect"), std::string::npos);
    EXPECT_NE(warnings.front().find("Remove the flag"), std::string::npos);
  }
  EXPECT_TRUE(FlagWarnings(ParseAs(CalledAs::kMyGpuExporter, {}).value()).empty());
  EXPECT_EQ(FlagWarnings(ParseAs(CalledAs::kPodgpu, {"--enable-accounting"}).value()).size(), 1U);
}

TEST(MyGpuExporterFlags, MeanTheSame) {
  const NodeCommand command =
      ParseAs(CalledAs::kPodgpu,
              {"--listen-address=:1", "--kubernetes-enabled", "--pod-resources-socket=/k",
               "--metrics-path=/gpu", "--metric-prefix=x", "--metric-retention=1m",
               "--gpu-idle-power=17", "--log-level=debug"})
          .value();
  EXPECT_EQ(command.exporter.http.address, ":1");
  EXPECT_TRUE(command.exporter.kubernetes);
  EXPECT_EQ(command.kubelet.socket, "/k");
  EXPECT_EQ(command.exporter.routes.metrics_path, "/gpu");
  EXPECT_EQ(command.exporter.processes.prefix, "x");
  EXPECT_EQ(command.exporter.processes.table.retention, std::chrono::minutes(1));
  EXPECT_EQ(command.exporter.processes.ledger.idle_power_mw, 17'000U);
  EXPECT_EQ(command.log_level, LogLevel::kDebug);
}

TEST(MyGpuExporterFlags, BothNamesOfAFlagMustAgree) {
  EXPECT_TRUE(ParseAs(CalledAs::kPodgpu, {"-k", "--kubernetes-enabled=1"}).ok());
  EXPECT_TRUE(ParseAs(CalledAs::kPodgpu, {"--listen-address=:1", "-a", ":1"}).ok());
  EXPECT_TRUE(ParseAs(CalledAs::kPodgpu, {"--listen-address=:1", "--listen-address=:2"}).ok())
      << "the last one wins";
  EXPECT_EQ(
      RefusalOf({"-a", ":1", "--listen-address=:2"}),
      "--address and --listen-address are the same flag but have two values, \":1\" and \":2\"");
  EXPECT_EQ(
      RefusalOf({"--kubernetes-enabled=true", "-k=false"}),
      "--kubernetes and --kubernetes-enabled are the same flag but have two values, \"false\" and "
      "\"true\"");
  EXPECT_EQ(ParseAs(CalledAs::kPodgpu, {"--listen-address=:2"}, {{"DCGM_EXPORTER_LISTEN", ":1"}})
                .value()
                .exporter.http.address,
            ":2");
}

TEST(MyGpuExporterFlags, AddAnotherMetricsPath) {
  EXPECT_TRUE(ParseAs(CalledAs::kPodgpu, {"--metrics-path=/metrics"}).ok());
  EXPECT_NE(RefusalOf({"--metrics-path=/healthz"}).find("another page"), std::string::npos);
  for (const char* path : {"gpu", "", "//x", "/a/../b", "/a?b", "/a b"}) {
    EXPECT_NE(RefusalOf({"--metrics-path", path}).find("must be a path"), std::string::npos)
        << path;
  }
}

TEST(MyGpuExporterFlags, TheNameOfTheProgramSelectsDefaults) {
  EXPECT_EQ(CalledBy("/usr/bin/dcgm-exporter"), CalledAs::kDcgmExporter);
  EXPECT_EQ(CalledBy("my-gpu-exporter"), CalledAs::kMyGpuExporter);
  EXPECT_EQ(CalledBy("podgpu"), CalledAs::kPodgpu);
  const auto parse = [](const std::vector<std::string>& arguments, const Settings& settings = {}) {
    return ParseAs(CalledAs::kMyGpuExporter, arguments, settings).value();
  };
  const NodeCommand command = parse({});
  EXPECT_TRUE(command.exporter.kubernetes);
  EXPECT_TRUE(command.exporter.view.kubernetes) << "DCGM rows have pods too, as with -k";
  EXPECT_TRUE(command.exporter.processes.enabled);
  EXPECT_EQ(std::ranges::count(command.exporter.views, View::kProcess), 1);
  EXPECT_FALSE(parse({"--kubernetes-enabled=false"}).exporter.kubernetes);
  EXPECT_FALSE(parse({}, {{"DCGM_EXPORTER_KUBERNETES", "false"}}).exporter.kubernetes);
  EXPECT_FALSE(parse({"--process-metrics=off"}).exporter.processes.enabled);
}

TEST(PodGpuMetricsExporterFlags, ItsNameSelectsItsIntervalPageAndFlags) {
  EXPECT_EQ(CalledBy("/usr/bin/pod-gpu-metrics-exporter"), CalledAs::kPodGpuMetricsExporter);
  const NodeCommand command =
      ParseAs(CalledAs::kPodGpuMetricsExporter, {"-logtostderr", "-v", "2", "--vmodule=a=1"})
          .value();
  EXPECT_EQ(command.action, NodeCommand::Action::kRun) << "its -v is a log level, not --version";
  EXPECT_TRUE(command.ignored_arguments.empty());
  EXPECT_EQ(command.exporter.collect_interval, std::chrono::seconds(1));
  EXPECT_TRUE(command.exporter.kubernetes);
  EXPECT_TRUE(command.exporter.legacy_from_start);
  EXPECT_FALSE(command.exporter.processes.enabled);
  EXPECT_EQ(ParseAs(CalledAs::kPodGpuMetricsExporter, {"-c", "5s", "-a=:1", "-logtostderr=true"})
                .value()
                .exporter.collect_interval,
            std::chrono::seconds(5))
      << "podgpu's own flags still work";
  const NodeCommand usual = ParseAs(CalledAs::kDcgmExporter, {}).value();
  EXPECT_EQ(usual.exporter.collect_interval, std::chrono::seconds(30));
  EXPECT_FALSE(usual.exporter.legacy_from_start);
  EXPECT_NE(RefusalOf({"-logtostderr"}).find("unknown flag"), std::string::npos);
}

}  // namespace
}  // namespace podgpu
