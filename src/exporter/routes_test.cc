#include "exporter/routes.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "base/testing/manual_clock.h"
#include "pages/node_status_page.h"
#include "pages/vcuda_page.h"
#include "report/node_status.h"
#include "source/testing/fake_source.h"
#include "tests/gunzip.h"

namespace podgpu {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// The routes of a node with two GPUs, after its first page.
class RoutesTest : public ::testing::Test {
 protected:
  HttpHandler Routes() {
    source_.Set(
        std::make_shared<const SourceStatus>(SourceStatus{PartState::kOk, "fake", 1, 0, 2}));
    auto pods = std::make_shared<PodFacts>();
    pods->value = std::make_shared<const PodAllocations>(PodAllocations{"v1", 1, {}});
    pods->good_at = clock_.Now();
    pods_.Set(std::move(pods));
    auto grid = std::make_shared<Grid>(std::make_shared<const Topology>(FakeDriver::Gpus(2)),
                                       std::vector<const Field*>{FindField(150)});
    grid->read_at = clock_.Now();
    for (Value& value : grid->CellsOf(FieldRow{0})) {
      value = Value::OfInt64(42);
    }
    grids_.Set(std::move(grid));
    TickOptions options;
    options.period = seconds(3);
    options.view.hostname = "n";
    options.node = "n";
    tick_.emplace(options, TickSources{grids_, source_, pods_, guard_, written_off_, clients_},
                  clock_, wakeup_);
    tick_->Once();
    return MakeRoutes({}, *tick_, clock_);
  }

