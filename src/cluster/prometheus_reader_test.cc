// Queries to a Prometheus about the GPUs in use: answers, sums, and good and bad servers.
#include "cluster/prometheus_reader.h"

#include <functional>

#include "absl/strings/str_format.h"
#include <gtest/gtest.h>

#include "cluster/cluster.h"
#include "http/listen.h"
#include "http/testing/authority.h"
#include "http/testing/loopback_client.h"
#include "http/testing/test_server.h"
#include "http/testing/web_config_files.h"

namespace podgpu {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// {"metric": {LABELS}, "value": [1.5, "VALUE"]}
std::string SampleJson(const std::string& labels, const std::string& value) {
  return "{\"metric\":{" + labels + "},\"value\":[1.5,\"" + value + "\"]}";
}

std::string VectorJson(const std::string& samples) {
  return R"({"status":"success","data":{"resultType":"vector","result":[)" + samples + "]}}";
}

AnsweredSeries Answered(const std::string& gpu, std::optional<double> value,
                        const std::string& pod = "", const std::string& instance = "") {
  return {gpu, instance, {pod.empty() ? "" : "research", pod}, {}, value};
}

TEST(PrometheusAnswer, HasAValueForEachSeries) {
  const auto series = ReadPrometheusAnswer(
      VectorJson(SampleJson(R"("UUID":"GPU-1","namespace":"a","pod":"b","exported_namespace":"c",)"
                            R"("exported_pod":"d")",
                            "37.5") +
                 "," + SampleJson(R"("uuid":"GPU-2","GPU_I_ID":"3")", "NaN") + "," +
                 SampleJson(R"("instance":"10.0.0.1:9400","gpu":"7")", "+Inf") + "," +
                 R"({"metric":{"UUID":"GPU-3"},"histogram":[1,{}]})"));
  ASSERT_TRUE(series.ok()) << series.status();
  ASSERT_EQ(series->size(), 4U);
  EXPECT_EQ((*series)[0].gpu, "GPU-1");
  EXPECT_EQ((*series)[0].pod, (PodName{"a", "b"}));
  EXPECT_EQ((*series)[0].exported_pod, (PodName{"c", "d"}));
  EXPECT_EQ((*series)[0].value, 37.5);
  EXPECT_EQ((*series)[1].gpu, "GPU-2");
  EXPECT_EQ((*series)[1].instance, "3");
  EXPECT_EQ((*series)[1].value, std::nullopt);
  EXPECT_EQ((*series)[2].gpu, "10.0.0.1:9400/7");
  EXPECT_EQ((*series)[2].value, std::nullopt);
  EXPECT_EQ((*series)[3].value, std::nullopt);
}

TEST(PrometheusAnswer, IsRefusedWithOneLineIfItIsInvalid) {
  const std::string bodies[] = {
      "",
      "[]",
      "<html>",
      "{}",
      R"({"status":"error","error":"x"})",
      R"({"status":"success","data":[]})",
      R"({"status":"success","data":{"resultType":"scalar","result":[1,"2"]}})",
      R"({"status":"success","data":{"resultType":"vector","result":{}}})",
      VectorJson("7"),
      VectorJson(R"({"value":[1,"2"]})"),
      VectorJson(SampleJson(R"("UUID":7)", "1")),
      VectorJson(SampleJson("\"UUID\":\"" + std::string(2'000, 'a') + "\"", "1")),
  };
  for (const std::string& body : bodies) {
    const auto series = ReadPrometheusAnswer(body);
    ASSERT_EQ(series.status().code(), absl::StatusCode::kInvalidArgument) << body;
    EXPECT_NE(series.status().message().find("Check that the address is a Prometheus server"),
              std::string::npos)
        << series.status();
  }
  EXPECT_EQ(PrometheusComplaint(R"({"status":"error","error":"parse error\nat 4"})"),
            "\"parse error at 4\"");
  EXPECT_EQ(PrometheusComplaint("<html>"), "");
}

TEST(PrometheusUrl, IsAnAddressWithAPath) {
  const auto plain = ParsePrometheusUrl("http://prometheus.monitoring:9090").value();
  EXPECT_FALSE(plain.is_tls);
  EXPECT_EQ(plain.server, (HostAndPort{"prometheus.monitoring", 9090}));
  EXPECT_EQ(plain.prefix, "");
  const auto mimir = ParsePrometheusUrl("https://mimir.example/prometheus/").value();
  EXPECT_TRUE(mimir.is_tls);
  EXPECT_EQ(mimir.server, (HostAndPort{"mimir.example", 443}));
  EXPECT_EQ(mimir.prefix, "/prometheus");
  EXPECT_EQ(ParsePrometheusUrl("http://[fd00::7]")->server, (HostAndPort{"fd00::7", 80}));
  for (const std::string_view text : {"", "prometheus:9090", "ftp://a", "http://", "http://a:0",
                                      "http://me:secret@a", "http://a/?x=1", "http://a/#b"}) {
    EXPECT_EQ(ParsePrometheusUrl(text).status().code(), absl::StatusCode::kInvalidArgument) << text;
  }
}

TEST(PrometheusQuery, AsksForEachGpuOnce) {
  EXPECT_EQ(PrometheusQuery(InUseMeasure::kMemoryCopy, "cluster=\"west\""),
            "max by (UUID, uuid, GPU_I_ID, instance, gpu, namespace, pod, exported_namespace, "
            "exported_pod) (DCGM_FI_DEV_MEM_COPY_UTIL{cluster=\"west\"}) or 100 * max by (UUID, "
            "uuid, GPU_I_ID, instance, gpu, namespace, pod, exported_namespace, exported_pod) "
            "(DCGM_FI_DEV_MEMORY_UTIL_RATIO{cluster=\"west\"})");
}

// Zeros do not count; numbers with a decimal point count; values that are not numbers are not
// known.
TEST(SumSeries, AveragesValuesOtherThanZero) {
  const auto mean = [](const std::vector<AnsweredSeries>& series) {
    return SumSeries(series, InUseMeasure::kMemoryCopy, InUseMeaning::kValue, false)
        .not_zero.mean();
  };
  EXPECT_EQ(mean({Answered("1", 0), Answered("2", 20), Answered("3", 40)}), 30);
  EXPECT_EQ(mean({Answered("1", 0)}), std::nullopt);
  EXPECT_EQ(mean({Answered("1", 37.5), Answered("2", std::nullopt)}), 37.5);
  EXPECT_EQ(mean({Answered("1", 37.5), Answered("2", 1e9), Answered("3", -1)}), 37.5);
}

TEST(SumSeries, CountsAGpuWithSeveralSeriesOnce) {
  const MeasureSums sums =
      SumSeries({Answered("1", 80, "train-0"), Answered("1", 80, "train-1"),
                 Answered("1", 80, "serve-5d8f6c7b9d-x2vqk"), Answered("2", 20)},
                InUseMeasure::kMemoryCopy, InUseMeaning::kValue, false);
  EXPECT_EQ(sums.all.devices, 2U);
  EXPECT_EQ(sums.not_zero.mean(), 50);
  ASSERT_EQ(sums.workloads.size(), 2U);
  EXPECT_EQ(sums.workloads.at({"research", "train"}).devices, 1U);
  EXPECT_EQ(sums.workloads.at({"research", "serve"}).mean(), 0.8);
}

TEST(SumSeries, CountsInstancesInsteadOfTheirGpu) {
  const std::vector<AnsweredSeries> series = {Answered("1", 0.9), Answered("1", 0.2, "a", "1"),
                                              Answered("1", 0.4, "b", "2"), Answered("2", 0.6),
                                              Answered("3", std::nullopt)};
  const MeasureSums sums = SumSeries(series, InUseMeasure::kSm, InUseMeaning::kValue, false);
  EXPECT_EQ(sums.all.devices, 3U);
  EXPECT_DOUBLE_EQ(sums.all.mean().value(), 0.4);
  EXPECT_EQ(sums.all.unknown, 1U);
  const MeasureSums held = SumSeries(series, InUseMeasure::kSm, InUseMeaning::kPod, false);
  EXPECT_EQ(held.all.devices, 2U);
}

// Once Prometheus has renamed the labels of the series, `pod` is the pod of the exporter.
TEST(SumSeries, TakesHoldersFromTheLabelsThatNameThem) {
  AnsweredSeries busy = Answered("1", 50, "exporter-abcde");
  busy.exported_pod = {"research", "train-0"};
  const MeasureSums sums = SumSeries({busy, Answered("2", 50, "exporter-abcde")},
                                     InUseMeasure::kMemoryCopy, InUseMeaning::kPod, true);
  EXPECT_EQ(sums.all.devices, 1U);
  EXPECT_TRUE(sums.workloads.contains({"research", "train"}));
}

TEST(MergeReading, WithdrawsOldSums) {
  PrometheusReading reading;
  const Instant now{seconds(1'000)};
  auto sums = std::make_shared<const MeasureSums>(SumSeries(
      {Answered("1", 40, "train-0")}, InUseMeasure::kMemoryCopy, InUseMeaning::kValue, false));
  reading.measures[0] = {sums, now - seconds(60), FetchResult::kTimeout};
  InUse in_use = MergeReading(reading, now, seconds(60));
  EXPECT_TRUE(in_use.is_known[0]);
  EXPECT_FALSE(in_use.is_known[1]);
  EXPECT_EQ(in_use.memory_copy_percent, 40);
  EXPECT_EQ(in_use.workloads.size(), 1U);
  in_use = MergeReading(reading, now + milliseconds(1), seconds(60));
  EXPECT_FALSE(in_use.is_known[0]);
  EXPECT_TRUE(in_use.workloads.empty());
}

// A Prometheus server whose answer a test may change, on any thread.
class FakePrometheus {
 public:
  explicit FakePrometheus(HttpServerOptions options = LoopbackOptions()) {
    Answer(VectorJson(""));
    server_ = StartServer(options, [this](const HttpRequest& request) {
      const auto answer = answer_.Get();
      const bool is_query = request.path.ends_with("/api/v1/query");
      if (!is_query || request.query.find("DCGM_FI_DEV_MEM_COPY_UTIL") == std::string::npos) {
        return TextResponse(200, VectorJson(""), "application/json");
      }
      ++asked_;
      return request.authorization == answer->authorization
                 ? TextResponse(answer->status, answer->body, "application/json")
                 : TextResponse(401, "");
    });
  }
  void Answer(std::string body, int status = 200, std::string authorization = "") {
    answer_.Set(
        std::make_shared<const Reply>(Reply{std::move(body), status, std::move(authorization)}));
  }
  std::string url() const { return "http://127.0.0.1:" + std::to_string(server_->port()); }
  uint16_t port() const { return server_->port(); }
  int asked() const { return asked_; }

 private:
  struct Reply {
    std::string body;
    int status = 200;
    std::string authorization;
  };
  Published<Reply> answer_;
  std::atomic<int> asked_ = 0;
  std::unique_ptr<HttpServer> server_;
};

class ClusterOfPrometheusTest : public testing::Test {
 protected:
  void Start(const std::string& url) {
    options_.http = LoopbackOptions();
    options_.nodes.kind = NodesOption::Kind::kNone;
    options_.poller.pace.interval = milliseconds(20);
    options_.prometheus.url = ParsePrometheusUrl(url).value();
    options_.prometheus.client.max_body_bytes = 10'000;
    auto cluster = Cluster::Start(options_, {clock_, system_files_, ResolveBySystem});
    ASSERT_TRUE(cluster.ok()) << cluster.status();
    cluster_ = *std::move(cluster);
  }

  std::string AwaitPage(const std::function<bool(const std::string&)>& is_it) const {
    std::string body;
    LoopbackClient client(cluster_->port());
    Await([&] {
      body = client.Fetch("/metrics").body;
      return is_it(body);
    });
    return body;
  }
  // `part` must stay on the page once it is there: the next pages may come before the next look.
  std::string AwaitPart(std::string_view part) const {
    return AwaitPage([part](const std::string& body) { return body.find(part) != body.npos; });
  }

  // Waits until queries have ended with `result`; four more may follow every 20 ms.
  std::string AwaitQueries(std::string_view result) const {
    const std::string counter =
        absl::StrFormat("podgpu_cluster_prometheus_queries_total{result=\"%s\"} ", result);
    return AwaitPage([&](const std::string& body) {
      return body.find(counter) != body.npos && body.find(counter + "0\n") == body.npos;
    });
  }

  const WebConfigFiles files_;
  const SystemFiles system_files_;
  SystemClock clock_;
  ClusterOptions options_;
  std::unique_ptr<Cluster> cluster_;
};

// The same values, from the server to the page.
TEST_F(ClusterOfPrometheusTest, ServesTheValuesOfPrometheus) {
  FakePrometheus prometheus;
  prometheus.Answer(
      VectorJson(SampleJson(R"("UUID":"GPU-1","namespace":"research","pod":"train-0")", "37.5") +
                 "," + SampleJson(R"("UUID":"GPU-2")", "NaN")));
  Start(prometheus.url());
  const std::string page = AwaitPart("\navg_GPU_utilization 37.5\n");
  for (const std::string_view line :
       {"podgpu_in_use_devices{measure=\"memory_copy\"} 1\n",
        "podgpu_in_use_unknown_devices{measure=\"memory_copy\"} 1\n",
        "podgpu_in_use_devices{measure=\"sm\"} 0\n",
        "podgpu_workload_in_use_ratio{namespace=\"research\",workload=\"train\",measure="
        "\"memory_copy\"} 0.375\n",
        "podgpu_cluster_prometheus_up{measure=\"memory_copy\"} 1\n", "podgpu_cluster_ready 1\n"}) {
    EXPECT_NE(page.find(line), std::string::npos) << line << page;
  }
  prometheus.Answer(VectorJson(""));
  AwaitPart("\navg_GPU_utilization 0.0\n");
}

// The cluster role runs without Prometheus; it only lacks the mean.
TEST_F(ClusterOfPrometheusTest, RunsWhilePrometheusIsDown) {
  std::string closed;
  { closed = FakePrometheus().url(); }
  Start(closed);
  const std::string page = AwaitQueries("no_connection");
  EXPECT_NE(page.find("podgpu_cluster_prometheus_up{measure=\"memory_copy\"} 0\n"),
            std::string::npos);
  EXPECT_EQ(page.find("avg_GPU_utilization"), std::string::npos) << page;
  EXPECT_EQ(page.find("podgpu_in_use"), std::string::npos) << page;
}

TEST_F(ClusterOfPrometheusTest, KeepsTheLastSumsWhileAnswersAreWrong) {
  FakePrometheus prometheus;
  const std::string good = VectorJson(SampleJson(R"("UUID":"GPU-1")", "20"));
  prometheus.Answer(good);
  Start(prometheus.url());
  AwaitPart("\navg_GPU_utilization 20.0\n");
  const struct {
    std::string body;
    int status;
    std::string_view result;
  } rows[] = {
      {R"({"status":"error","error":"query timed out"})", 503, "refused"},
      {"<html>", 200, "not_understood"},
      {std::string(20'000, ' '), 200, "too_large"},
      {R"({"status":"success","data":{"resultType":"matrix","result":[]}})", 200, "not_understood"},
  };
  for (const auto& row : rows) {
    prometheus.Answer(row.body, row.status);
    std::string page = AwaitPart("podgpu_cluster_prometheus_up{measure=\"memory_copy\"} 0\n");
    EXPECT_NE(page.find("\navg_GPU_utilization 20.0\n"), std::string::npos) << page;
    const std::string counter =
        "podgpu_cluster_prometheus_queries_total{result=\"" + std::string(row.result) + "\"} ";
    EXPECT_EQ(page.find(counter + "0\n"), std::string::npos) << row.body << page;
    prometheus.Answer(good);
    AwaitPart("podgpu_cluster_prometheus_up{measure=\"memory_copy\"} 1\n");
  }
}

TEST_F(ClusterOfPrometheusTest, WithdrawsOldSumsAndCanStopWhileAQueryHangs) {
  const Listener hung = Listen({.host = "127.0.0.1", .port = 0, .path = {}}, system_files_).value();
  options_.poller.client.deadline = milliseconds(20);
  Start("http://127.0.0.1:" + std::to_string(hung.port));
  AwaitQueries("timeout");
  EXPECT_TRUE(cluster_->Stop(std::chrono::hours(1)));
}

TEST_F(ClusterOfPrometheusTest, AsksWithTheCertificateAndTokenOfItsConfiguration) {
  const Authority authority("monitoring");
  const MadeCertificate made = authority.Issue("prometheus", "DNS:prometheus");
  files_.Write(made.certificate, "server.crt");
  files_.Write(made.key, "server.key");
  files_.Write("tls_server_config:\n  cert_file: server.crt\n  key_file: server.key\n");
  HttpServerOptions secure = LoopbackOptions();
  secure.web_config_file = files_.path();
  FakePrometheus prometheus(secure);
  prometheus.Answer(VectorJson(SampleJson(R"("UUID":"GPU-1")", "20")), 200, "Bearer t0ken");
  files_.Write(authority.certificate(), "ca.crt");
  files_.Write("t0ken\n", "token");
  files_.Write(
      "tls_config: {ca_file: ca.crt, server_name: prometheus}\n"
      "authorization: {credentials_file: token}\n",
      "access.yaml");
  options_.prometheus.web_config = files_.path("access.yaml");
  Start("https://127.0.0.1:" + std::to_string(prometheus.port()));
  AwaitPart("\navg_GPU_utilization 20.0\n");
}

TEST_F(ClusterOfPrometheusTest, RefusesATlsConfigurationForPlainHttp) {
  files_.Write("tls_config: {insecure_skip_verify: true}\n", "access.yaml");
  options_.prometheus.web_config = files_.path("access.yaml");
  options_.prometheus.url = ParsePrometheusUrl("http://127.0.0.1:9090").value();
  options_.nodes.kind = NodesOption::Kind::kNone;
  EXPECT_EQ(Cluster::Start(options_, {clock_, system_files_, ResolveBySystem}).status().message(),
            files_.path("access.yaml") +
                ": tls_config is not used with http://. Write https:// in --in-use-prometheus");
}

}  // namespace
}  // namespace podgpu
