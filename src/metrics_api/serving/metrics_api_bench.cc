// Measures the metrics API on 5,000 nodes of 8 GPUs: the window, its table, and answers, computed
// alone and over TLS.
#include <algorithm>

#include <benchmark/benchmark.h>

#include "http/testing/test_server.h"
#include "http/testing/tls_client.h"
#include "http/testing/web_config_files.h"
#include "metrics_api/serving/documents.h"
#include "metrics_api/serving/metrics_api.h"
#include "metrics_api/testing/fake_control_plane.h"
#include "metrics_api/testing/window_reports.h"

namespace podgpu {
namespace {

constexpr int kNodes = 5'000;
constexpr int kGpusPerNode = 8;
constexpr int kNamespaces = 200;
constexpr int64_t kStartMs = 1'700'000'000'000;
constexpr int64_t kIntervalMs = 15'000;
constexpr int64_t kEndMs = kStartMs + 60'000;
constexpr std::chrono::minutes kWindow{1};

// All pods of one namespace hold half of the GPUs; 200 others share the rest.
std::string HolderOf(int node, int gpu) {
  const std::string name_space =
      node % 2 == 0 ? "large" : "team-" + std::to_string(node % kNamespaces);
  return name_space + "/train" + std::to_string(node % 50) + "-" + std::to_string(node * 10 + gpu);
}

std::vector<WindowNode> Reading(int64_t read_ms) {
  std::vector<WindowNode> nodes;
  for (int node = 0; node < kNodes; ++node) {
    std::vector<ReportedGpu> gpus;
    for (int gpu = 0; gpu < kGpusPerNode; ++gpu) {
      ReportedGpu one =
          TestGpu("GPU-" + std::to_string(node) + "-" + std::to_string(gpu), {HolderOf(node, gpu)});
      const double percent = (node * 31 + gpu * 17) % 100;
      SetUse(one.use, UseMeasure::kMemoryCopy, percent, 200);
      SetUse(one.use, UseMeasure::kUtilization, percent, 200);
      SetUse(one.use, UseMeasure::kPower, 100 + percent, 200);
      SetUse(one.use, UseMeasure::kMemoryUsed, 1e9 * percent, 200);
      gpus.push_back(std::move(one));
    }
    nodes.push_back(TestNode("gpu-node-" + std::to_string(node), std::move(gpus), read_ms));
  }
  return nodes;
}

// A minute of readings.
void Fill(UseWindow& window) {
  for (int64_t at = kStartMs + 1'000; at < kEndMs; at += kIntervalMs) {
    window.Take(Reading(at));
  }
}

void BM_TakeReadingsOfAllNodes(benchmark::State& state) {
  UseWindow window(TestWindowOptions());
  int64_t at = kStartMs;
  for (auto turn : state) {
    state.PauseTiming();
    const std::vector<WindowNode> nodes = Reading(at += kIntervalMs);
    state.ResumeTiming();
    window.Take(nodes);
  }
}
BENCHMARK(BM_TakeReadingsOfAllNodes)->Unit(benchmark::kMillisecond);

void BM_MakeTable(benchmark::State& state) {
  UseWindow window(TestWindowOptions());
  Fill(window);
  std::shared_ptr<const MetricsTable> table;
  for (auto turn : state) {
    table = window.MakeTable(kEndMs, kWindow, nullptr);
  }
  state.counters["window_bytes"] = static_cast<double>(window.bytes());
  state.counters["table_bytes"] = static_cast<double>(table->bytes());
  state.counters["samples"] = static_cast<double>(window.points());
}
BENCHMARK(BM_MakeTable)->Unit(benchmark::kMillisecond);

// The largest namespace: 20,000 GPUs; computed again for each question.
void BM_AskExternal(benchmark::State& state, const char* selector) {
  UseWindow window(TestWindowOptions());
  Fill(window);
  const auto table = window.MakeTable(kEndMs, kWindow, nullptr);
  const LabelSelector labels = ParseLabelSelector(selector).value();
  for (auto turn : state) {
    const auto value = AskExternal(*table, ExternalMetric::kAverageUtilization, "large", labels);
    benchmark::DoNotOptimize(
        ExternalValueJson("avg_gpu_utilization", "large", value.value(), 60).size());
  }
}
BENCHMARK_CAPTURE(BM_AskExternal, all, "")->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(BM_AskExternal, workload, "workload=train4")->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(BM_AskExternal, node, "node notin (gpu-node-1,gpu-node-2)")
    ->Unit(benchmark::kMicrosecond);

// The question of /api/v1/in-use; it reads all 40,000 GPUs, whatever it selects.
void BM_AskInUse(benchmark::State& state, const InUseQuestion& question) {
  UseWindow window(TestWindowOptions());
  Fill(window);
  const auto table = window.MakeTable(kEndMs, kWindow, nullptr);
  for (auto turn : state) {
    benchmark::DoNotOptimize(AskInUse(*table, question).value().devices);
  }
}
BENCHMARK_CAPTURE(BM_AskInUse, all, {})->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(BM_AskInUse, workload, {.name_space = "large", .workload = "train4"})
    ->Unit(benchmark::kMicrosecond);

void BM_AskPods(benchmark::State& state) {
  UseWindow window(TestWindowOptions());
  Fill(window);
  const auto table = window.MakeTable(kEndMs, kWindow, nullptr);
  const LabelSelector none;
  for (auto turn : state) {
    const auto values = AskPods(
        *table, {.metric = PodMetric::kUtilization, .name_space = "team-1", .name = {}}, none);
    benchmark::DoNotOptimize(
        PodValuesJson({.metric = "gpu_utilization", .name_space = "team-1", .selector = none},
                      *values)
            .size());
  }
}
BENCHMARK(BM_AskPods)->Unit(benchmark::kMicrosecond);

// One client that asks as the aggregator does, on one connection; its own cost is included. Each
// question differs, so no answer is kept. The argument: other connections that have sent half of a
// request.
void BM_AnswerOverTls(benchmark::State& state) {
  const WebConfigFiles files;
  const SystemFiles system_files;
  SystemClock clock;
  const Authority proxies("front-proxy");
  FakeControlPlane plane;
  plane.SetConfigMap({{"requestheader-client-ca-file", proxies.certificate()},
                      {"requestheader-username-headers", "[\"X-Remote-User\"]"},
                      {"requestheader-group-headers", "[\"X-Remote-Group\"]"}});
  plane.Allow("hpa", "avg_gpu_utilization");
  MetricsApiOptions options;
  options.address = "127.0.0.1:0";
  options.service = MetricsService{"podgpu", "gpu"};
  options.window = TestWindowOptions();
  options.server = plane.Options(files.path(""));
  WindowTables tables(options.window, true);
  const auto api =
      MetricsApi::Start(options, LoopbackOptions(), tables, system_files, clock).value();
  const auto feed = [&tables](int64_t read_ms, int64_t now_ms) {
    tables.Feed(
        [read_ms] {
          return WindowFleet{Reading(read_ms), {}};
        },
        WallTime(std::chrono::milliseconds(now_ms)), nullptr);
  };
  for (int64_t at = kStartMs + 1'000; at < kEndMs; at += kIntervalMs) {
    feed(at, at);
  }
  feed(kEndMs - 1, kEndMs + kWindowStepMs);
  Await([&] { return api->Facts().callers.is_ok; });
  const MadeCertificate identity = proxies.Issue("aggregator", "");
  std::vector<std::unique_ptr<TlsClient>> slow;
  for (int64_t i = 0; i < state.range(0); ++i) {
    slow.push_back(std::make_unique<TlsClient>(api->port()));
    slow.back()->Send("GET /apis HTTP/1.1\r\nX-Slow: ");
  }
  TlsClient client(api->port(), 0, &identity);
  std::vector<double> seconds;
  int number = 0;
  for (auto turn : state) {
    const Instant began = clock.Now();
    client.Send(
        "GET /apis/external.metrics.k8s.io/v1beta1/namespaces/large/avg_gpu_utilization"
        "?labelSelector=node%21%3Dn" +
        std::to_string(++number) +
        " HTTP/1.1\r\nHost: podgpu.gpu.svc\r\nX-Remote-User: hpa\r\n\r\n");
    if (client.Read().find("200 OK") == std::string::npos) {
      state.SkipWithError("the answer is not 200");
      return;
    }
    seconds.push_back(std::chrono::duration<double>(clock.Now() - began).count());
  }
  std::ranges::sort(seconds);
  state.counters["p99_us"] = seconds[seconds.size() * 99 / 100] * 1e6;
  state.counters["per_second"] =
      benchmark::Counter(static_cast<double>(seconds.size()), benchmark::Counter::kIsRate);
}
BENCHMARK(BM_AnswerOverTls)
    ->Arg(0)
    ->Arg(100)
    ->Unit(benchmark::kMicrosecond)
    ->MeasureProcessCPUTime()
    ->UseRealTime();

}  // namespace
}  // namespace podgpu
