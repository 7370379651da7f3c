// Shared by the server's tests: a server on a port that the system chooses, a handler that echoes
// the request, and a way to wait for another thread.
//
// For tests only; one thread.
#pragma once

#include <memory>
#include <string>
#include <thread>
#include <utility>

#include <gtest/gtest.h>

#include "http/server.h"

namespace podgpu {

// Far more than loopback sockets buffer, so that writing it blocks on a client that does not read.
inline constexpr size_t kLargeBodyBytes = size_t{32} << 20;

inline HttpServerOptions LoopbackOptions() {
  HttpServerOptions options;
  options.address = "127.0.0.1:0";
  return options;
}

// Echoes the request; for /large returns a body that no socket buffer can hold.
inline HttpResponse Echo(const HttpRequest& request) {
  if (request.path == "/large") {
    return TextResponse(200, std::string(kLargeBodyBytes, 'x'));
  }
  HttpResponse response =
      TextResponse(200, std::string(request.method) + " " + std::string(request.path) + " " +
                            std::string(request.query) + " " + std::string(request.accept));
  response.headers.emplace_back("X-Content-Type-Options", "nosniff");
  return response;
}

inline std::unique_ptr<HttpServer> StartServer(HttpServerOptions options = LoopbackOptions(),
                                               HttpHandler handler = Echo) {
  StatusOr<std::unique_ptr<HttpServer>> server =
      HttpServer::Start(std::move(options), std::move(handler));
  EXPECT_TRUE(server.ok()) << server.status();
  return *std::move(server);
}

// Yields to other threads until `condition` holds.
template <typename Condition>
void Await(Condition condition) {
  while (!condition()) {
    std::this_thread::yield();
  }
}

}  // namespace podgpu
