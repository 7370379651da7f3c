// How long a connection lives between two requests.
#include <chrono>

#include <gtest/gtest.h>

#include "http/testing/loopback_client.h"
#include "http/testing/test_server.h"

namespace podgpu {
namespace {

using std::chrono::milliseconds;

TEST(IdleConnection, IsClosedWithoutBeingCounted) {
  HttpServerOptions options = LoopbackOptions();
  options.idle_timeout = milliseconds(1'000);
  const auto server = StartServer(options);
  LoopbackClient scraper(server->port());
  ASSERT_EQ(scraper.Fetch("/metrics").status, 200);
  EXPECT_TRUE(scraper.AwaitEnd());
  Await([&] { return server->stats().open_connections == 0; });
  EXPECT_EQ(server->stats().deadlines, 0U);
}

TEST(IdleConnection, LivesLongerThanARequestMayTake) {
  HttpServerOptions options = LoopbackOptions();
  options.request_timeout = milliseconds(1'000);
  const auto server = StartServer(options);
  LoopbackClient scraper(server->port());
  ASSERT_EQ(scraper.Fetch("/metrics").status, 200);
  // An incomplete request counts as a missed deadline, also behind a complete one.
  LoopbackClient half(server->port());
  ASSERT_TRUE(half.Send("GET /metrics HTTP/1.1\r\nHost: x\r\n\r\nGET"));
  EXPECT_EQ(half.Read().status, 200);
  EXPECT_TRUE(half.AwaitEnd());
  Await([&] { return server->stats().deadlines == 1; });
  EXPECT_EQ(scraper.Fetch("/metrics").status, 200) << "idle for longer than the other's deadline";
  // Its next request has the deadline of a request, not that of an idle connection.
  ASSERT_TRUE(scraper.Send("GET"));
  EXPECT_TRUE(scraper.AwaitEnd());
  Await([&] { return server->stats().deadlines == 2; });
}

}  // namespace
}  // namespace podgpu
