#include "exporter/exporter.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "base/testing/manual_clock.h"
#include "http/testing/loopback_client.h"
#include "kube/testing/fake_api_server.h"
#include "kube/testing/fake_kubelet.h"
#include "source/testing/fake_source.h"

namespace podgpu {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;

// The whole program in one process; the test controls the driver, the kubelet and the clock.
class ExporterTest : public ::testing::Test {
 protected:
  ~ExporterTest() override {
    driver_.Release();
    kubelet_.Release();
    if (exporter_ != nullptr) {
      EXPECT_TRUE(exporter_->Stop(hours(1)));
    }
  }

  void Start(ExporterOptions options = {}, const Files* files = nullptr) {
    options.http.address = "127.0.0.1:0";
    options.collect_interval = seconds(1);
    options.kubernetes = true;
    options.view.kubernetes = true;
    options.view.hostname = "node-a";
    options.counters = ParseCounters("DCGM_FI_DEV_GPU_TEMP, gauge, GPU temperature\n", "test.csv")
                           .value()
                           .counters;
    StatusOr<std::unique_ptr<Exporter>> exporter =
        Exporter::Start(options, {clock_,
                                  [this]() -> StatusOr<std::unique_ptr<Source>> {
                                    return std::make_unique<FakeSource>(driver_);
                                  },
                                  kubelet_,
                                  {},
                                  NewThreadTally(),
                                  files});
    ASSERT_TRUE(exporter.ok()) << exporter.status();
    exporter_ = *std::move(exporter);
  }
  // Waits until all four threads sleep: source, watchdog, kubelet, tick.
  void AwaitIdle(int threads = 4) { clock_.AwaitSleepers(threads); }
  LoopbackResponse Fetch(std::string_view path) {
    return LoopbackClient(exporter_->port()).Fetch(path);
  }
  // Waits until a page fulfils `holds`, and advances the clock by `step` between attempts.
  void AwaitPage(const std::function<bool(const std::string&)>& holds,
                 Duration step = Duration::zero()) {
    while (!holds(Fetch("/metrics").body)) {
      clock_.Advance(step);
    }
  }

