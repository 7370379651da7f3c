#include "exporter/routes.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "base/testing/manual_clock.h"
#include "source/testing/fake_source.h"
#include "tests/gunzip.h"

namespace podgpu {
namespace {

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
    tick_.emplace(TickOptions(),
                  TickSources{grids_, source_, pods_, guard_, written_off_, clients_}, clock_,
                  wakeup_);
    tick_->Once();
    return MakeRoutes({"n", seconds(10)}, *tick_, clock_);
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
  const HttpHandler routes = MakeRoutes({.hostname = "n", .metrics_path = "/gpu"}, *tick_, clock_);
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
      {"/", "", "*/*", 200, "text/plain; charset=utf-8", "\nGPU 1             ok   "},
      {"/", "", "text/html,*/*;q=0.8", 200, "text/html; charset=utf-8", "<h1>podgpu on n</h1>"},
      {"/", "", "", 200, "text/html; charset=utf-8", "<h1>podgpu on n</h1>"},
      {"/api/v1/status", "", "", 200, "application/json", R"({"ready":true,"verdict":"ready: 2)"},
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
      MakeRoutes({.hostname = "n", .want_use = [&wanted] { ++wanted; }}, *tick_, clock_);
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
  const HttpHandler routes =
      MakeRoutes({.hostname = "node-1", .control = &control}, *tick_, clock_);
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
