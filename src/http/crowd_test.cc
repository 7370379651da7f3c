// What the server does after a crowd of connections has gone.
#include <atomic>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "http/server.h"
#include "http/testing/loopback_client.h"
#include "http/testing/test_server.h"

namespace podgpu {
namespace {

TEST(HttpServerCrowd, ReturnsItsMemoryOnceAfterItHasGone) {
  HttpServerOptions options = LoopbackOptions();
  options.max_connections_per_peer = 512;
  std::atomic<int> returns = 0;
  options.return_memory = [&] { ++returns; };
  options.return_memory_after = std::chrono::milliseconds(0);
  const auto server = StartServer(options);
  std::vector<std::unique_ptr<LoopbackClient>> clients;
  const auto open = [&](size_t count) {
    while (clients.size() < count) {
      clients.push_back(std::make_unique<LoopbackClient>(server->port()));
    }
    clients.resize(count);
    Await([&] { return server->stats().open_connections == count; });
    // The second answer comes after all that the server's thread had to do before the first.
    EXPECT_EQ(clients.front()->Fetch("/").status, 200);
    EXPECT_EQ(clients.front()->Fetch("/").status, 200);
  };
  open(60);
  open(1);
  EXPECT_EQ(returns, 0) << "so few are no crowd";
  open(200);
  open(30);
  EXPECT_EQ(returns, 0) << "the crowd has not gone";
  open(20);
  EXPECT_EQ(returns, 1);
  open(1);
  open(60);
  open(1);
  EXPECT_EQ(returns, 1);
  open(100);
  open(1);
  EXPECT_EQ(returns, 2);
}

}  // namespace
}  // namespace podgpu
