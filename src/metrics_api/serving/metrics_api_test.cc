// The metrics API over real TLS sockets, with a fake API server: who may ask, and what is answered.
#include "metrics_api/serving/metrics_api.h"

#include <map>

#include <gtest/gtest.h>

#include "base/text.h"
#include "http/testing/test_server.h"
#include "http/testing/tls_client.h"
#include "http/testing/web_config_files.h"
#include "metrics_api/testing/fake_control_plane.h"
#include "metrics_api/testing/window_reports.h"

namespace podgpu {
namespace {

constexpr const char* kFree = "/apis/external.metrics.k8s.io/v1beta1/namespaces/ml/gpu_free";
constexpr const char* kPodsPath =
    "/apis/custom.metrics.k8s.io/v1beta2/namespaces/ml/pods/%2A/gpu_utilization";

struct Reply {
  int status = 0;
  std::string head, body;
};

class MetricsApiTest : public testing::Test {
 protected:
  void SetUp() override {
    SetConfigMap(proxy_authority_.certificate());
    plane_.SetPods(R"({"metadata":{"namespace":"ml","name":"llm-1","labels":{"app":"llm"}}},)"
                   R"({"metadata":{"namespace":"ml","name":"llm-2","labels":{"app":"web"}}})");
    plane_.SetApiService(std::string(kApiServices[0]), {"podgpu", "gpu", "", false, 1});
    plane_.SetApiService(std::string(kApiServices[1]), {"podgpu", "gpu", "", false, 1});
  }

  void SetConfigMap(const std::string& proxies, const std::string& names = "[\"aggregator\"]") {
    plane_.SetConfigMap({{"client-ca-file", client_authority_.certificate()},
                         {"requestheader-client-ca-file", proxies},
                         {"requestheader-allowed-names", names},
                         {"requestheader-username-headers", "[\"X-Remote-User\"]"},
                         {"requestheader-group-headers", "[\"X-Remote-Group\"]"},
                         {"requestheader-extra-headers-prefix", "[\"X-Remote-Extra-\"]"}});
  }

  void Start(std::vector<std::string> label_keys = {}) {
    MetricsApiOptions options;
    options.address = "127.0.0.1:0";
    options.service = MetricsService{"podgpu", "gpu"};
    options.window = TestWindowOptions();
    options.window.label_keys = std::move(label_keys);
    options.server = plane_.Options(files_.path(""));
    tables_ = std::make_unique<WindowTables>(options.window, true);
    auto api = MetricsApi::Start(options, LoopbackOptions(), *tables_, system_files_, clock_);
    ASSERT_TRUE(api.ok()) << api.status();
    api_ = *std::move(api);
    ReportedGpu one = TestGpu("GPU-1", {"ml/llm-1"});
    ReportedGpu two = TestGpu("GPU-2", {"ml/llm-2"});
    SetUse(one.use, UseMeasure::kUtilization, 90.5);
    SetUse(two.use, UseMeasure::kUtilization, 40);
    nodes_ = {TestNode("n1", {one, two, TestGpu("GPU-3", {})}, kReadMs)};
    Feed(2);
  }
  void Feed(int steps_later) {
    tables_->Feed(
        [this] {
          return WindowFleet{nodes_, {}};
        },
        WallTime(std::chrono::milliseconds(kReadMs + steps_later * kWindowStepMs)),
        api_->NodeLabels().get());
  }

  void StartReady() {
    Start();
    Await([this] { return JudgeMetricsApi(api_->Facts()).is_ready; });
  }

  Reply Get(const std::string& path, const MadeCertificate* identity = nullptr,
            const std::string& headers = "") const {
    TlsClient client(api_->port(), 0, identity);
    client.Send("GET " + path + " HTTP/1.1\r\nHost: test\r\nConnection: close\r\n" + headers +
                "\r\n");
    std::string text;
    for (std::string more = client.Read(); !more.empty(); more = client.Read()) {
      text += more;
    }
    Reply reply;
    const size_t end = text.find("\r\n\r\n");
    if (text.size() > 12 && end != std::string::npos) {
      reply.status =
          static_cast<int>(ParseDecimal(std::string_view(text).substr(9, 3)).value_or(0));
      reply.head = text.substr(0, end);
      reply.body = text.substr(end + 4);
    }
    return reply;
  }
  // As the aggregator forwards a request of this user.
  Reply GetAs(const std::string& user, const std::string& path,
              const std::string& more = "") const {
    return Get(path, &proxy_, "X-Remote-User: " + user + "\r\n" + more);
  }
  Reply GetAsMaster(const std::string& path, const std::string& more = "") const {
    return GetAs("system:kube-aggregator", path, "X-Remote-Group: system:masters\r\n" + more);
  }

