// The assertions of dcgm-exporter's own tests about the running program: its answers, its reloads,
// its ends.  Real processes on a simulated node, except for internal functions.
// conformance_lines.cc gives the test of each line.
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <system_error>
#include <vector>

#include <gtest/gtest.h>

#include "base/testing/manual_clock.h"
#include "cli/flags.h"
#include "exporter/routes.h"
#include "kube/testing/fake_api_server.h"
#include "tests/e2e/failure_fixture.h"
#include "tests/strict_parser.h"

namespace podgpu {
namespace {

constexpr std::string_view kTemperature = "DCGM_FI_DEV_GPU_TEMP, gauge, GPU temperature\n";
constexpr std::string_view kTwoFields =
    "DCGM_FI_DEV_GPU_TEMP, gauge, GPU temperature\nDCGM_FI_DEV_POWER_USAGE, gauge, power\n";
constexpr std::string_view kTempRows = "\nDCGM_FI_DEV_GPU_TEMP{";
constexpr std::string_view kPowerRows = "\nDCGM_FI_DEV_POWER_USAGE{";

class UpstreamProgram : public FailureFixture {
 protected:
  UpstreamProgram() : FailureFixture(kThreeGpus) {}

  // Starts podgpu with a counters file, waits for its rows, and returns the file's path.
  std::string StartWith(std::string_view counters, std::vector<std::string> flags = {}) {
    const std::string path = files_.Write("counters.csv", counters);
    flags.insert(flags.end(), {"-c=200", "--stale-after=20s", "-f", path});
    exporter_.emplace(node_, flags);
    EXPECT_TRUE(exporter_->ready()) << exporter_->process().output();
    return path;
  }
  void Hup() { ::kill(exporter_->process().pid(), SIGHUP); }
  bool AwaitReloads(int count) const {
    return AwaitPage([count](const MetricPage& page) {
      return page.Value("podgpu_config_reloads_total", {R"(result="taken_over")"}) == count;
    });
  }
};

TEST_F(UpstreamProgram, AnswersWhileTheSourceFails) {
  StartWith(kTwoFields, {"-k", "--metrics-views=dcgm"});
  ASSERT_TRUE(exporter_->Await("/metrics", "pod=\"train-1\""));
  const LoopbackResponse well = exporter_->Fetch("/metrics");
  EXPECT_EQ(well.status, 200);
  EXPECT_TRUE(
      well.body.starts_with("# HELP DCGM_FI_DEV_GPU_TEMP GPU temperature\n"
                            "# TYPE DCGM_FI_DEV_GPU_TEMP gauge\n"
                            "DCGM_FI_DEV_GPU_TEMP{gpu=\"0\",UUID=\"GPU-"));
  node_.Command({"fault", "error", "calls=dcgmEntitiesGetLatestValues", "code=-3"});
  ASSERT_TRUE(AwaitPage([](const MetricPage& page) { return page.text().empty(); }));
  EXPECT_EQ(exporter_->Fetch("/metrics").status, 200);
  node_.Command({"heal"});
  EXPECT_TRUE(exporter_->Await("/metrics", kTempRows));
}

TEST_F(UpstreamProgram, ServesOthersWhenAClientDisconnects) {
  StartWith(kTemperature);
  ASSERT_TRUE(exporter_->Await("/metrics", kTempRows));
  for (int i = 0; i < 20; ++i) {
    LoopbackClient gone(exporter_->port(), 1);
    ASSERT_TRUE(gone.Send("GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n"));
  }
  EXPECT_EQ(exporter_->Fetch("/metrics").status, 200);
  EXPECT_TRUE(exporter_->process().IsRunning());
}

TEST_F(UpstreamProgram, EveryScrapeDuringReloadsIsWhole) {
  const std::string path = StartWith(kTemperature);
  ASSERT_TRUE(exporter_->Await("/metrics", kTempRows));
  int reloads = 0;
  for (int round = 0; round < 5; ++round) {
    files_.Write("counters.csv", round % 2 == 0 ? kTwoFields : kTemperature);
    Hup();
    ++reloads;
    while (true) {
      const LoopbackResponse page = exporter_->Fetch("/metrics");
      ASSERT_EQ(page.status, 200);
      ASSERT_NE(page.body.find(kTempRows), std::string::npos)
          << "rows of both lists are on every page";
      const auto families = ParseTextStrictly(page.body);
      ASSERT_TRUE(families.ok()) << families.status();
      for (const ParsedFamily& family : *families) {
        EXPECT_FALSE(family.samples.empty()) << family.name;
      }
      const bool two = page.body.find(kPowerRows) != std::string::npos;
      const MetricPage parsed(page.body);
      if (two == (round % 2 == 0) &&
          parsed.Value("podgpu_config_reloads_total", {R"(result="taken_over")"}) == reloads) {
        break;
      }
    }
  }
}

TEST_F(UpstreamProgram, TheListOfAConfigMapIsServedAndFollowed) {
  FakeApiServer server;
  const ApiServerOptions options = server.Options(files_.path());  // Token and certificate.
  constexpr const char* kMaps = "/api/v1/namespaces/gpu/configmaps";
  constexpr const char* kMetadata = R"("namespace":"gpu","name":"metrics")";
  const auto data = [](const std::string& line) {
    return R"(,"data":{"metrics":")" + line + R"("})";
  };
  const std::string first = data("DCGM_FI_DEV_FB_USED, gauge, used");
  server.Put(kMaps, "gpu/metrics", kMetadata, first);
  server.Serve(std::string(kMaps) + "/metrics", std::string("{\"metadata\":{") + kMetadata +
                                                    R"(,"resourceVersion":"101"})" + first + "}");
  ::setenv("KUBERNETES_SERVICE_HOST", options.host.c_str(), 1);
  ::setenv("KUBERNETES_SERVICE_PORT", options.port.c_str(), 1);
  StartWith(kTemperature, {"-m", "gpu:metrics", "--service-account-dir=" + files_.path()});
  ::unsetenv("KUBERNETES_SERVICE_HOST");
  ::unsetenv("KUBERNETES_SERVICE_PORT");
  ASSERT_TRUE(exporter_->Await("/metrics", "\nDCGM_FI_DEV_FB_USED{")) << exporter_->Get("/");
  EXPECT_FALSE(Page().Has("DCGM_FI_DEV_GPU_TEMP"));
  server.AwaitWatches(1);
  server.Put(kMaps, "gpu/metrics", kMetadata, data("DCGM_FI_DEV_FB_USED, gauge"));
  ASSERT_TRUE(AwaitPage([](const MetricPage& page) {
    return page.Value("podgpu_config_last_reload_successful") == 0;
  }));
  EXPECT_TRUE(Page().Has("DCGM_FI_DEV_FB_USED")) << "an invalid list changes nothing";
  server.Put(kMaps, "gpu/metrics", kMetadata, data("DCGM_FI_DEV_POWER_USAGE, gauge, power"));
  EXPECT_TRUE(exporter_->Await("/metrics", kPowerRows)) << exporter_->Get("/");
}

constexpr char kOneOwnedGpu[] = R"(format: 1
name: one
seed: 5
gpus: [{class: h100-sxm5-80gb}]
pods: [{name: train-0, namespace: ml, containers: [{name: main, gpus: [0]}]}]
)";

class UpstreamChart : public FailureFixture {
 protected:
  UpstreamChart() : FailureFixture(kOneOwnedGpu) {}
};

TEST_F(UpstreamChart, EverySampleOfTheOnlyGpuNamesItsPod) {
  exporter_.emplace(node_, std::vector<std::string>{"-c=200", "-k", "--metrics-views=dcgm", "-f",
                                                    "deploy/default-counters.csv"});
  ASSERT_TRUE(exporter_->Await("/metrics", "\nDCGM_FI_PROF_DRAM_ACTIVE{"));
  ASSERT_TRUE(exporter_->Await("/metrics", "pod=\"train-0\""));
  const auto families = ParseTextStrictly(exporter_->Get("/metrics"));
  ASSERT_TRUE(families.ok()) << families.status();
  size_t samples = 0;
  for (const ParsedFamily& family : *families) {
    for (const ParsedSample& sample : family.samples) {
      ++samples;
      for (const auto& [name, value] : {std::pair<std::string, std::string>{"namespace", "ml"},
                                        {"pod", "train-0"},
                                        {"container", "main"}}) {
        EXPECT_EQ(std::ranges::count(sample.labels, std::pair(name, value)), 1) << family.name;
      }
    }
  }
  EXPECT_GT(samples, 15U);
}

TEST(UpstreamInside, StatesOfHealth) {
  ManualClock clock;
  Wakeup wakeup;
  const Published<Grid> grids;
  Published<SourceStatus> source;
  source.Set(std::make_shared<const SourceStatus>());
  Published<PodFacts> pods;
  pods.Set(std::make_shared<const PodFacts>());
  const CallGuard guard(clock, std::chrono::seconds(10));
  const std::atomic<int> written_off = 0;
  const HttpCounters clients;
  Tick tick({}, {grids, source, pods, guard, written_off, clients}, clock, wakeup);
  const HttpHandler handler = MakeRoutes({}, tick, clock);
  const auto answer = [&] {
    HttpRequest request;
    request.path = "/health";
    const HttpResponse response = handler(request);
    std::string text = std::to_string(response.status) + " " + std::string(response.body);
    for (const auto& [name, value] : response.headers) {
      if (name.starts_with("X-Re")) {
        text.append("; ").append(name).append(": ").append(value);
      }
    }
    return text;
  };
  EXPECT_EQ(answer(),
            "200 OK - reload in progress; X-Registry-Available: false; X-Reload-In-Progress: true");
  tick.Once();
  EXPECT_EQ(answer(), "200 OK; X-Registry-Available: true");
  tick.ShowInstead({}, {FindField(150)});
  EXPECT_EQ(answer(), "200 OK; X-Registry-Available: true; X-Reload-In-Progress: true");
}

TEST(UpstreamInside, FlagsOfDumps) {
  const Environment none = [](const std::string&) { return std::nullopt; };
  const DumpOptions defaults = ParseFlags({}, none)->exporter.dumps;
  EXPECT_FALSE(defaults.enabled);
  EXPECT_EQ(defaults.directory, "/tmp/dcgm-exporter-debug");
  EXPECT_EQ(defaults.retention, std::chrono::hours(24));
  EXPECT_TRUE(defaults.compression);
  const std::vector<std::string> arguments = {"--dump-enabled", "--dump-directory=/d",
                                              "--dump-retention=48", "--dump-compression=false"};
  const DumpOptions custom = ParseFlags(arguments, none)->exporter.dumps;
  EXPECT_TRUE(custom.enabled);
  EXPECT_EQ(custom.directory, "/d");
  EXPECT_EQ(custom.retention, std::chrono::hours(48));
  EXPECT_FALSE(custom.compression);
  for (const char* for_ever : {"--dump-retention=0", "--dump-retention=-5"}) {
    EXPECT_EQ(ParseFlags(std::vector<std::string>{for_ever}, none)->exporter.dumps.retention,
              std::chrono::hours(0));
  }
}

TEST_F(UpstreamProgram, DumpsOfReadings) {
  const std::string directory = files_.path() + "/dumps";
  StartWith(kTemperature,
            {"--dump-enabled", "--dump-directory=" + directory, "--dump-compression=false"});
  const auto has_dumps = [&] {
    std::error_code error;
    std::set<std::string> whats;
    for (const auto& entry : std::filesystem::directory_iterator(directory, error)) {
      const std::string name = entry.path().filename();
      whats.insert(name.substr(0, name.find('-', name.find('-') + 1)));
    }
    return whats.contains("metrics-GPU") && whats.contains("deviceinfo-GPU");
  };
  EXPECT_TRUE(AwaitPage([&](const MetricPage&) { return has_dumps(); }));
}

}  // namespace
}  // namespace podgpu
