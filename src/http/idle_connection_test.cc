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
  options.request_timeout = milliseconds(1'000);
  const auto server = StartServer(options);
  LoopbackClient scraper(server->port());
  ASSERT_EQ(scraper.Fetch("/metrics").status, 200);
  EXPECT_TRUE(scraper.AwaitEnd());
  Await([&] { return server->stats().open_connections == 0; });
  EXPECT_EQ(server->stats().deadlines, 0U);
  // An incomplete request counts as a missed deadline.
  LoopbackClient half(server->port());
  ASSERT_TRUE(half.Send("GET /metrics HTTP/1.1\r\nHost: x\r\n\r\nGET"));
  EXPECT_EQ(half.Read().status, 200);
  EXPECT_TRUE(half.AwaitEnd());
  Await([&] { return server->stats().deadlines == 1; });
  // Also one that begins after an idle time. A loaded machine may send it too late: then again.
  Await([&] {
    LoopbackClient late(server->port());
    late.Fetch("/metrics");
    late.Send("GET");
    EXPECT_TRUE(late.AwaitEnd());
    return server->stats().deadlines >= 2;  // Counted after the end.
  });
}

}  // namespace
}  // namespace podgpu
