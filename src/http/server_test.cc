#include "http/server.h"

#include <fcntl.h>
#include <memory>
#include <sys/resource.h>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "http/loopback_client.h"

namespace podgpu {
namespace {

using std::chrono::milliseconds;

// Far more than loopback sockets buffer, so that writing it blocks on a client that does not read.
constexpr size_t kLargeBodyBytes = size_t{32} << 20;

HttpServerOptions Options() {
  HttpServerOptions options;
  options.address = "127.0.0.1:0";
  return options;
}

// Answers with what it was asked; /large with a body that no socket buffer holds.
HttpResponse Echo(const HttpRequest& request) {
  if (request.path == "/large") {
    return TextResponse(200, std::string(kLargeBodyBytes, 'x'));
  }
  HttpResponse response =
      TextResponse(200, std::string(request.method) + " " + std::string(request.path) + " " +
                            std::string(request.query) + " " + std::string(request.accept));
  response.headers.emplace_back("X-Content-Type-Options", "nosniff");
  return response;
}

std::unique_ptr<HttpServer> StartServer(HttpServerOptions options = Options(),
                                        HttpHandler handler = Echo) {
  StatusOr<std::unique_ptr<HttpServer>> server =
      HttpServer::Start(std::move(options), std::move(handler));
  EXPECT_TRUE(server.ok()) << server.status();
  return *std::move(server);
}

// Gives other threads the processor until `condition` holds.
template <typename Condition>
void Await(Condition condition) {
  while (!condition()) {
    std::this_thread::yield();
  }
}

TEST(HttpServer, AnswersARequest) {
  const auto server = StartServer();
  LoopbackClient client(server->port());
  ASSERT_TRUE(client.Send("GET /a?b=c HTTP/1.1\r\nHost: x\r\nAccept: text/plain\r\n\r\n"));
  const LoopbackResponse response = client.Read();
  EXPECT_EQ(response.status, 200);
  EXPECT_EQ(response.body, "GET /a b=c text/plain");
  EXPECT_TRUE(response.head.starts_with("HTTP/1.1 200 OK\r\nDate: ")) << response.head;
  EXPECT_NE(response.head.find("\r\nX-Content-Type-Options: nosniff\r\n"), std::string::npos);
  EXPECT_EQ(response.head.find("Connection:"), std::string::npos);
}

TEST(HttpServer, KeepsAConnectionForManyRequests) {
  const auto server = StartServer();
  LoopbackClient client(server->port());
  for (int i = 0; i < 50; ++i) {
    EXPECT_EQ(client.Fetch("/" + std::to_string(i)).body, "GET /" + std::to_string(i) + "  ");
  }
  EXPECT_EQ(server->stats().requests, 50U);
  EXPECT_EQ(server->stats().open_connections, 1U);
}

TEST(HttpServer, AnswersPipelinedRequestsInOrder) {
  const auto server = StartServer();
  LoopbackClient client(server->port());
  std::string requests;
  for (int i = 0; i < 100; ++i) {
    requests +=
        "POST /" + std::to_string(i) + " HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\nbody";
  }
  ASSERT_TRUE(client.Send(requests));
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(client.Read().body, "POST /" + std::to_string(i) + "  ");
  }
}

TEST(HttpServer, AnswersHeadWithTheLengthAndNoBody) {
  const auto server = StartServer();
  LoopbackClient client(server->port());
  ASSERT_TRUE(
      client.Send("HEAD /large HTTP/1.1\r\nHost: x\r\n\r\nGET /next HTTP/1.1\r\nHost: x\r\n\r\n"));
  const LoopbackResponse head = client.Read(true);
  EXPECT_EQ(head.status, 200);
  EXPECT_NE(head.head.find("Content-Length: " + std::to_string(kLargeBodyBytes)),
            std::string::npos);
  EXPECT_EQ(client.Read().body, "GET /next  ");
}

TEST(HttpServer, ClosesWhenTheClientAsksForIt) {
  const auto server = StartServer();
  for (const std::string_view request :
       {"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", "GET / HTTP/1.0\r\n\r\n"}) {
    LoopbackClient client(server->port());
    ASSERT_TRUE(client.Send(request));
    const LoopbackResponse response = client.Read();
    EXPECT_EQ(response.status, 200);
    EXPECT_NE(response.head.find("Connection: close\r\n"), std::string::npos);
    EXPECT_TRUE(client.AwaitEnd());
  }
}

TEST(HttpServer, RefusesWhatItCannotRead) {
  struct Row {
    std::string request;
    int status;
  };
  HttpServerOptions options = Options();
  options.max_header_bytes = 1024;
  options.max_body_bytes = 1000;
  const Row rows[] = {
      {"\x16\x03\x01 TLS?\r\n\r\n", 400},
      {"GET / HTTP/1.1\r\n\r\n", 400},
      {"GET / HTTP/1.1\r\nHost: x\r\nX: " + std::string(300'000, 'y') + "\r\n\r\n", 431},
      {"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 300000\r\n\r\n" + std::string(300'000, 'z'),
       413},
      {"POST / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 9\r\n\r\n", 417},
  };
  const auto server = StartServer(options);
  uint64_t refused = 0;
  for (const Row& row : rows) {
    LoopbackClient client(server->port());
    ASSERT_TRUE(client.Send(row.request));
    const LoopbackResponse response = client.Read();
    EXPECT_EQ(response.status, row.status);
    EXPECT_NE(response.head.find("Connection: close\r\n"), std::string::npos);
    client.ShutDownSending();
    EXPECT_TRUE(client.AwaitEnd());
    EXPECT_EQ(server->stats().bad_requests, ++refused);
  }
  EXPECT_EQ(server->stats().requests, 0U);
  EXPECT_EQ(LoopbackClient(server->port()).Fetch("/").status, 200);
}

TEST(HttpServer, AnswersAClientThatHasClosedItsHalf) {
  const auto server = StartServer();
  LoopbackClient client(server->port());
  client.Get("/half");
  client.ShutDownSending();
  EXPECT_EQ(client.Read().body, "GET /half  ");
  EXPECT_TRUE(client.AwaitEnd());
}

TEST(HttpServer, ClosesWhenHalfARequestIsAllThatComes) {
  const auto server = StartServer();
  LoopbackClient client(server->port());
  ASSERT_TRUE(client.Send("GET / HTT"));
  client.ShutDownSending();
  EXPECT_TRUE(client.AwaitEnd());
  EXPECT_EQ(server->stats().requests, 0U);
}

TEST(HttpServer, ClosesAThousandIdleAndDrippingConnectionsAtTheDeadline) {
  HttpServerOptions options = Options();
  options.max_connections = 2000;
  options.request_timeout = milliseconds(500);
  const auto server = StartServer(options);
  std::vector<std::unique_ptr<LoopbackClient>> clients;
  for (int i = 0; i < 1000; ++i) {
    clients.push_back(std::make_unique<LoopbackClient>(server->port()));
    ASSERT_TRUE(clients.back()->connected()) << i;
  }
  // Every second one drips: bytes that go on arriving never renew the deadline.
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

TEST(HttpServer, ClosesAReaderThatTakesTooLong) {
  HttpServerOptions options = Options();
  options.response_timeout = milliseconds(100);
  const auto server = StartServer(options);
  LoopbackClient client(server->port(), 4096);
  client.Get("/large");
  Await([&] { return server->stats().deadlines == 1; });
  EXPECT_EQ(client.Read().status, 0) << "the body must be cut short";
}

TEST(HttpServer, KeepsASlowReadersBodyAndNothingElse) {
  // Each request gets a body of its own; weak pointers tell which are still alive.
  std::vector<std::weak_ptr<const void>> bodies;
  const auto server = StartServer(Options(), [&](const HttpRequest& request) {
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
  // The second answer on one connection is begun after the first has let go of its body.
  EXPECT_EQ(fast.Fetch("/b").status, 200);
  EXPECT_FALSE(bodies[0].expired());
  EXPECT_TRUE(bodies[1].expired());
  const LoopbackResponse response = slow.Read();
  EXPECT_EQ(response.status, 200);
  EXPECT_EQ(response.body.size(), kLargeBodyBytes);
  Await([&] { return bodies[0].expired(); });
}

TEST(HttpServer, ForgetsAClientThatGoesAwayMidBody) {
  const auto server = StartServer();
  {
    LoopbackClient client(server->port(), 4096);
    client.Get("/large");
    ASSERT_TRUE(client.Receive());
  }
  Await([&] { return server->stats().open_connections == 0; });
  EXPECT_EQ(LoopbackClient(server->port()).Fetch("/").status, 200);
}

TEST(HttpServer, PutsNewConnectionsInThePlaceOfTheLongestWaiting) {
  HttpServerOptions options = Options();
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

TEST(HttpServer, LetsOnlyProbesInWhileEveryConnectionIsBusy) {
  HttpServerOptions options = Options();
  options.max_connections = 2;
  options.probe_slots = 1;
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
  EXPECT_TRUE(silent.AwaitEnd()) << "a silent client may not hold a probe's slot";
}

TEST(HttpServer, TurnsEverybodyAwayWithoutProbeSlots) {
  HttpServerOptions options = Options();
  options.max_connections = 1;
  options.probe_slots = 0;
  const auto server = StartServer(options);
  LoopbackClient slow(server->port(), 4096);
  slow.Get("/large");
  ASSERT_TRUE(slow.Receive());
  LoopbackClient probe(server->port());
  EXPECT_TRUE(probe.AwaitEnd());
  EXPECT_EQ(server->stats().turned_away, 1U);
}

// Lowers the limit of file descriptors to those in use, so that accept fails, and restores it.
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

TEST(HttpServer, AcceptsAgainWhenDescriptorsAreFreeAgain) {
  const auto server = StartServer();
  LoopbackClient waiting(server->port());
  ASSERT_EQ(waiting.Fetch("/").status, 200);
  const FileDescriptor late(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(server->port());
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
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

TEST(HttpServer, StartsAndStopsAHundredTimes) {
  for (int i = 0; i < 100; ++i) {
    const auto server = StartServer();
    LoopbackClient client(server->port());
    EXPECT_EQ(client.Fetch("/").status, 200) << i;
  }
}

TEST(HttpServer, StopsWhileResponsesAreBlocked) {
  HttpServerOptions options = Options();
  options.drain = milliseconds(20);
  auto server = StartServer(options);
  LoopbackClient slow(server->port(), 4096);
  slow.Get("/large");
  ASSERT_TRUE(slow.Receive());
  LoopbackClient idle(server->port());
  Await([&] { return server->stats().open_connections == 2; });
  server.reset();
  EXPECT_TRUE(idle.AwaitEnd());
  EXPECT_EQ(slow.Read().status, 0);
}

TEST(HttpServer, FinishesRunningResponsesBeforeItStops) {
  HttpServerOptions options = Options();
  options.drain = milliseconds(30'000);
  auto server = StartServer(options);
  const uint16_t port = server->port();
  LoopbackClient reader(port, 4096);
  reader.Get("/large");
  ASSERT_TRUE(reader.Receive());
  std::jthread stop([&] { server.reset(); });
  // The listener goes first.
  Await([&] { return !LoopbackClient(port).connected(); });
  const LoopbackResponse response = reader.Read();
  EXPECT_EQ(response.body.size(), kLargeBodyBytes);
  EXPECT_TRUE(reader.AwaitEnd());
}

TEST(HttpServer, RefusesToStartWhereItCannotListen) {
  const auto server = StartServer();
  const std::string taken = "127.0.0.1:" + std::to_string(server->port());
  for (const std::string& address : {taken, std::string("9400")}) {
    HttpServerOptions options;
    options.address = address;
    const StatusOr<std::unique_ptr<HttpServer>> second = HttpServer::Start(options, Echo);
    ASSERT_FALSE(second.ok()) << address;
    EXPECT_EQ(second.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_NE(second.status().message().find(address), std::string::npos);
  }
}

}  // namespace
}  // namespace podgpu
