// The whole program in one process, while the API server keeps a watch open and sends nothing on
// it: no event, and not even the usual bookmark each minute.

#include <gtest/gtest.h>

#include "base/testing/manual_clock.h"
#include "exporter/exporter.h"
#include "http/testing/loopback_client.h"
#include "kube/testing/fake_api_server.h"
#include "kube/testing/fake_kubelet.h"
#include "source/testing/fake_source.h"

namespace podgpu {
namespace {

using std::chrono::milliseconds;

constexpr std::string_view kPodsUp = "podgpu_api_server_up{collection=\"pods\"} 1\n";
constexpr std::string_view kPodsDown = "podgpu_api_server_up{collection=\"pods\"} 0\n";

class ApiSilence : public ::testing::Test {
 protected:
  ApiSilence() {
    kubelet_.AnswerWith({{"ml", "train-0", "main", "nvidia.com/gpu", FakeDriver::Uuid(0)}});
    server_.PutPod("ml", "train-0", "u-0", R"({"team":"nlp"})");
    server_.BookmarkEach(milliseconds(20));
    ExporterOptions options;
    options.http.address = "127.0.0.1:0";
    options.collect_interval = std::chrono::seconds(1);
    options.kubernetes = true;
    options.view.kubernetes = true;
    options.counters = ParseCounters("DCGM_FI_DEV_GPU_TEMP, gauge, GPU temperature\n", "test.csv")
                           .value()
                           .counters;
    options.pod_labels = true;
    options.join.pod_labels = LabelAllowlist::Compile({}).value();
    ApiServerOptions server = server_.Options();
    server.watch_patience = milliseconds(2'000);  // Three minutes, for a bookmark each minute.
    options.api_server = server;
    exporter_ =
        Exporter::Start(options, {.clock = clock_,
                                  .open_source = [this]() -> StatusOr<std::unique_ptr<Source>> {
                                    return std::make_unique<FakeSource>(driver_);
                                  },
                                  .kubelet = kubelet_,
                                  .files = &files_})
            .value();
  }
  ~ApiSilence() override {
    driver_.Release();
    kubelet_.Release();
    EXPECT_TRUE(exporter_->Stop(std::chrono::hours(1)));
  }

  std::string Fetch(std::string_view path) {
    return LoopbackClient(exporter_->port()).Fetch(path).body;
  }
  // Waits until the body of `path` contains `part`, and advances the clock by `step` between
  // attempts.
  void Await(std::string_view path, std::string_view part, Duration step) {
    while (Fetch(path).find(part) == std::string::npos) {
      clock_.Advance(step);
    }
  }

  ManualClock clock_;
  FakeDriver driver_;
  FakeKubelet kubelet_;
  SystemFiles files_;
  FakeApiServer server_;
  std::unique_ptr<Exporter> exporter_;
};

TEST_F(ApiSilence, EndsTheWatchIsReportedEverywhereAndEndsWithANewWatch) {
  Await("/metrics", kPodsUp, milliseconds(1));
  Await("/metrics", "team=\"nlp\"", milliseconds(1));
  testing::internal::CaptureStderr();
  server_.SetSilent(true);
  server_.PutPod("ml", "train-1", "u-1");  // No event reports it.
  Await("/metrics", kPodsDown, milliseconds(1));
  const std::string page = Fetch("/metrics");
  EXPECT_NE(page.find("podgpu_api_server_failures_total{collection=\"pods\"} 1\n"),
            std::string::npos)
      << page;
  EXPECT_NE(page.find("team=\"nlp\""), std::string::npos) << "labels that are known stay";
  EXPECT_NE(page.find("podgpu_api_server_objects{collection=\"pods\"} 1\n"), std::string::npos);
  Await("/", "the watch of pods is silent: neither event nor bookmark for 2 s", milliseconds(1));
  EXPECT_TRUE(Fetch("/readyz").starts_with("ready")) << "labels do not decide on readiness";
  server_.SetSilent(false);
  Await("/metrics", kPodsUp, milliseconds(100));
  Await("/metrics", "podgpu_api_server_objects{collection=\"pods\"} 2\n", milliseconds(100));
  const std::string log = testing::internal::GetCapturedStderr();
  EXPECT_NE(log.find("state=degraded detail=\"the watch of pods is silent"), std::string::npos)
      << log;
  EXPECT_NE(log.find("state=ok"), std::string::npos) << log;
}

}  // namespace
}  // namespace podgpu