  ManualClock clock_;
  FakeDriver driver_;
  FakeKubelet kubelet_;
  std::optional<SystemFiles> files_;  // Outlives the exporter.
  std::unique_ptr<Exporter> exporter_;
};

bool Holds(const std::string& page, std::string_view part) {
  return page.find(part) != std::string::npos;
}

TEST_F(ExporterTest, ServesOwnersAndValuesFromTheFirstReading) {
  kubelet_.AnswerWith({{"ml", "train-0", "main", "nvidia.com/gpu", FakeDriver::Uuid(0)}});
  Start();
  AwaitPage([](const std::string& page) { return Holds(page, "pod=\"train-0\"} 42\n"); });
  const LoopbackResponse page = Fetch("/metrics");
  EXPECT_EQ(page.status, 200);
  EXPECT_TRUE(Holds(page.head, "Content-Type: text/plain; version=0.0.4; charset=utf-8\r\n"));
  EXPECT_TRUE(Holds(page.head, "Vary: Accept, Accept-Encoding\r\n"));
  EXPECT_TRUE(Holds(page.head, "X-Content-Type-Options: nosniff\r\n"));
}

TEST_F(ExporterTest, ShowsTheJobsOfABatchSystemOnceTheirDirectoryAppears) {
  std::string root = ::testing::TempDir() + "podgpu-jobs-XXXXXX";
  ASSERT_NE(::mkdtemp(root.data()), nullptr);
  const SystemFiles& files = files_.emplace(root);
  ExporterOptions options;
  options.job_directory = "/jobs";
  Start(options, &files);
  AwaitPage([](const std::string& page) { return Holds(page, "\"} 42\n"); });
  AwaitPage(
      [](const std::string& page) { return Holds(page, "podgpu_hpc_job_failures_total 1\n"); });
  EXPECT_TRUE(Holds(Fetch("/").body, "/jobs: No such file or directory"));
  const std::filesystem::path directory = root + "/jobs";
  std::filesystem::create_directory(directory);
  std::ofstream(directory / "0") << "1001\n";
  AwaitPage([](const std::string& page) { return Holds(page, "hpc_job=\"1001\"} 42\n"); },
            milliseconds(100));
  std::filesystem::remove_all(root);
}

TEST_F(ExporterTest, ShowsUidAndLabelsOfPodsAndContinuesWithoutTheApiServer) {
  std::string root = ::testing::TempDir() + "podgpu-labels-XXXXXX";
  ASSERT_NE(::mkdtemp(root.data()), nullptr);
  const SystemFiles& files = files_.emplace();
  FakeApiServer server;
  server.PutPod("ml", "train-0", "u-0", R"({"team":"nlp"})");
  kubelet_.AnswerWith({{"ml", "train-0", "main", "nvidia.com/gpu", FakeDriver::Uuid(0)}});
  ExporterOptions options;
  options.view.pod_uid = true;
  options.pod_labels = true;
  options.join.pod_labels = LabelAllowlist::Compile({}).value();
  options.api_server = server.Options(root);
  Start(options, &files);
  AwaitPage([](const std::string& page) {
    return Holds(page,
                 "team=\"nlp\",container=\"main\",namespace=\"ml\",pod=\"train-0\","
                 "pod_uid=\"u-0\"} 42\n");
  });
  server.Refuse(1'000'000, 403);
  server.CutWatches();
  AwaitPage(
      [](const std::string& page) {
        return Holds(page, "podgpu_api_server_up{collection=\"pods\"} 0\n");
      },
      milliseconds(100));
  EXPECT_TRUE(Holds(Fetch("/metrics").body, "team=\"nlp\"")) << "labels stay for five minutes";
  while (!Holds(Fetch("/").body, "403")) {
    clock_.Advance(milliseconds(10));
  }
  // Five minutes later they are withdrawn; device and pod stay.
  AwaitPage(
      [](const std::string& page) { return Holds(page, "pod=\"train-0\",pod_uid=\"\"} 42\n"); },
      seconds(1));
  EXPECT_FALSE(Holds(Fetch("/metrics").body, "team="));
  std::filesystem::remove_all(root);
}

constexpr std::string_view kSlicesPath = "/apis/resource.k8s.io/v1/resourceslices";

// Returns a slice with these devices: name and UUID of GPUs.
void PutSlice(FakeApiServer& server, int generation,
              const std::vector<std::pair<std::string, std::string>>& gpus) {
  std::string devices;
  for (const auto& [name, uuid] : gpus) {
    devices += (devices.empty() ? "" : ",") + (R"({"name":")" + name) +
               R"(","attributes":{"type":{"string":"gpu"},"uuid":{"string":")" + uuid + "\"}}}";
  }
  server.Put(kSlicesPath, "slice", R"("name":"slice")",
             R"(,"spec":{"driver":"gpu.nvidia.com","nodeName":"node-a","pool":{"name":"node-a",)"
             R"("generation":)" +
                 std::to_string(generation) + R"(},"devices":[)" + devices + "]}");
}

// No page waits for the API server, and its answers have an effect at once.
TEST_F(ExporterTest, FollowsTheClaimsOfDevicesThatResourceSlicesDescribe) {
  std::string root = ::testing::TempDir() + "podgpu-claims-XXXXXX";
  ASSERT_NE(::mkdtemp(root.data()), nullptr);
  const SystemFiles& files = files_.emplace();
  FakeApiServer server;
  server.Refuse(1, 503);
  server.Serve("/apis/resource.k8s.io", R"({"versions":[{"version":"v1"}]})");
  PutSlice(server, 1, {{"gpu-0", FakeDriver::Uuid(0)}});
  kubelet_.Answer(PodAllocations{
      "v1", 1, {}, {{"ml", "train-0", "main", "ml", "c1", "gpu.nvidia.com", "node-a", "gpu-0"}}});
  ExporterOptions options;
  options.join.claims = true;
  options.api_server = server.Options(root);
  Start(options, &files);
  EXPECT_EQ(Fetch("/metrics").status, 200) << "before the API server has answered";
  const auto claimed = [](const std::string& uuid) {
    return [uuid](const std::string& page) {
      return Holds(page, "podgpu_allocation_info{gpu=\"" + uuid.substr(uuid.size() - 1) +
                             "\",UUID=\"" + uuid + "\",namespace=\"ml\",pod=\"train-0\"");
    };
  };
  AwaitPage(claimed(FakeDriver::Uuid(0)), milliseconds(100));
  EXPECT_TRUE(Holds(Fetch("/metrics").body,
                    "dra_claim_name=\"c1\",dra_claim_namespace=\"ml\",dra_device_name=\"gpu-0\","
                    "dra_driver_name=\"gpu.nvidia.com\",dra_pool_name=\"node-a\",namespace=\"ml\","
                    "pod=\"train-0\"} 42\n"));
  // The driver gives the name to another GPU, then back to the first one.
  PutSlice(server, 2, {{"gpu-0", FakeDriver::Uuid(1)}});
  AwaitPage(claimed(FakeDriver::Uuid(1)));
  EXPECT_FALSE(claimed(FakeDriver::Uuid(0))(Fetch("/metrics").body));
  PutSlice(server, 3, {});
  AwaitPage([](const std::string& page) {
    return Holds(page, "podgpu_devices_unmatched{reason=\"no_resource_slice\"} 1\n");
  });
  EXPECT_FALSE(Holds(Fetch("/metrics").body, "train-0"));
  EXPECT_TRUE(Holds(Fetch("/").body, "node-a/gpu-0"));
  // Known slices stay in use while the server is unreachable, without a limit.
  PutSlice(server, 4, {{"gpu-0", FakeDriver::Uuid(0)}});
  AwaitPage(claimed(FakeDriver::Uuid(0)));
  server.Refuse(1'000'000, 403);
  server.CutWatches();
  AwaitPage(
      [](const std::string& page) {
        return Holds(page, "podgpu_api_server_up{collection=\"resourceslices\"} 0\n");
      },
      milliseconds(100));
  while (!Holds(Fetch("/").body, "403")) {
    clock_.Advance(milliseconds(100));
  }
  for (int i = 0; i < 400; ++i) {
    clock_.Advance(seconds(1));
  }
  AwaitPage(claimed(FakeDriver::Uuid(0)), milliseconds(100));
  std::filesystem::remove_all(root);
}

TEST_F(ExporterTest, AnHourOfScrapesAsksTheApiServerNothing) {
  std::string root = ::testing::TempDir() + "podgpu-hour-XXXXXX";
  ASSERT_NE(::mkdtemp(root.data()), nullptr);
  const SystemFiles& files = files_.emplace();
  FakeApiServer server;
  server.PutPod("ml", "train-0", "u-0");
  server.Serve("/apis/resource.k8s.io", R"({"versions":[{"version":"v1"}]})");
  PutSlice(server, 1, {{"gpu-0", FakeDriver::Uuid(0)}});
  kubelet_.AnswerWith({{"ml", "train-0", "main", "nvidia.com/gpu", FakeDriver::Uuid(0)}});
  ExporterOptions options;
  options.view.pod_uid = true;
  options.join.claims = true;
  options.api_server = server.Options(root);
  Start(options, &files);
  server.AwaitWatches(2);
  AwaitPage([](const std::string& page) { return Holds(page, "pod_uid=\"u-0\"} 42\n"); });
  const std::vector<std::string> first = server.requests();
  EXPECT_EQ(first.size(), 5U)
      << "the versions of a group, then a list and a watch of each collection";
  LoopbackClient scraper(exporter_->port());
  for (int second = 0; second < 3'600; ++second) {
    clock_.Advance(seconds(1));
    ASSERT_EQ(scraper.Fetch("/metrics").status, 200) << second;
  }
  EXPECT_EQ(server.requests(), first);
  std::filesystem::remove_all(root);
}

TEST_F(ExporterTest, LogsWhyItDoesNotUseTheApiServer) {
  const SystemFiles& files = files_.emplace();
  ExporterOptions options;
  options.view.pod_uid = true;
  options.api_server = FindApiServer([](const std::string&) { return std::nullopt; });
  Start(options, &files);
  AwaitPage([](const std::string& page) {
    return Holds(page, "podgpu_api_server_up{collection=\"pods\"} 0\n") && Holds(page, "\"} 42\n");
  });
  EXPECT_TRUE(Holds(Fetch("/").body, "KUBERNETES_SERVICE_HOST is not set"));
}

TEST_F(ExporterTest, AnswersInOpenMetricsAndGzipOnRequest) {
  Start();
  AwaitIdle();
  LoopbackClient client(exporter_->port());
  client.Send(
      "GET /metrics HTTP/1.1\r\nHost: t\r\nAccept: "
      "application/openmetrics-text;version=1.0.0\r\n\r\n");
  const LoopbackResponse open = client.Read();
  EXPECT_TRUE(Holds(open.head, "application/openmetrics-text; version=1.0.0"));
  EXPECT_TRUE(open.body.ends_with("# EOF\n"));
  client.Send("GET /metrics HTTP/1.1\r\nHost: t\r\nAccept-Encoding: gzip\r\n\r\n");
  const LoopbackResponse zipped = client.Read();
  EXPECT_TRUE(Holds(zipped.head, "Content-Encoding: gzip\r\n"));
  EXPECT_TRUE(zipped.body.starts_with("\x1f\x8b"));
}

TEST_F(ExporterTest, EveryPathAnswers) {
  Start();
  AwaitPage([](const std::string& page) { return Holds(page, "podgpu_ready 1\n"); });
  const LoopbackResponse health = Fetch("/health");
  EXPECT_EQ(health.status, 200);
  EXPECT_EQ(health.body, "OK");
  EXPECT_TRUE(Holds(health.head, "X-Registry-Available: true\r\n"));
  EXPECT_EQ(Fetch("/healthz").body, "ok\n");
  const LoopbackResponse ready = Fetch("/readyz");
  EXPECT_EQ(ready.status, 200);
  EXPECT_EQ(ready.body, "ready: 2 GPUs have fresh samples\n");
  const LoopbackResponse status = Fetch("/");
  EXPECT_TRUE(Holds(status.head, "Content-Type: text/html; charset=utf-8\r\n"));
  EXPECT_TRUE(Holds(status.body, "<h1>podgpu on node-a</h1>"));
  EXPECT_TRUE(Holds(status.body, "href=\"./metrics\""));
  while (!Holds(Fetch("/").body, "fake driver: 2 GPUs")) {
  }  // The log line comes a moment after the first reading.
  const LoopbackResponse unknown = Fetch("/nothing");
  EXPECT_EQ(unknown.status, 404);
  EXPECT_EQ(unknown.body, "404 page not found\n");
}

TEST_F(ExporterTest, ScrapesAndTicksContinueWhileDriverAndKubeletBothHang) {
  Start();
  AwaitIdle();
  driver_.BlockReads(/*interruptible=*/false);
  kubelet_.Block();
  clock_.Advance(seconds(1));
  driver_.AwaitBlockedRead();
  kubelet_.AwaitBlockedCall();
  AwaitIdle(2);  // Watchdog and tick; the other two hang.
  const uint64_t ticks_before = exporter_->tick().ticks();
  LoopbackClient client(exporter_->port());
  for (int i = 0; i < 1'000; ++i) {
    ASSERT_EQ(client.Fetch("/metrics").status, 200) << "scrape " << i;
    if (i % 100 == 0) {
      clock_.Advance(milliseconds(1'250));
      AwaitIdle(2);
    }
  }
  EXPECT_GE(exporter_->tick().ticks(), ticks_before + 10);
  const std::string page = Fetch("/metrics").body;
  EXPECT_FALSE(Holds(page, "DCGM_FI_DEV_GPU_TEMP{")) << "values older than the limit are withdrawn";
  EXPECT_TRUE(Holds(page, "podgpu_source_state{state=\"unresponsive\"} 1\n"));
  EXPECT_EQ(Fetch("/readyz").status, 503);
  EXPECT_EQ(Fetch("/healthz").status, 200);
}

TEST_F(ExporterTest, RecoversWhenTheHangEnds) {
  Start();
  AwaitIdle();
  driver_.BlockReads(/*interruptible=*/true);
  clock_.Advance(seconds(1));
  driver_.AwaitBlockedRead();
  AwaitPage(
      [](const std::string& page) {
        return Holds(page, "podgpu_source_interrupted_calls_total 1\n");
      },
      seconds(1));
  driver_.Release();
  AwaitPage([](const std::string& page) { return Holds(page, "podgpu_ready 1\n"); }, seconds(1));
  EXPECT_EQ(driver_.watches(), 2);
}

TEST_F(ExporterTest, AnswersEveryMethod) {
  Start();
  for (const std::string_view method : {"GET", "POST", "PUT", "DELETE", "OPTIONS", "PURGE"}) {
    LoopbackClient client(exporter_->port());
    client.Send(std::string(method) + " /health HTTP/1.1\r\nHost: x\r\n\r\n");
    EXPECT_EQ(client.Read().status, 200) << method;
  }
}

TEST_F(ExporterTest, LivenessEndsWhenTheTickDoes) {
  Start();
  AwaitIdle();
  EXPECT_EQ(Fetch("/healthz").status, 200);
  // The tick wakes at every advance, so only a jump of the clock past the deadline shows a dead
  // tick.
  const HttpHandler routes = MakeRoutes({}, exporter_->tick(), clock_);
  ManualClock later;
  later.Advance(exporter_->tick().last_ended() - later.Now() + seconds(11));
  const HttpHandler late_routes = MakeRoutes({}, exporter_->tick(), later);
  HttpRequest request;
  request.path = "/healthz";
  EXPECT_EQ(routes(request).status, 200);
  EXPECT_EQ(late_routes(request).status, 503);
}

TEST_F(ExporterTest, StopsAtOnceAHundredTimes) {
  for (int i = 0; i < 100; ++i) {
    Start();
    ASSERT_TRUE(exporter_->Stop(hours(1)));
    exporter_.reset();
  }
}

TEST_F(ExporterTest, StopReportsACallThatCannotBeEnded) {
  Start();
  AwaitIdle();
  driver_.BlockReads(/*interruptible=*/false);
  clock_.Advance(seconds(1));
  driver_.AwaitBlockedRead();
  testing::internal::CaptureStderr();
  EXPECT_FALSE(exporter_->Stop(milliseconds(1)));
  const std::string log = testing::internal::GetCapturedStderr();
  EXPECT_NE(log.find("msg=\"threads did not end in time; podgpu exits without them\""),
            std::string::npos)
      << log;
  EXPECT_NE(log.find("a call into the driver"), std::string::npos) << log;
  EXPECT_EQ(log.find("--dump-directory"), std::string::npos) << log;
  driver_.Release();
  EXPECT_TRUE(exporter_->Stop(hours(1)));
}

TEST_F(ExporterTest, ATakenPortIsAConfigurationError) {
  Start();
  ExporterOptions options;
  options.http.address = "127.0.0.1:" + std::to_string(exporter_->port());
  const StatusOr<std::unique_ptr<Exporter>> second = Exporter::Start(
      options,
      {clock_, []() -> StatusOr<std::unique_ptr<Source>> { return absl::NotFoundError("none"); },
       kubelet_});
  EXPECT_EQ(second.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE(Holds(std::string(second.status().message()), options.http.address + " is in use"));
}

TEST_F(ExporterTest, ServesANewListOfMetricsFromItsFirstReading) {
  Start();
  AwaitPage([](const std::string& page) { return Holds(page, "DCGM_FI_DEV_GPU_TEMP{"); });
  AwaitIdle();
  exporter_->Reload(ParseCounters("DCGM_FI_DEV_BAR1_USED, gauge, used\n", "new.csv"), {});
  AwaitPage([](const std::string& page) { return Holds(page, "DCGM_FI_DEV_BAR1_USED{"); });
  const std::string page = Fetch("/metrics").body;
  EXPECT_FALSE(Holds(page, "DCGM_FI_DEV_GPU_TEMP{"));
  EXPECT_TRUE(Holds(page, "podgpu_config_reloads_total{result=\"taken_over\"} 1\n"));
  EXPECT_TRUE(Holds(page, "podgpu_config_last_reload_successful 1\n"));
  EXPECT_TRUE(Holds(Fetch("/").body, "1 metrics of new.csv"));
}

TEST_F(ExporterTest, KeepsItsListOfMetricsWhenTheNewOneIsRefused) {
  Start();
  AwaitPage([](const std::string& page) { return Holds(page, "DCGM_FI_DEV_GPU_TEMP{"); });
  AwaitIdle();
  exporter_->Reload(ParseCounters("DCGM_FI_DEV_NO_SUCH, gauge, none\n", "new.csv"), {});
  AwaitPage([](const std::string& page) {
    return Holds(page, "podgpu_config_reloads_total{result=\"refused\"} 1\n");
  });
  const std::string page = Fetch("/metrics").body;
  EXPECT_TRUE(Holds(page, "DCGM_FI_DEV_GPU_TEMP{"));
  EXPECT_TRUE(Holds(page, "podgpu_config_last_reload_successful 0\n"));
  EXPECT_TRUE(Holds(Fetch("/").body, "as last accepted; the current content is refused: new.csv"));
}

TEST_F(ExporterTest, ShowsTheOldListWhileTheNewOneWaitsForAReading) {
  Start();
  AwaitPage([](const std::string& page) { return Holds(page, "DCGM_FI_DEV_GPU_TEMP{"); });
  AwaitIdle();
  driver_.BlockReads(false);
  exporter_->Reload(ParseCounters("DCGM_FI_DEV_BAR1_USED, gauge, used\n", "new.csv"), {});
  AwaitPage([](const std::string& page) {
    return Holds(page, "podgpu_config_reloads_total{result=\"taken_over\"} 1\n");
  });
  EXPECT_TRUE(Holds(Fetch("/metrics").body, "DCGM_FI_DEV_GPU_TEMP{"));
  EXPECT_TRUE(Holds(Fetch("/health").head, "X-Reload-In-Progress: true\r\n"));
  driver_.Release();
  AwaitPage([](const std::string& page) { return Holds(page, "DCGM_FI_DEV_BAR1_USED{"); });
  EXPECT_FALSE(Holds(Fetch("/health").head, "X-Reload-In-Progress"));
}

TEST_F(ExporterTest, ReadsTheFieldsOfTheLegacyPageOnceAClientRequestsIt) {
  kubelet_.AnswerWith({{"ml", "train-0", "main", "nvidia.com/gpu", FakeDriver::Uuid(0)}});
  Start();
  AwaitPage([](const std::string& page) { return Holds(page, "pod=\"train-0\"} 42\n"); });
  AwaitIdle();
  const int watches = driver_.watches();
  const LoopbackResponse first = Fetch("/gpu/metrics");
  EXPECT_EQ(first.status, 200);
  EXPECT_TRUE(Holds(first.body, "dcgm_gpu_temp{container_name=\"main\",gpu=\"0\",pod_name="));
  EXPECT_TRUE(Holds(first.body, "dcgm_retired_pages_sbe{")) << "the request waited for this field";
  EXPECT_EQ(driver_.watches(), watches + 1) << "one watch for all later requests";
  EXPECT_FALSE(Holds(Fetch("/metrics").body, "RETIRED_SBE")) << "the main page has not changed";
  EXPECT_TRUE(Holds(Fetch("/").body, "/gpu/metrics"));
}

TEST_F(ExporterTest, TheLegacyPageDoesNotWaitForAHungDriver) {
  Start();
  AwaitPage([](const std::string& page) { return Holds(page, "DCGM_FI_DEV_GPU_TEMP{"); });
  AwaitIdle();
  driver_.BlockReads(false);
  LoopbackClient first(exporter_->port());
  ASSERT_TRUE(first.Send("GET /gpu/metrics HTTP/1.1\r\nHost: x\r\n\r\n"));
  EXPECT_EQ(Fetch("/healthz").status, 200) << "no other client waits";
  clock_.Advance(seconds(3));
  const LoopbackResponse response = first.Read();
  EXPECT_TRUE(Holds(response.body, "dcgm_gpu_temp{"));
  EXPECT_FALSE(Holds(response.body, "dcgm_retired_pages_sbe{"));
  EXPECT_TRUE(Holds(Fetch("/gpu/metrics").body, "dcgm_gpu_temp{")) << "at once";
  driver_.Release();
}

TEST_F(ExporterTest, LabelsOfTheLegacyPageReturnWithTheKubelet) {
  kubelet_.AnswerWith({{"ml", "train-0", "main", "nvidia.com/gpu", FakeDriver::Uuid(0)}});
  Start();
  const auto await_legacy = [&](bool labelled, Duration step) {
    while (Holds(Fetch("/gpu/metrics").body, "pod_name=\"train-0\"") != labelled) {
      clock_.Advance(step);
    }
  };
  await_legacy(true, Duration::zero());
  kubelet_.Answer(absl::UnavailableError("connection refused"));
  await_legacy(false, seconds(1));
  // Values stay.  On a busy machine the clock may have passed the reader by, so the next reading
  // may have to bring them.
  while (!Holds(Fetch("/gpu/metrics").body, "dcgm_gpu_temp{gpu=\"0\",uuid=")) {
    clock_.Advance(milliseconds(100));
  }
  kubelet_.AnswerWith({{"ml", "train-0", "main", "nvidia.com/gpu", FakeDriver::Uuid(0)}});
  await_legacy(true, seconds(1));
}

}  // namespace
}  // namespace podgpu