  static constexpr int64_t kReadMs = 1'700'000'000'000;

  const WebConfigFiles files_;
  const SystemFiles system_files_;
  SystemClock clock_;
  const Authority proxy_authority_{"front-proxy-ca"};
  const Authority client_authority_{"kubernetes"};
  const MadeCertificate proxy_ = proxy_authority_.Issue("aggregator", "");
  FakeControlPlane plane_;
  std::vector<WindowNode> nodes_;
  std::unique_ptr<WindowTables> tables_;
  std::unique_ptr<MetricsApi> api_;
};

TEST_F(MetricsApiTest, AnswersMetricsInTheFormOfKubernetes) {
  StartReady();
  EXPECT_EQ(GetAsMaster(kFree).body,
            R"({"kind":"ExternalMetricValueList","apiVersion":"external.metrics.k8s.io/v1beta1",)"
            R"("metadata":{},"items":[{"metricName":"gpu_free","metricLabels":{},)"
            R"("timestamp":"2023-11-14T22:13:20Z","window":60,"value":"1"}]})"
            "\n");
  EXPECT_EQ(
      GetAsMaster(std::string(kPodsPath) + "?labelSelector=app%3Dllm").body,
      R"({"kind":"MetricValueList","apiVersion":"custom.metrics.k8s.io/v1beta2","metadata":{},)"
      R"("items":[{"describedObject":{"kind":"Pod","namespace":"ml","name":"llm-1",)"
      R"("apiVersion":"/v1"},"metric":{"name":"gpu_utilization","selector":null},)"
      R"("timestamp":"2023-11-14T22:13:20Z","windowSeconds":60,"value":"90500m"}]})"
      "\n");
  const std::string v1beta1 =
      GetAsMaster("/apis/custom.metrics.k8s.io/v1beta1/namespaces/ml/pods/llm-2/gpu_utilization")
          .body;
  EXPECT_NE(v1beta1.find(R"("metricName":"gpu_utilization","timestamp":"2023-11-14T22:13:20Z",)"
                         R"("window":60,"value":"40")"),
            std::string::npos)
      << v1beta1;
}

TEST_F(MetricsApiTest, SelectsByLabelsOfNodes) {
  plane_.SetNodes(R"({"metadata":{"name":"n1","labels":{"zone":"a","other":"b"}}})");
  Start({"zone"});
  Await([this] { return JudgeMetricsApi(api_->Facts()).is_ready; });
  Feed(3);
  const std::string path = std::string(kFree) + "?labelSelector=";
  EXPECT_NE(GetAsMaster(path + "zone%3Da").body.find("\"value\":\"1\""), std::string::npos);
  EXPECT_EQ(GetAsMaster(path + "zone%3Db").status, 404);
  EXPECT_EQ(GetAsMaster(path + "other%3Db").status, 400) << "not among the chosen keys";
}

TEST_F(MetricsApiTest, HasTheDocumentsOfDiscovery) {
  StartReady();
  struct Row {
    const char* path;
    const char* part;
  };
  const Row rows[] = {
      {"/apis",
       R"({"kind":"APIGroupList","apiVersion":"v1","groups":[{"name":"external.metrics.k8s.io",)"
       R"("versions":[{"groupVersion":"external.metrics.k8s.io/v1beta1","version":"v1beta1"}],)"
       R"("preferredVersion":{"groupVersion":"external.metrics.k8s.io/v1beta1",)"
       R"("version":"v1beta1"}})"},
      {"/apis/custom.metrics.k8s.io",
       R"({"kind":"APIGroup","apiVersion":"v1","name":"custom.metrics.k8s.io","versions":[)"
       R"({"groupVersion":"custom.metrics.k8s.io/v1beta2","version":"v1beta2"})"},
      {"/apis/external.metrics.k8s.io/v1beta1",
       R"({"kind":"APIResourceList","apiVersion":"v1","groupVersion":)"
       R"("external.metrics.k8s.io/v1beta1","resources":[{"name":"avg_gpu_utilization",)"
       R"("singularName":"","namespaced":true,"kind":"ExternalMetricValueList","verbs":["get"]})"},
      {"/apis/custom.metrics.k8s.io/v1beta2",
       R"("resources":[{"name":"pods/gpu_utilization","singularName":"","namespaced":true,)"
       R"("kind":"MetricValueList","verbs":["get"]})"},
      {"/openapi/v2", R"({"swagger":"2.0","info":{"title":"podgpu metrics API")"},
      {"/openapi/v3", R"({"paths":{"apis/external.metrics.k8s.io/v1beta1":{"serverRelativeURL":)"
                      R"("/openapi/v3/apis/external.metrics.k8s.io/v1beta1?hash=)"},
      {"/openapi/v3/apis/custom.metrics.k8s.io/v1beta2", R"({"openapi":"3.0.0")"},
  };
  for (const Row& row : rows) {
    const Reply reply = GetAsMaster(row.path);
    EXPECT_EQ(reply.status, 200) << row.path;
    EXPECT_NE(reply.body.find(row.part), std::string::npos) << row.path << ": " << reply.body;
  }
  const Reply aggregated =
      GetAsMaster("/apis",
                  "Accept: application/json;as=APIGroupDiscoveryList;v=v2;g=apidiscovery.k8s.io,"
                  "application/json\r\n");
  EXPECT_NE(
      aggregated.head.find(
          "Content-Type: application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"),
      std::string::npos)
      << aggregated.head;
  EXPECT_NE(aggregated.body.find(
                R"({"resource":"gpu_free","responseKind":{"group":"external.metrics.k8s.io",)"
                R"("version":"v1beta1","kind":"ExternalMetricValueList"},"scope":"Namespaced",)"
                R"("singularResource":"","verbs":["get"]})"),
            std::string::npos)
      << aggregated.body;
  EXPECT_NE(aggregated.body.find(R"("subresources":[{"subresource":"gpu_utilization")"),
            std::string::npos)
      << aggregated.body;
}

TEST_F(MetricsApiTest, KnowsItsCallersByFrontProxyCertificateOrToken) {
  plane_.Allow("hpa", "gpu_free");
  plane_.Allow("operator", "gpu_free");
  plane_.Allow("robot", "gpu_free");
  plane_.AcceptToken("good", R"({"username":"robot","groups":["system:authenticated"]})");
  StartReady();
  const MadeCertificate wrong_name = proxy_authority_.Issue("imposter", "");
  const MadeCertificate expired = proxy_authority_.Issue("aggregator", "", -1);
  const Authority stranger("front-proxy-ca");
  const MadeCertificate foreign = stranger.Issue("aggregator", "");
  const MadeCertificate client = client_authority_.Issue("operator", "");
  const MadeCertificate old_client = client_authority_.Issue("operator", "", -1);
  const std::string forged = "X-Remote-User: hpa\r\nX-Remote-Group: system:masters\r\n";
  struct Row {
    const char* what;
    const MadeCertificate* identity;
    std::string headers;
    int status;
    const char* says;
  };
  const Row rows[] = {
      {"front proxy", &proxy_, "X-Remote-User: hpa\r\n", 200, "\"value\":\"1\""},
      {"front proxy, forbidden user", &proxy_, "X-Remote-User: guest\r\n", 403,
       R"("reason":"Forbidden")"},
      {"front proxy without a user", &proxy_, "", 401, "names no user"},
      {"wrong name", &wrong_name, forged, 401, "is not in requestheader-allowed-names"},
      {"expired", &expired, forged, 401, "does not count: it expired at 20"},
      {"another authority of the same name", &foreign, forged, 401, "does not count"},
      {"forged headers without a certificate", nullptr, forged, 401, "neither"},
      {"nothing", nullptr, "", 401, R"("reason":"Unauthorized")"},
      {"client certificate", &client, "", 200, "\"value\":\"1\""},
      {"client certificate with forged headers", &client, "X-Remote-User: root\r\n", 200,
       "\"value\":\"1\""},
      {"expired client certificate", &old_client, "", 401, "does not count: it expired at 20"},
      {"token", nullptr, "Authorization: Bearer good\r\n", 200, "\"value\":\"1\""},
      {"token with forged headers", nullptr, "Authorization: bearer good\r\n" + forged, 200, ""},
      {"wrong token", nullptr, "Authorization: Bearer bad\r\n", 401, "the token is not valid"},
      {"another scheme", nullptr, "Authorization: Basic Z29vZDp4\r\n", 401, "neither"},
  };
  for (const Row& row : rows) {
    const Reply reply = Get(kFree, row.identity, row.headers);
    EXPECT_EQ(reply.status, row.status) << row.what << ": " << reply.body;
    EXPECT_NE(reply.body.find(row.says), std::string::npos) << row.what << ": " << reply.body;
  }
  const MetricsApiFacts facts = api_->Facts();
  EXPECT_EQ(facts.requests[0], 5U);
  const std::map<RefusalReason, uint64_t> refused = {{RefusalReason::kNoCredentials, 3},
                                                     {RefusalReason::kBadCertificate, 5},
                                                     {RefusalReason::kBadToken, 1},
                                                     {RefusalReason::kForbidden, 1}};
  for (const auto& [reason, count] : refused) {
    EXPECT_EQ(facts.refused[static_cast<size_t>(reason)], count)
        << kRefusalReasons[static_cast<size_t>(reason)];
  }
}

TEST_F(MetricsApiTest, AsksTheApiServerForWhatTheCallerWantsAndKeepsTheVerdict) {
  StartReady();
  const Reply reply =
      GetAs("guest", kFree, "X-Remote-Group: dev\r\nX-Remote-Extra-Scope%2Fa: x\r\n");
  EXPECT_EQ(reply.status, 403);
  EXPECT_EQ(
      reply.body,
      R"({"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":)"
      R"("gpu_free.external.metrics.k8s.io is forbidden: User \"guest\" cannot list resource )"
      R"(\"gpu_free\" in API group \"external.metrics.k8s.io\" in the namespace \"ml\": )"
      R"(by the test","reason":"Forbidden","code":403})"
      "\n");
  GetAs("guest", kFree, "X-Remote-Group: dev\r\nX-Remote-Extra-Scope%2Fa: x\r\n");
  GetAs("guest", kPodsPath);
  GetAs("guest", "/apis");
  std::vector<std::string> reviews;
  for (const std::string& body : plane_.bodies()) {
    if (body.find("SubjectAccessReview") != std::string::npos) {
      reviews.push_back(body.substr(body.find("\"spec\"")));
    }
  }
  const std::vector<std::string> expected = {
      R"("spec":{"user":"guest","groups":["dev","system:authenticated"],"extra":{"scope/a":["x"]},)"
      R"("resourceAttributes":{"namespace":"ml","verb":"list","group":"external.metrics.k8s.io",)"
      R"("version":"v1beta1","resource":"gpu_free"}}})",
      R"("spec":{"user":"guest","groups":["system:authenticated"],"resourceAttributes":)"
      R"({"namespace":"ml","verb":"get","group":"custom.metrics.k8s.io","version":"v1beta2",)"
      R"("resource":"pods","subresource":"gpu_utilization","name":"*"}}})",
      R"("spec":{"user":"guest","groups":["system:authenticated"],"nonResourceAttributes":)"
      R"({"path":"/apis","verb":"get"}}})"};
  EXPECT_EQ(reviews, expected);
}

