#include "http/server.h"

#include <thread>

#include <gtest/gtest.h>

#include "http/testing/loopback_client.h"
#include "http/testing/test_server.h"

namespace podgpu {
namespace {

using std::chrono::milliseconds;

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

TEST(HttpServer, CallsAHandlerAgainThatExpectsNewerData) {
  int asked = 0;
  const auto server = StartServer(LoopbackOptions(), [&](const HttpRequest& request) {
    HttpResponse response = Echo(request);
    response.ask_again = request.path == "/later" && ++asked < 3;
    return response;
  });
  LoopbackClient waiting(server->port());
  ASSERT_TRUE(waiting.Send("GET /later HTTP/1.1\r\nHost: x\r\n\r\n"));
  LoopbackClient other(server->port());
  EXPECT_EQ(other.Fetch("/now").body, "GET /now  ") << "other clients do not wait";
  EXPECT_EQ(waiting.Read().body, "GET /later  ");
  EXPECT_EQ(asked, 3);
  EXPECT_EQ(waiting.Fetch("/next").body, "GET /next  ");
  EXPECT_EQ(server->stats().requests, 3U) << "each request counts once";
}

TEST(HttpServer, AnswersInTimeEvenIfTheHandlerKeepsWaiting) {
  const auto server = StartServer(LoopbackOptions(), [](const HttpRequest& request) {
    HttpResponse response = TextResponse(200, request.must_answer ? "at last" : "too early");
    response.ask_again = true;
    return response;
  });
  LoopbackClient client(server->port());
  ASSERT_TRUE(
      client.Send("GET / HTTP/1.1\r\nHost: x\r\nX-Prometheus-Scrape-Timeout-Seconds: 2\r\n\r\n"));
  EXPECT_EQ(client.Read().body, "at last");
}

TEST(HttpServer, StopsWhileAHandlerKeepsWaiting) {
  auto server = StartServer(LoopbackOptions(), [](const HttpRequest&) {
    HttpResponse response;
    response.ask_again = true;
    return response;
  });
  LoopbackClient client(server->port());
  ASSERT_TRUE(client.Send("GET / HTTP/1.1\r\nHost: x\r\n\r\n"));
  Await([&] { return server->stats().requests == 1; });
  server.reset();
  EXPECT_EQ(client.Read().status, 0);
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

TEST(HttpServer, ClosesWhenTheClientRequestsIt) {
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

TEST(HttpServer, RefusesMalformedRequests) {
  struct Row {
    std::string request;
    int status;
  };
  HttpServerOptions options = LoopbackOptions();
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

// Bytes after a request without a known end are not a request.
TEST(HttpServer, RefusesAnUnknownTransferCodingAndTheBytesAfterIt) {
  const auto server = StartServer();
  for (const std::string_view coding : {"xchunked", "gzip\r\nContent-Length: 5"}) {
    LoopbackClient client(server->port());
    ASSERT_TRUE(
        client.Send("POST /first HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: " + std::string(coding) +
                    "\r\n\r\nGET /smuggled HTTP/1.1\r\nHost: x\r\n\r\n"));
    const LoopbackResponse response = client.Read();
    EXPECT_EQ(response.status, 501) << coding;
    EXPECT_NE(response.head.find("\r\nConnection: close\r\n"), std::string::npos) << response.head;
    client.ShutDownSending();
    EXPECT_EQ(client.Read().status, 0) << coding;
  }
  EXPECT_EQ(server->stats().requests, 0U);
  EXPECT_EQ(server->stats().bad_requests, 2U);
}

TEST(HttpServer, RefusesAnUnknownMethod) {
  const auto server = StartServer();
  LoopbackClient client(server->port());
  ASSERT_TRUE(client.Send("BREW /metrics HTTP/1.1\r\nHost: x\r\n\r\n"));
  const LoopbackResponse response = client.Read();
  EXPECT_EQ(response.status, 405);
  EXPECT_EQ(response.body, "Method Not Allowed\n");
  EXPECT_NE(response.head.find("\r\nAllow: GET, HEAD, POST, "), std::string::npos) << response.head;
  for (const std::string_view method : {"PUT", "DELETE", "PATCH", "OPTIONS", "PROPFIND"}) {
    LoopbackClient other(server->port());
    ASSERT_TRUE(other.Send(std::string(method) + " /metrics HTTP/1.1\r\nHost: x\r\n\r\n"));
    EXPECT_EQ(other.Read().body, std::string(method) + " /metrics  ");
  }
}

TEST(HttpServer, AnswersAClientThatHasClosedItsHalf) {
  const auto server = StartServer();
  LoopbackClient client(server->port());
  client.Get("/half");
  client.ShutDownSending();
  EXPECT_EQ(client.Read().body, "GET /half  ");
  EXPECT_TRUE(client.AwaitEnd());
}

TEST(HttpServer, ClosesAfterAnIncompleteRequest) {
  const auto server = StartServer();
  LoopbackClient client(server->port());
  ASSERT_TRUE(client.Send("GET / HTT"));
  client.ShutDownSending();
  EXPECT_TRUE(client.AwaitEnd());
  EXPECT_EQ(server->stats().requests, 0U);
}

TEST(HttpServer, UsesItsPortAgainRightAfterARestart) {
  HttpServerOptions options = LoopbackOptions();
  auto server = StartServer(options);
  options.address = "127.0.0.1:" + std::to_string(server->port());
  LoopbackClient client(server->port());
  ASSERT_EQ(client.Fetch("/").status, 200);
  // The server closes first, so its end of the connection stays in the kernel for a minute.
  server.reset();
  EXPECT_TRUE(client.AwaitEnd());
  server = StartServer(options);
  EXPECT_EQ(LoopbackClient(server->port()).Fetch("/").status, 200);
}

TEST(HttpServer, CountsInGivenCountersThatOutliveIt) {
  HttpCounters counters;
  HttpServerOptions options = LoopbackOptions();
  options.counters = &counters;
  auto server = StartServer(options);
  EXPECT_EQ(LoopbackClient(server->port()).Fetch("/").status, 200);
  EXPECT_EQ(server->stats().requests, 1U);
  server.reset();
  EXPECT_EQ(counters.Read(), (HttpServerStats{.open_connections = 0, .requests = 1}));
  server = StartServer(options);
  EXPECT_EQ(LoopbackClient(server->port()).Fetch("/").status, 200);
  EXPECT_EQ(counters.Read().requests, 2U);
}

TEST(HttpServer, StartsAndStopsAHundredTimes) {
  for (int i = 0; i < 100; ++i) {
    const auto server = StartServer();
    LoopbackClient client(server->port());
    EXPECT_EQ(client.Fetch("/").status, 200) << i;
  }
}

TEST(HttpServer, StopsWhileResponsesAreBlocked) {
  HttpServerOptions options = LoopbackOptions();
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
  HttpServerOptions options = LoopbackOptions();
  options.drain = milliseconds(30'000);
  auto server = StartServer(options);
  const uint16_t port = server->port();
  LoopbackClient reader(port, 4096);
  reader.Get("/large");
  ASSERT_TRUE(reader.Receive());
  std::jthread stop([&] { server.reset(); });
  // The listener is closed first.
  Await([&] { return !LoopbackClient(port).connected(); });
  const LoopbackResponse response = reader.Read();
  EXPECT_EQ(response.body.size(), kLargeBodyBytes);
  EXPECT_TRUE(reader.AwaitEnd());
}

TEST(HttpServer, RefusesToStartWhenItCannotListen) {
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
