#include "http/request_guard.h"

#include <gtest/gtest.h>

#include "http/testing/loopback_client.h"
#include "http/testing/test_server.h"

namespace podgpu {
namespace {

const RequestGuardOptions kControl = {
    .control_paths = {"/api/v1/devices"}, .own_names = {"node-a", ""}, .allowed_hosts = {}};

HttpRequest RequestTo(std::string_view path, std::string_view method, std::string_view host,
                      std::string_view origin = "", std::string_view fetch_site = "") {
  HttpRequest request;
  request.method = method;
  request.path = path;
  request.host = host;
  request.origin = origin;
  request.fetch_site = fetch_site;
  return request;
}

TEST(RequestGuard, RefusesChangesFromOtherSites) {
  struct Row {
    std::string_view method, host, origin, fetch_site;
    GuardVerdict verdict;
  };
  const Row rows[] = {
      {"POST", "10.0.0.7:9400", "", "", GuardVerdict::kPass},  // curl
      {"POST", "10.0.0.7:9400", "http://10.0.0.7:9400", "same-origin", GuardVerdict::kPass},
      {"POST", "10.0.0.7", "http://10.0.0.7:80", "", GuardVerdict::kPass},
      {"POST", "10.0.0.7:443", "https://10.0.0.7", "", GuardVerdict::kPass},
      {"POST", "NODE-A:9400", "https://node-a:9400", "", GuardVerdict::kPass},
      {"POST", "10.0.0.7:9400", "", "none", GuardVerdict::kPass},  // typed into the address bar
      {"POST", "10.0.0.7:9400", "http://evil.example", "", GuardVerdict::kCrossSite},
      {"POST", "10.0.0.7:9400", "http://10.0.0.7:9401", "same-site", GuardVerdict::kCrossSite},
      {"POST", "10.0.0.7:9400", "http://10.0.0.7", "", GuardVerdict::kCrossSite},
      {"POST", "10.0.0.7:9400", "null", "", GuardVerdict::kCrossSite},
      {"POST", "10.0.0.7:9400", "10.0.0.7:9400", "", GuardVerdict::kCrossSite},
      {"POST", "10.0.0.7:9400", "http://10.0.0.7:9400,http://evil.example", "",
       GuardVerdict::kCrossSite},
      {"POST", "10.0.0.7:9400", "", "cross-site", GuardVerdict::kCrossSite},
      {"POST", "10.0.0.7:9400", "", "Cross-Site", GuardVerdict::kCrossSite},
      {"PUT", "10.0.0.7:9400", "http://evil.example", "", GuardVerdict::kCrossSite},
      {"GET", "10.0.0.7:9400", "http://evil.example", "cross-site", GuardVerdict::kPass},
  };
  const RequestGuard guard(kControl);
  for (const Row& row : rows) {
    EXPECT_EQ(
        guard.Judge(RequestTo("/api/v1/devices", row.method, row.host, row.origin, row.fetch_site)),
        row.verdict)
        << row.method << " " << row.host << " " << row.origin << " " << row.fetch_site;
    EXPECT_EQ(guard.Judge(RequestTo("/metrics", row.method, row.host, row.origin, row.fetch_site)),
              GuardVerdict::kPass)
        << "this request changes nothing";
  }
}

TEST(RequestGuard, AcceptsOnlyHostsThatNoOtherSiteCanHave) {
  const std::pair<std::string_view, bool> rows[] = {
      {"", true},  // HTTP/1.0
      {"127.0.0.1", true},
      {"192.168.1.5:9400", true},
      {"[::1]:9400", true},
      {"[fe80::1]", true},
      {"localhost:9400", true},
      {"LocalHost.", true},
      {"node-a", true},
      {"Node-A.:9400", true},
      {"evil.example", false},
      {"node-a.evil.example:9400", false},
      {"localhost.evil.example", false},
      {"127.0.0.1.evil.example", false},
      {"[evil.example]", false},
      {"1.2.3", false},
      {"[", false},
      {":9400", false},  // The machine's name may be unknown and therefore empty.
  };
  const RequestGuard guard(kControl);
  RequestGuardOptions named = kControl;
  named.control_paths = {};
  named.allowed_hosts = {"gpu.example.com"};
  const RequestGuard everywhere(named);
  for (const auto& [host, is_ours] : rows) {
    for (const std::string_view method : {"GET", "POST"}) {
      EXPECT_EQ(guard.Judge(RequestTo("/api/v1/devices", method, host)) == GuardVerdict::kPass,
                is_ours)
          << host;
      EXPECT_EQ(guard.Judge(RequestTo("/metrics", method, host)), GuardVerdict::kPass) << host;
      EXPECT_EQ(everywhere.Judge(RequestTo("/metrics", method, host)) == GuardVerdict::kPass,
                is_ours)
          << host;
    }
  }
  EXPECT_EQ(everywhere.Judge(RequestTo("/metrics", "GET", "GPU.example.com.:9400")),
            GuardVerdict::kPass);
  named.allowed_hosts = {"*"};
  EXPECT_EQ(RequestGuard(named).Judge(RequestTo("/metrics", "GET", "evil.example")),
            GuardVerdict::kPass);
}

TEST(RequestGuard, TheServerRefusesCountsAndLogsOnce) {
  HttpServerOptions options = LoopbackOptions();
  options.guard = kControl;
  const auto server = StartServer(options);
  testing::internal::CaptureStderr();
  LoopbackClient client(server->port());
  for (int i = 0; i < 3; ++i) {
    client.Send(
        "POST /api/v1/devices?state=released HTTP/1.1\r\nHost: 127.0.0.1\r\n"
        "Origin: http://evil.example\r\n\r\n");
    const LoopbackResponse response = client.Read();
    EXPECT_EQ(response.status, 403);
    EXPECT_EQ(
        response.body,
        "refused: a page of another site (Origin \"http://evil.example\") made a browser send "
        "this POST to \"127.0.0.1\". Send it without an Origin header, as curl does, or from "
        "a page of this host\n");
  }
  client.Send("GET /api/v1/devices HTTP/1.1\r\nHost: evil.example\r\n\r\n");
  EXPECT_EQ(client.Read().status, 403);
  client.Send("POST /api/v1/devices HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n");
  EXPECT_EQ(client.Read().status, 200) << "the connection stays open";
  const std::string log = testing::internal::GetCapturedStderr();
  EXPECT_EQ(std::ranges::count(log, '\n'), 2) << log;
  EXPECT_NE(log.find("msg=\"refused a request from another site\" why=\"refused: a page"),
            std::string::npos)
      << log;
  EXPECT_EQ(server->stats().cross_site, 3U);
  EXPECT_EQ(server->stats().foreign_host, 1U);
  EXPECT_EQ(server->stats().requests, 1U);
}

}  // namespace
}  // namespace podgpu