TEST_F(MetricsApiTest, SaysThatTheApiServerIsAwayAndStillServesTheAggregator) {
  plane_.Allow("hpa", "gpu_free");
  StartReady();
  plane_.SetDown(true);
  const Reply reply = GetAs("hpa", kFree);
  EXPECT_EQ(reply.status, 503);
  EXPECT_NE(reply.body.find("the caller cannot be checked: "), std::string::npos) << reply.body;
  EXPECT_NE(reply.body.find(R"("reason":"ServiceUnavailable")"), std::string::npos) << reply.body;
  EXPECT_EQ(GetAsMaster("/apis/external.metrics.k8s.io/v1beta1").status, 200);
  const MetricsApiVerdict verdict = JudgeMetricsApi(api_->Facts());
  EXPECT_TRUE(verdict.has_fault);
  EXPECT_NE(verdict.text.find("callers cannot be checked: "), std::string::npos) << verdict.text;
  plane_.SetDown(false);
  Await([this] { return GetAs("hpa", kFree).status == 200; });
  EXPECT_TRUE(api_->Facts().reviewer.is_ok);
}

TEST_F(MetricsApiTest, FollowsARotationOfTheFrontProxy) {
  plane_.Allow("hpa", "gpu_free");
  StartReady();
  EXPECT_EQ(GetAs("hpa", kFree).status, 200);
  const Authority next("front-proxy-ca-2");
  const MadeCertificate next_proxy = next.Issue("anything", "");
  SetConfigMap(next.certificate(), "[]");
  Await([&] { return Get(kFree, &next_proxy, "X-Remote-User: hpa\r\n").status == 200; });
  EXPECT_EQ(GetAs("hpa", kFree).status, 401) << "the previous front proxy";
  // A mistake in the next one is said; the previous one stays.
  plane_.SetConfigMap({{"requestheader-client-ca-file", "no certificate"}});
  Await([this] { return !api_->Facts().callers.is_ok; });
  EXPECT_EQ(Get(kFree, &next_proxy, "X-Remote-User: hpa\r\n").status, 200);
  const MetricsApiVerdict verdict = JudgeMetricsApi(api_->Facts());
  EXPECT_TRUE(verdict.is_ready && verdict.has_fault);
  EXPECT_NE(verdict.text.find("the key requestheader-client-ca-file"), std::string::npos)
      << verdict.text;
}

