// The limits that hold against slow, greedy, broken or many clients.
#include <algorithm>
#include <cstdio>
#include <fcntl.h>
#include <fstream>
#include <memory>
#include <sys/resource.h>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "http/server.h"
#include "http/testing/loopback_client.h"
#include "http/testing/test_server.h"

namespace podgpu {
namespace {

using std::chrono::milliseconds;

TEST(HttpServerLimits, ClosesAThousandIdleAndTricklingConnectionsAtTheDeadline) {
  HttpServerOptions options = LoopbackOptions();
  options.max_connections = 2000;
  options.max_connections_per_peer = 2000;
  options.request_timeout = milliseconds(500);
  const auto server = StartServer(options);
  std::vector<std::unique_ptr<LoopbackClient>> clients;
  for (int i = 0; i < 1000; ++i) {
    clients.push_back(std::make_unique<LoopbackClient>(server->port()));
    ASSERT_TRUE(clients.back()->connected()) << i;
  }
  // Every second client sends single bytes, which never extend the deadline.
  constexpr int kMostDrops = 200;
  int drops = 0;
  Await([&] {
    for (size_t i = 0; i < clients.size() && drops < kMostDrops; i += 2) {
      clients[i]->Send(drops == 0 ? "GET / HTTP/1.1\r\nX: " : "y");
    }
    ++drops;
    return server->stats().open_connections == 0;
  });
  for (const auto& client : clients) {
    EXPECT_TRUE(client->AwaitEnd());
  }
  EXPECT_EQ(server->stats().deadlines, 1000U);
  EXPECT_EQ(LoopbackClient(server->port()).Fetch("/").status, 200);
}

TEST(HttpServerLimits, ASteadyTrickleDoesNotExtendTheDeadline) {
  HttpServerOptions options = LoopbackOptions();
  options.request_timeout = milliseconds(100);
  options.max_header_bytes = size_t{64} << 20;  // Only the deadline can end it.
  const auto server = StartServer(options);
  LoopbackClient drip(server->port());
  ASSERT_TRUE(drip.Send("GET / HTTP/1.1\r\nHost: x\r\nX: "));
  // If each byte extended the deadline, this would never end.
  while (drip.Send("y")) {
    std::this_thread::yield();
  }
  EXPECT_TRUE(drip.AwaitEnd());
  Await([&] { return server->stats().deadlines == 1; });
  EXPECT_EQ(server->stats().bad_requests, 0U);
}

TEST(HttpServerLimits, RefusesGarbageAfterAGoodRequestOnceThatIsAnswered) {
  const auto server = StartServer();
  LoopbackClient client(server->port());
  std::string bytes = "GET /good HTTP/1.1\r\nHost: x\r\n\r\n";
  bytes += std::string("\x00\xFF\x01 not HTTP\r\n\r\n", 16);
  bytes += "GET /never HTTP/1.1\r\nHost: x\r\n\r\n";
  ASSERT_TRUE(client.Send(bytes));
  EXPECT_EQ(client.Read().body, "GET /good  ");
  EXPECT_EQ(client.Read().status, 400);
  client.ShutDownSending();
  EXPECT_TRUE(client.AwaitEnd());
  EXPECT_EQ(server->stats().requests, 1U);
  EXPECT_EQ(server->stats().bad_requests, 1U);
}

TEST(HttpServerLimits, CutsOffAClientThatSendsRequestsButNeverReads) {
  HttpServerOptions options = LoopbackOptions();
  options.response_timeout = milliseconds(100);
  const auto server = StartServer(options);
  LoopbackClient greedy(server->port(), 4096);
  // Ends when the server, which answers one request after the other, stops reading.
  while (greedy.Get("/large")) {
  }
  Await([&] { return server->stats().deadlines == 1; });
  EXPECT_LE(server->stats().requests, 2U);
  EXPECT_EQ(LoopbackClient(server->port()).Fetch("/").status, 200);
}

TEST(HttpServerLimits, ClosesAReaderThatTakesTooLong) {
  HttpServerOptions options = LoopbackOptions();
  options.response_timeout = milliseconds(100);
  const auto server = StartServer(options);
  LoopbackClient client(server->port(), 4096);
  client.Get("/large");
  Await([&] { return server->stats().deadlines == 1; });
  EXPECT_EQ(client.Read().status, 0) << "the body must be cut short";
}

TEST(HttpServerLimits, StopsAnsweringAtTheScrapersTimeout) {
  HttpServerOptions options = LoopbackOptions();
  options.response_timeout = std::chrono::hours(1);
  const auto server = StartServer(options);
  LoopbackClient client(server->port(), 4096);
  ASSERT_TRUE(client.Send(
      "GET /large HTTP/1.1\r\nHost: x\r\nX-Prometheus-Scrape-Timeout-Seconds: 0.05\r\n\r\n"));
  Await([&] { return server->stats().deadlines == 1; });
  EXPECT_EQ(client.Read().status, 0) << "the body must be cut short";
  // A value that is not a time sets no limit.
  for (const std::string_view value : {"", "soon", "-1", "0", "nan", "1e999", "10s"}) {
    LoopbackClient other(server->port());
    ASSERT_TRUE(other.Send("GET / HTTP/1.1\r\nHost: x\r\nX-Prometheus-Scrape-Timeout-Seconds: " +
                           std::string(value) + "\r\n\r\n"));
    EXPECT_EQ(other.Read().status, 200) << value;
  }
  EXPECT_EQ(server->stats().deadlines, 1U);
}

TEST(HttpServerLimits, KeepsOnlyTheBodyOfASlowReader) {
  // Each request gets a body of its own; weak pointers tell which bodies still exist.
  std::vector<std::weak_ptr<const void>> bodies;
  const auto server = StartServer(LoopbackOptions(), [&](const HttpRequest& request) {
    HttpResponse response =
        TextResponse(200, std::string(request.path == "/large" ? kLargeBodyBytes : 10, 'b'));
    bodies.push_back(response.keep_alive);
    return response;
  });
  LoopbackClient slow(server->port(), 4096);
  slow.Get("/large");
  ASSERT_TRUE(slow.Receive());
  LoopbackClient fast(server->port());
  EXPECT_EQ(fast.Fetch("/a").status, 200);
  // The second answer on a connection starts after the first has released its body.
  EXPECT_EQ(fast.Fetch("/b").status, 200);
  EXPECT_FALSE(bodies[0].expired());
  EXPECT_TRUE(bodies[1].expired());
  const LoopbackResponse response = slow.Read();
  EXPECT_EQ(response.status, 200);
  EXPECT_EQ(response.body.size(), kLargeBodyBytes);
  Await([&] { return bodies[0].expired(); });
}

TEST(HttpServerLimits, AShortAnswerIsWholeWhenTheSystemTakesOnlyAPart) {
  std::string body;
  for (int line = 0; body.size() < 60'000; ++line) {
    body += std::to_string(line) + "\n";
  }
  const auto server =
      StartServer(LoopbackOptions(), [&](const HttpRequest&) { return TextResponse(200, body); });
  // Its window is far smaller than an answer, so the system cannot take one before it reads.
  LoopbackClient slow(server->port(), 4096);
  for (uint64_t i = 1; i <= 20; ++i) {
    ASSERT_TRUE(slow.Get("/"));
    Await([&] { return server->stats().requests == i; });
    ASSERT_EQ(slow.Read().body, body) << i;
  }
}

TEST(HttpServerLimits, ReleasesTheBodyOfAClientThatDisconnects) {
  const auto server = StartServer();
  {
    LoopbackClient client(server->port(), 4096);
    client.Get("/large");
    ASSERT_TRUE(client.Receive());
  }
  Await([&] { return server->stats().open_connections == 0; });
  EXPECT_EQ(LoopbackClient(server->port()).Fetch("/").status, 200);
}

TEST(HttpServerLimits, ReplacesTheConnectionWithTheLongestInactivity) {
  HttpServerOptions options = LoopbackOptions();
  options.max_connections = 2;
  const auto server = StartServer(options);
  LoopbackClient first(server->port());
  EXPECT_EQ(first.Fetch("/1").status, 200);
  LoopbackClient second(server->port());
  EXPECT_EQ(second.Fetch("/2").status, 200);
  LoopbackClient third(server->port());
  EXPECT_EQ(third.Fetch("/3").status, 200);
  EXPECT_TRUE(first.AwaitEnd());
  EXPECT_EQ(second.Fetch("/2").status, 200);
  EXPECT_EQ(server->stats().displaced, 1U);
  EXPECT_EQ(server->stats().open_connections, 2U);
}

TEST(HttpServerLimits, AcceptsOnlyProbesWhileEveryConnectionIsBusy) {
  HttpServerOptions options = LoopbackOptions();
  options.max_connections = 2;
  options.probe_slots = 1;
  options.stalled_after = std::chrono::hours(1);  // None may be cut off.
  const auto server = StartServer(options);
  LoopbackClient slow[2] = {LoopbackClient(server->port(), 4096),
                            LoopbackClient(server->port(), 4096)};
  for (LoopbackClient& client : slow) {
    client.Get("/large");
    ASSERT_TRUE(client.Receive());
  }
  LoopbackClient scraper(server->port());
  const LoopbackResponse turned_away = scraper.Fetch("/metrics");
  EXPECT_EQ(turned_away.status, 503);
  EXPECT_EQ(turned_away.body, "Service Unavailable\n");

  for (const std::string_view path : {"/health", "/healthz", "/readyz?verbose"}) {
    LoopbackClient probe(server->port());
    const LoopbackResponse response = probe.Fetch(path);
    EXPECT_EQ(response.status, 200) << path;
    EXPECT_NE(response.head.find("Connection: close"), std::string::npos);
    EXPECT_TRUE(probe.AwaitEnd());
  }
  LoopbackClient silent(server->port());
  Await([&] { return server->stats().open_connections == 3; });
  EXPECT_EQ(LoopbackClient(server->port()).Fetch("/healthz").status, 200);
  EXPECT_TRUE(silent.AwaitEnd()) << "a silent client must not keep a probe's slot";
}

TEST(HttpServerLimits, CutsOffTheAnswerWithoutProgressWhenEveryConnectionIsBusy) {
  HttpServerOptions options = LoopbackOptions();
  options.max_connections = 2;
  const auto server = StartServer(options);
  LoopbackClient slow(server->port(), 4096);
  slow.Get("/large");
  LoopbackClient stuck(server->port(), 4096);
  stuck.Get("/large");
  Await([&] { return server->stats().requests == 2; });
  for (int i = 0; i < 1'000; ++i) {
    ASSERT_TRUE(slow.Receive());  // More than the system holds: the answer goes on.
  }
  EXPECT_EQ(LoopbackClient(server->port()).Fetch("/metrics").status, 200);
  EXPECT_EQ(stuck.Read().status, 0) << "the body must be cut short";
  EXPECT_EQ(slow.Read().body.size(), kLargeBodyBytes);
  EXPECT_EQ(server->stats().displaced, 1U);
  EXPECT_EQ(server->stats().turned_away, 0U);
}

// After so many turns of the server's loop, an answer that the client does not read has stopped.
void LetAnswersStop(uint16_t port) {
  LoopbackClient client(port);
  for (int i = 0; i < 100; ++i) {
    ASSERT_EQ(client.Fetch("/").status, 200);
  }
}

TEST(HttpServerLimits, DoesNotCutOffANewClientForALaterOne) {
  HttpServerOptions options = LoopbackOptions();
  options.max_connections = 2;
  const auto server = StartServer(options);
  LoopbackClient stuck(server->port(), 4096);
  stuck.Get("/large");
  LetAnswersStop(server->port());
  Await([&] { return server->stats().open_connections == 1; });
  LoopbackClient just_come(server->port());  // Has not asked yet.
  Await([&] { return server->stats().open_connections == 2; });
  EXPECT_EQ(LoopbackClient(server->port()).Fetch("/").status, 200);
  EXPECT_EQ(just_come.Fetch("/").status, 200);
  EXPECT_EQ(stuck.Read().status, 0) << "the answer without progress makes room";
  EXPECT_EQ(server->stats().displaced, 1U);
}

TEST(HttpServerLimits, ReplacesAConnectionOfThePeerWithMostConnections) {
  HttpServerOptions options = LoopbackOptions();
  options.request_timeout = std::chrono::hours(1);  // A slow machine needs more than the default.
  options.response_timeout = std::chrono::hours(1);
  options.max_connections = 4;
  const auto server = StartServer(options);
  LoopbackClient scraper(server->port(), 0, "127.0.0.2");
  ASSERT_EQ(scraper.Fetch("/").status, 200);
  std::vector<std::unique_ptr<LoopbackClient>> crowd;
  for (int i = 0; i < 20; ++i) {
    crowd.push_back(std::make_unique<LoopbackClient>(server->port(), 4096));
    crowd.back()->Get("/large");
    Await([&] { return server->stats().requests == static_cast<uint64_t>(i) + 2; });
  }
  LoopbackClient third(server->port(), 0, "127.0.0.3");
  EXPECT_EQ(third.Fetch("/").status, 200);
  EXPECT_EQ(scraper.Fetch("/").status, 200) << "it has one connection, the other address had three";
  EXPECT_EQ(server->stats().displaced, 18U);
  EXPECT_EQ(crowd.front()->Read().status, 0);
}

TEST(HttpServerLimits, AnswersAScrapeAmongManyClientsThatNeverRead) {
  HttpServerOptions options = LoopbackOptions();
  options.max_connections = 16;
  options.request_timeout = std::chrono::hours(1);
  options.response_timeout = std::chrono::hours(1);
  const auto server = StartServer(options);
  std::vector<std::unique_ptr<LoopbackClient>> greedy;
  for (int i = 0; i < 100; ++i) {
    greedy.push_back(std::make_unique<LoopbackClient>(server->port(), 4096));
    for (int request = 0; request < 40; ++request) {
      greedy.back()->Get("/large");
    }
    ASSERT_EQ(LoopbackClient(server->port()).Fetch("/metrics").status, 200) << i;
  }
  EXPECT_EQ(server->stats().turned_away, 0U);
  EXPECT_LE(server->stats().open_connections, 16U);
}

TEST(HttpServerLimits, APeerAtItsLimitReplacesItsOwnConnections) {
  HttpServerOptions options = LoopbackOptions();
  options.max_connections_per_peer = 2;
  const auto server = StartServer(options);
  LoopbackClient other(server->port(), 0, "127.0.0.2");
  EXPECT_EQ(other.Fetch("/").status, 200);
  LoopbackClient idle(server->port());
  EXPECT_EQ(idle.Fetch("/").status, 200);
  LoopbackClient stuck(server->port(), 4096);
  stuck.Get("/large");
  Await([&] { return server->stats().requests == 3; });
  LoopbackClient third(server->port());
  EXPECT_EQ(third.Fetch("/").status, 200);
  EXPECT_TRUE(idle.AwaitEnd()) << "it had the longest inactivity";
  EXPECT_EQ(other.Fetch("/").status, 200) << "another peer pays nothing";
  EXPECT_EQ(server->stats().displaced, 1U);
  EXPECT_EQ(server->stats().open_connections, 3U);
}

// The maximum bytes that the kernel holds for connections of `port`: sent but not read by the
// client, and received but not read by the server. From /proc/net/tcp (Linux,
// Documentation/networking/proc_net_tcp).
struct KernelQueues {
  uint64_t unsent_bytes = 0;
  uint64_t unread_bytes = 0;
};
KernelQueues QueuesOf(uint16_t port) {
  KernelQueues queues;
  std::ifstream table("/proc/net/tcp");
  std::string line;
  std::getline(table, line);  // The header.
  while (std::getline(table, line)) {
    unsigned local_port = 0;
    unsigned state = 0;
    unsigned unsent_bytes = 0;
    unsigned unread_bytes = 0;
    constexpr unsigned kEstablished = 1;
    // NOLINTNEXTLINE(cert-err34-c): the kernel writes these.
    const int found = std::sscanf(line.c_str(), "%*d: %*x:%x %*x:%*x %x %x:%x", &local_port, &state,
                                  &unsent_bytes, &unread_bytes);
    if (found == 4 && local_port == port && state == kEstablished) {
      queues.unsent_bytes = std::max<uint64_t>(queues.unsent_bytes, unsent_bytes);
      queues.unread_bytes = std::max<uint64_t>(queues.unread_bytes, unread_bytes);
    }
  }
  return queues;
}

TEST(HttpServerLimits, TheKernelHoldsLittleForAClientThatNeverReads) {
  HttpServerOptions options = LoopbackOptions();
  options.response_timeout = std::chrono::seconds(3);  // For a slow machine to look in between.
  const auto server = StartServer(options);
  LoopbackClient greedy(server->port(), 4096);
  const std::jthread asking([&] {
    while (greedy.Get("/large")) {  // Until it is cut off.
    }
  });
  KernelQueues most;
  Await([&] {
    const KernelQueues now = QueuesOf(server->port());
    most.unsent_bytes = std::max(most.unsent_bytes, now.unsent_bytes);
    most.unread_bytes = std::max(most.unread_bytes, now.unread_bytes);
    return server->stats().deadlines == 1;
  });
  EXPECT_GT(most.unsent_bytes, 0U);
  EXPECT_LE(most.unsent_bytes, 256U << 10);
  EXPECT_GT(most.unread_bytes, 0U);
  EXPECT_LE(most.unread_bytes, 64U << 10);
}

TEST(HttpServerLimits, AnswersProbesAndScrapesWhileTricklingClientsHoldEveryConnection) {
  HttpServerOptions options = LoopbackOptions();
  options.max_connections = 16;
  options.request_timeout = milliseconds(30'000);
  const auto server = StartServer(options);
  std::vector<std::unique_ptr<LoopbackClient>> drippers;
  for (size_t i = 0; i < options.max_connections; ++i) {
    drippers.push_back(std::make_unique<LoopbackClient>(server->port()));
    ASSERT_TRUE(drippers.back()->Send("GET / HTTP/1.1\r\nX: "));
  }
  Await([&] { return server->stats().open_connections == options.max_connections; });
  for (const std::string_view path : {"/healthz", "/readyz", "/metrics"}) {
    EXPECT_EQ(LoopbackClient(server->port()).Fetch(path).status, 200) << path;
  }
  EXPECT_TRUE(drippers.front()->AwaitEnd()) << "the connection that has waited longest is closed";
  EXPECT_EQ(server->stats().turned_away, 0U);
}

TEST(HttpServerLimits, RefusesEveryClientWithoutProbeSlots) {
  HttpServerOptions options = LoopbackOptions();
  options.max_connections = 1;
  options.probe_slots = 0;
  options.stalled_after = std::chrono::hours(1);  // None may be cut off.
  const auto server = StartServer(options);
  LoopbackClient slow(server->port(), 4096);
  slow.Get("/large");
  ASSERT_TRUE(slow.Receive());
  LoopbackClient probe(server->port());
  EXPECT_TRUE(probe.AwaitEnd());
  EXPECT_EQ(server->stats().turned_away, 1U);
}

// Lowers the limit of file descriptors to the number in use, which makes accept fail, and restores
// it.
class NoDescriptorsLeft {
 public:
  NoDescriptorsLeft() {
    ::getrlimit(RLIMIT_NOFILE, &before_);
    const int lowest_free = ::fcntl(0, F_DUPFD, 0);
    ::close(lowest_free);
    const rlimit now = {.rlim_cur = static_cast<rlim_t>(lowest_free), .rlim_max = before_.rlim_max};
    ::setrlimit(RLIMIT_NOFILE, &now);
  }
  NoDescriptorsLeft(const NoDescriptorsLeft&) = delete;
  NoDescriptorsLeft& operator=(const NoDescriptorsLeft&) = delete;
  ~NoDescriptorsLeft() { ::setrlimit(RLIMIT_NOFILE, &before_); }

 private:
  rlimit before_{};
};

sockaddr_in LoopbackAddress(uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

TEST(HttpServerLimits, AcceptsConnectionsWhenDescriptorsAreFreeAgain) {
  const auto server = StartServer();
  LoopbackClient waiting(server->port());
  ASSERT_EQ(waiting.Fetch("/").status, 200);
  const FileDescriptor late(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const sockaddr_in address = LoopbackAddress(server->port());
  {
    const NoDescriptorsLeft full;
    // The kernel completes the connection before the server may accept it.
    ASSERT_EQ(::connect(late.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address),
              0);
    Await([&] { return server->stats().accept_errors > 0; });
    EXPECT_TRUE(waiting.AwaitEnd()) << "its descriptor is freed for the next client";
  }
  static constexpr std::string_view kRequest = "GET /late HTTP/1.1\r\nHost: x\r\n\r\n";
  ASSERT_EQ(::send(late.get(), kRequest.data(), kRequest.size(), MSG_NOSIGNAL),
            static_cast<ssize_t>(kRequest.size()));
  char byte = 0;
  EXPECT_EQ(::recv(late.get(), &byte, 1, 0), 1);
  EXPECT_EQ(byte, 'H');
}

TEST(HttpServerLimits, DoesNotSpinWhileNoDescriptorIsLeft) {
  HttpServerOptions options = LoopbackOptions();
  options.accept_pause = std::chrono::hours(1);
  const auto server = StartServer(options);
  LoopbackClient oldest(server->port());
  ASSERT_EQ(oldest.Fetch("/").status, 200);
  LoopbackClient busy(server->port());
  ASSERT_EQ(busy.Fetch("/").status, 200);
  const FileDescriptor late(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const sockaddr_in address = LoopbackAddress(server->port());
  const NoDescriptorsLeft full;
  ASSERT_EQ(::connect(late.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  EXPECT_TRUE(oldest.AwaitEnd()) << "its descriptor is freed for the next client";
  // If the server's loop tried again at once, it would answer here.
  for (int i = 0; i < 1'000; ++i) {
    ASSERT_EQ(busy.Fetch("/").status, 200);
  }
  EXPECT_EQ(server->stats().accept_errors, 1U);
}

}  // namespace
}  // namespace podgpu