  ManualClock clock_;
  Wakeup wakeup_;
  CallGuard guard_{clock_, seconds(10)};
  std::atomic<int> written_off_ = 0;
  HttpCounters clients_;
  Published<Grid> grids_;
  Published<SourceStatus> source_;
  Published<PodFacts> pods_;
  std::optional<Tick> tick_;
};

TEST_F(RoutesTest, RedirectsOtherSpellingsOfAPath) {
  const HttpHandler routes = Routes();
  struct Row {
    std::string_view path, query, location;
  };
  const Row rows[] = {
      {"//metrics", "", "/metrics"},
      {"/./metrics", "a=b", "/metrics?a=b"},
      {"/x/../metrics", "", "/metrics"},
      {"/../..//metrics", "", "/metrics"},
      {"//", "", "/"},
      {"/x/..", "", "/"},
      {"//elsewhere/x", "", "/elsewhere/x"},
      {"/health//", "", "/health/"},
  };
  for (const Row& row : rows) {
    HttpRequest request;
    request.method = "GET";
    request.path = row.path;
    request.query = row.query;
    const HttpResponse response = routes(request);
    EXPECT_EQ(response.status, 301) << row.path;
    const std::pair<std::string, std::string> location("Location", row.location);
    EXPECT_EQ(std::ranges::count(response.headers, location), 1) << row.path;
  }
  for (const std::string_view path : {"/nowhere", "/metrics/", "/metrics/x", "*", "..", "/..."}) {
    HttpRequest request;
    request.path = path;
    const HttpResponse response = routes(request);
    EXPECT_EQ(response.status, 404) << path;
    EXPECT_EQ(response.body, "404 page not found\n");
  }
}

TEST_F(RoutesTest, ServesMetricsUnderAnotherPathToo) {
  Routes();
  const HttpHandler routes = MakeRoutes({.metrics_path = "/gpu"}, *tick_, clock_);
  HttpRequest request;
  request.method = "GET";
  request.path = "/gpu";
  const HttpResponse there = routes(request);
  request.path = "/metrics";
  EXPECT_EQ(there.status, 200);
  EXPECT_EQ(there.body, routes(request).body);
  EXPECT_TRUE(IsNodePath("/healthz"));
  EXPECT_FALSE(IsNodePath("/gpu"));
}

TEST_F(RoutesTest, SaysHowToTurnOnRequestsAndUse) {
  const HttpHandler routes = Routes();
  HttpRequest request;
  request.method = "GET";
  request.path = "/metric";
  const HttpResponse off = routes(request);
  EXPECT_EQ(off.status, 404);
  EXPECT_NE(off.body.find("--requested-vs-used=on"), std::string_view::npos) << off.body;
  request.path = "/";
  EXPECT_EQ(std::string(routes(request).body).find("\"/metric\""), std::string::npos);
}

TEST_F(RoutesTest, TheFieldsOfAPageAreWantedAtItsFirstRequestOrWhereAFlagSwitchesItOn) {
  Routes();
  std::vector<FieldIds> wanted;
  const HttpHandler routes =
      MakeRoutes({.want = [&wanted](FieldIds page) { wanted.push_back(page); }}, *tick_, clock_);
  for (const std::string_view path :
       {"/metrics", "/metric", "/", "/api/v1/status", "/gpu/metrics", "/gpu/metrics"}) {
    HttpRequest request;
    request.path = path;
    routes(request);
  }
  EXPECT_EQ(wanted, (std::vector<FieldIds>{StatusFieldIds, LegacyFieldIds})) << "/metric is off";
  EXPECT_EQ(FieldsFromStart({}), std::vector<FieldIds>());
  PageOptions options;
  options.vcuda.enabled = true;
  EXPECT_EQ(FieldsFromStart(options), std::vector<FieldIds>{VcudaFieldIds});
}

TEST_F(RoutesTest, GpuManagersListenerHasOnePageAndNamesItElsewhere) {
  Routes();
  const HttpHandler routes = MakeQueryRoutes(*tick_);
  HttpRequest request;
  request.method = "GET";
  request.path = "/metric";
  EXPECT_EQ(routes(request).status, 503) << "the tick does not make this page";
  for (const std::string_view path : {"/metrics", "/", "/usage"}) {
    request.path = path;
    const HttpResponse response = routes(request);
    EXPECT_EQ(response.status, 404) << path;
    EXPECT_NE(response.body.find("/metric, without an s"), std::string_view::npos);
  }
}

TEST_F(RoutesTest, ExplainsInHtmlTextAndJson) {
  const HttpHandler routes = Routes();
  struct Row {
    std::string_view path, query, accept;
    int status;
    std::string_view type, part;
  };
  const Row rows[] = {
      {"/explain", "gpu=1", "text/html,*/*", 200, "text/html; charset=utf-8", "<caption>GPU 1"},
      {"/explain", "gpu=1", "*/*", 200, "text/plain; charset=utf-8", "1 device      ok  "},
      {"/explain", "x=1", "*/*", 400, "text/plain; charset=utf-8", "there is no parameter \"x\""},
      {"/api/v1/explain", "gpu=1", "", 200, "application/json", R"({"devices":[{"gpu":1,)"},
      {"/explain", "gpu=17", "*/*", 404, "text/plain; charset=utf-8",
       "this node has no such device; its GPUs are 0, 1"},
      {"/explain", "UUID=GPU-x", "text/html", 404, "text/html; charset=utf-8", "no such device"},
      {"/explain", "pod=ml/none", "*/*", 200, "text/plain; charset=utf-8", "gives no device to"},
      {"/api/v1/explain", "gpu=9", "", 404, "application/json", R"({"devices":[],"notes":["this)"},
      {"/api/v1/explain", "x=1", "", 400, "application/json", R"({"error":"there is no parameter)"},
      {"/", "", "*/*", 200, "text/plain; charset=utf-8", "\n1     ok   "},
      {"/", "", "text/html,*/*;q=0.8", 200, "text/html; charset=utf-8", "<h1>podgpu on n</h1>"},
      {"/", "", "", 200, "text/html; charset=utf-8", "<h1>podgpu on n</h1>"},
      {"/assets/node.js", "", "", 200, "text/javascript; charset=utf-8", "api/v1/status"},
      {"/assets/node-page.md", "", "", 200, "text/plain; charset=utf-8", "# The node page"},
      {"/assets/none.js", "", "", 404, "text/plain; charset=utf-8", "not found"},
      {"/api/v1/status", "", "", 200, "application/json", R"({"schema":1,"version":")"},
      {"/api/v1/status", "history=1", "", 200, "application/json",
       R"("ready":true,"verdict":"ready: 2)"},
      {"/api/v1/status", "x=1", "", 400, "application/json", R"({"error":"the parameters are)"},
  };
  for (const Row& row : rows) {
    HttpRequest request;
    request.path = row.path;
    request.query = row.query;
    request.accept = row.accept;
    const HttpResponse response = routes(request);
    EXPECT_EQ(response.status, row.status) << row.path;
    EXPECT_EQ(response.content_type, row.type) << row.path;
    EXPECT_NE(response.body.find(row.part), std::string_view::npos) << response.body;
  }
}

std::string_view HeaderOf(const HttpResponse& response, std::string_view name) {
  const auto header =
      std::ranges::find(response.headers, name, &std::pair<std::string, std::string>::first);
  return header == response.headers.end() ? std::string_view() : header->second;
}

TEST_F(RoutesTest, ServesTheNodeDocumentWithOneTagUntilItChanges) {
  Routes();
  int wanted = 0;
  const HttpHandler routes =
      MakeRoutes({.want = [&wanted](FieldIds) { ++wanted; }}, *tick_, clock_);
  HttpRequest request;
  request.path = "/api/v1/node";
  const HttpResponse first = routes(request);
  EXPECT_EQ(first.status, 200);
  EXPECT_EQ(first.content_type, "application/json");
  EXPECT_NE(first.body.find(R"("node":"n","ready":true)"), std::string_view::npos) << first.body;
  EXPECT_EQ(HeaderOf(first, "Age"), "0");
  EXPECT_EQ(wanted, 1);

  clock_.Advance(seconds(7));
  const std::string etag(HeaderOf(first, "ETag"));
  request.if_none_match = etag;
  const HttpResponse second = routes(request);
  EXPECT_EQ(second.status, 304);
  EXPECT_EQ(second.body, "");
  EXPECT_EQ(HeaderOf(second, "Age"), "7");

  request.if_none_match = "\"another\"";
  request.accept_encoding = "gzip";
  const HttpResponse third = routes(request);
  EXPECT_EQ(third.status, 200);
  EXPECT_EQ(HeaderOf(third, "Content-Encoding"), "gzip");
  EXPECT_EQ(Gunzip(third.body), first.body);
}

TEST_F(RoutesTest, ServesTheStatusWithItsAgeAndOneTagPerSnapshot) {
  Routes();
  int wanted = 0;
  const HttpHandler routes =
      MakeRoutes({.source = "nvml", .want = [&wanted](FieldIds) { ++wanted; }}, *tick_, clock_);
  HttpRequest request;
  request.path = "/api/v1/status";
  clock_.Advance(milliseconds(400));
  const HttpResponse first = routes(request);
  EXPECT_EQ(first.status, 200);
  EXPECT_EQ(HeaderOf(first, "X-Podgpu-Age-Ms"), "400");
  EXPECT_EQ(wanted, 1);
  const StatusOr<NodeStatus> status = ReadNodeStatus(first.body);
  ASSERT_TRUE(status.ok()) << status.status();
  EXPECT_EQ(status->node, "n");
  EXPECT_EQ(status->source, "nvml");
  ASSERT_EQ(status->gpus.size(), 2u);
  EXPECT_EQ(status->gpus[0].temperature_celsius, 42);
  EXPECT_TRUE(status->owners_known);

  const std::string etag(HeaderOf(first, "ETag"));
  request.if_none_match = etag;
  clock_.Advance(milliseconds(100));
  const HttpResponse same = routes(request);
  EXPECT_EQ(same.status, 304);
  EXPECT_EQ(same.body, "");
  EXPECT_EQ(HeaderOf(same, "X-Podgpu-Age-Ms"), "500");

  request.if_none_match = "";
  request.accept_encoding = "gzip";
  const HttpResponse again = routes(request);
  EXPECT_EQ(HeaderOf(again, "Content-Encoding"), "") << "two GPUs: too short";
  EXPECT_EQ(again.body, first.body);
}

TEST_F(RoutesTest, NamesTheSourceThatWasChosenAlsoWhileItFails) {
  Routes();
  const HttpHandler routes = MakeRoutes({}, *tick_, clock_);
  const auto source_after = [&](std::string detail) {
    source_.Set(std::make_shared<const SourceStatus>(
        SourceStatus{PartState::kOk, std::move(detail), 1, 0, 2}));
    tick_->Once();
    HttpRequest request;
    request.path = "/api/v1/status";
    const StatusOr<NodeStatus> status = ReadNodeStatus(routes(request).body);
    EXPECT_TRUE(status.ok()) << status.status();
    return status.ok() ? status->source : "";
  };
  EXPECT_EQ(source_after("no device source is chosen yet"), "");
  EXPECT_EQ(source_after("dcgm 4.6.0, embedded engine (chosen: NVML lacks a field)"), "dcgm");
  EXPECT_EQ(source_after("the engine does not answer"), "dcgm");
  EXPECT_EQ(source_after("NVML of libnvidia-ml.so.1: 2 GPUs"), "nvml");
}

// The kubelet answers between two ticks: the page of the first one has no owners.
TEST_F(RoutesTest, Statement25NothingIsFreeOnAPageThatIsOlderThanTheKubeletsAnswer) {
  Routes();
  const std::shared_ptr<const PodFacts> answered = pods_.Get();
  auto silent = std::make_shared<PodFacts>();
  silent->detail = "the kubelet has not answered";
  pods_.Set(std::move(silent));
  tick_->Once();
  pods_.Set(answered);
  const HttpHandler routes = MakeRoutes({}, *tick_, clock_);
  const auto body = [&routes](std::string_view path, std::string_view query) {
    HttpRequest request;
    request.path = path;
    request.query = query;
    return std::string(routes(request).body);
  };
  constexpr std::pair<std::string_view, std::string_view> kPaths[] = {
      {"/", ""}, {"/api/v1/status", ""}, {"/explain", "gpu=0"}};
  for (const auto& [path, query] : kPaths) {
    const std::string text = body(path, query);
    EXPECT_EQ(text.find("free"), std::string::npos) << path << "\n" << text;
  }
  EXPECT_NE(body("/api/v1/node", "").find(R"("owners_known":false)"), std::string::npos);
  tick_->Once();
  for (const auto& [path, query] : kPaths) {
    const std::string text = body(path, query);
    EXPECT_NE(text.find("free"), std::string::npos) << path << "\n" << text;
  }
  EXPECT_NE(body("/api/v1/node", "").find(R"("owners_known":true)"), std::string::npos);
}

TEST_F(RoutesTest, HasNoStatusBeforeTheFirstPage) {
  pods_.Set(std::make_shared<const PodFacts>());
  tick_.emplace(TickOptions(), TickSources{grids_, source_, pods_, guard_, written_off_, clients_},
                clock_, wakeup_);
  HttpRequest request;
  request.path = "/api/v1/status";
  const HttpResponse response = MakeRoutes({}, *tick_, clock_)(request);
  EXPECT_EQ(response.status, 503);
  EXPECT_EQ(response.body, "{\"error\":\"the first page is not ready yet\"}\n");
}

TEST_F(RoutesTest, ControlsDevicesOnlyWithTheFlag) {
  struct Row {
    std::string_view method, path, query;
    int status;
    std::string_view body;
  };
  const auto ask = [](const HttpHandler& routes, const Row& row) {
    HttpRequest request;
    request.method = row.method;
    request.path = row.path;
    request.query = row.query;
    const HttpResponse response = routes(request);
    EXPECT_EQ(response.status, row.status) << row.path << " " << row.query;
    EXPECT_NE(response.body.find(row.body), std::string_view::npos) << response.body;
  };
  ask(Routes(), {"POST", "/api/v1/profiling", "state=paused", 403, "--web-enable-control"});

  Wakeup source;
  DeviceControl control(clock_, source);
  const HttpHandler routes = MakeRoutes({.control = &control}, *tick_, clock_);
  const std::string_view profiling = "/api/v1/profiling";
  const std::string_view devices = "/api/v1/devices";
  const Row rows[] = {
      {"GET", profiling, "", 200, R"({"state":"running","for_seconds":0})"},
      {"POST", profiling, "state=paused", 200, R"({"state":"paused","for_seconds":600})"},
      {"GET", profiling, "state=running", 200, R"({"state":"paused","for_seconds":600})"},
      {"POST", profiling, "state=running", 200, R"({"state":"running","for_seconds":0})"},
      {"POST", devices, "for=45s&state=released", 200, R"({"state":"released","for_seconds":45})"},
      {"POST", devices, "state=held", 200, R"({"state":"held","for_seconds":0})"},
      {"POST", devices, "state=paused", 400, R"(\"state\" must be \"released\" or \"held\")"},
      {"POST", devices, "", 400, R"(\"state\" must be)"},
      {"POST", devices, "state=released&for=2h", 400, "at most 3600 s"},
      {"POST", devices, "state=released&for=-1s", 400, "a time such as 30s"},
      {"POST", devices, "state=released&until=x", 400, "the parameters are"},
  };
  for (const Row& row : rows) {
    ask(routes, row);
  }
}

}  // namespace
}  // namespace podgpu