TEST_F(MetricsApiTest, NamesTheMissingRightsWhileItIsNotReady) {
  plane_.SetForbidden(true);
  Start();
  Await([this] { return api_->Facts().callers.detail.find("403") != std::string::npos; });
  const Reply reply = GetAsMaster(kFree);
  EXPECT_EQ(reply.status, 503);
  EXPECT_EQ(Get("/healthz").status, 200);
  Await([this] {
    return Get("/readyz").body.find("bind the Role extension-apiserver-authentication-reader") !=
           std::string::npos;
  });
  EXPECT_EQ(Get("/readyz").status, 503);
}

TEST_F(MetricsApiTest, RefusesWhatItDoesNotHave) {
  StartReady();
  struct Row {
    const char* path;
    int status;
    const char* says;
  };
  const Row rows[] = {
      {"/apis/external.metrics.k8s.io/v1beta1/namespaces/ml/speed", 404,
       "the metric \\\"speed\\\" does not exist; there are avg_gpu_utilization, "},
      {"/apis/external.metrics.k8s.io/v1beta1/namespaces/ml/gpu_free?labelSelector=a%3E5", 400,
       "unable to parse the selector"},
      {"/apis/external.metrics.k8s.io/v1beta1/namespaces/ml/gpu_power_watts", 404,
       "has this value"},
      {"/apis/custom.metrics.k8s.io/v1beta2/namespaces/ml/pods/none/gpu_utilization", 404,
       "the pod \\\"none\\\" of the namespace \\\"ml\\\" holds no GPU"},
      {"/apis/custom.metrics.k8s.io/v1beta2/namespaces/ml/services/web/gpu_utilization", 404,
       "podgpu has metrics of pods only"},
      {"/apis/custom.metrics.k8s.io/v1beta2/namespaces/ml/pods/%2A/x", 404, "does not exist"},
      {"/metrics", 404, R"("reason":"NotFound")"},
  };
  for (const Row& row : rows) {
    const Reply reply = GetAsMaster(row.path);
    EXPECT_EQ(reply.status, row.status) << row.path << ": " << reply.body;
    EXPECT_NE(reply.body.find(row.says), std::string::npos) << row.path << ": " << reply.body;
  }
  TlsClient client(api_->port(), 0, &proxy_);
  client.Send("DELETE /apis HTTP/1.1\r\nHost: test\r\n\r\n");
  EXPECT_NE(client.Read().find("405 Method Not Allowed"), std::string::npos);
}

TEST_F(MetricsApiTest, AnswersBesideSlowClientsAndRefusesOversizedRequests) {
  StartReady();
  std::vector<std::unique_ptr<TlsClient>> slow;
  for (int i = 0; i < 100; ++i) {
    slow.push_back(std::make_unique<TlsClient>(api_->port()));
    ASSERT_TRUE(slow.back()->Send("GET /apis HTTP/1.1\r\nX-Slow: ")) << i;
  }
  EXPECT_EQ(GetAsMaster(kFree).status, 200);
  EXPECT_EQ(GetAsMaster(kFree, "X-Long: " + std::string(20'000, 'a') + "\r\n").status, 431);
  EXPECT_EQ(GetAsMaster(kFree, "Content-Length: 10000000\r\n").status, 413);
  EXPECT_EQ(GetAsMaster(kFree).status, 200);
}

TEST_F(MetricsApiTest, SaysWhoOwnsAnApiService) {
  plane_.SetApiService(std::string(kApiServices[0]), {"keda-metrics", "keda", "", false, 1});
  StartReady();
  const MetricsApiVerdict verdict = JudgeMetricsApi(api_->Facts());
  EXPECT_NE(verdict.text.find("v1beta1.external.metrics.k8s.io belongs to the Service "
                              "keda-metrics.keda; only one server can serve it"),
            std::string::npos)
      << verdict.text;
  EXPECT_EQ(plane_.ApiService(std::string(kApiServices[0])).ca_bundle, "");
  EXPECT_NE(plane_.ApiService(std::string(kApiServices[1])).ca_bundle, "");
}

TEST_F(MetricsApiTest, RefusesAnAddressThatIsInUse) {
  StartReady();
  MetricsApiOptions options;
  options.address = "127.0.0.1:" + std::to_string(api_->port());
  options.service = MetricsService{"podgpu", "gpu"};
  options.window = TestWindowOptions();
  options.server = plane_.Options(files_.path(""));
  const auto second =
      MetricsApi::Start(options, LoopbackOptions(), *tables_, system_files_, clock_);
  EXPECT_EQ(second.status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace podgpu
