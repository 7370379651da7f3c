// Asks many servers at once: GET requests over HTTP/1.1, plain or TLS, each on a connection of its
// own, each within one deadline from connecting to the last byte.
//
// For the cluster role, which asks thousands of nodes.  Whom it asks may lie or hang: heads and
// bodies are bounded, and a slow answer costs a socket until its deadline.  Nothing is resolved
// here: addresses are numbers, since looking up names blocks.  No redirect is followed.  All of it
// happens on the thread that calls Run, which also calls the callbacks; Interrupt alone may be
// called from any thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/status.h"

namespace podgpu {

// Whom to trust and who we are, in PEM.
struct HttpClientTls {
  std::string authorities;  // Empty: those of the system.
  std::string certificate;  // Our own, with `key`; empty: none.
  std::string key;
  bool trusts_anyone = false;
  bool operator==(const HttpClientTls&) const = default;
};

struct HttpClientOptions {
  std::chrono::milliseconds deadline{5'000};
  size_t max_body_bytes = size_t{4} << 20;
};

struct HttpQuestion {
  std::string ip;  // In numbers, without brackets.
  uint16_t port = 0;
  std::string host;  // For the Host header.
  std::string path;
  std::string certificate_name;  // Whom the server's certificate must name; without TLS unused.
  std::string etag;              // For If-None-Match; empty: none.
  std::string authorization;     // The header's value; empty: none.
  std::vector<std::pair<std::string, std::string>> headers{};  // Further ones: name and value.
};

struct HttpAnswer {
  int status = 0;
  std::string etag;
  std::string content_encoding;
  std::chrono::seconds age{0};  // The Age header.
  std::string body;
};

// kUnavailable: no connection; kDeadlineExceeded; kUnauthenticated: TLS; kResourceExhausted: too
// large; kDataLoss: no HTTP, or cut off.
using HttpCallback = std::function<void(StatusOr<HttpAnswer>)>;

class HttpClient {
 public:
  explicit HttpClient(HttpClientOptions options);
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;
  // Drops what is running; its callbacks are not called.
  ~HttpClient();

  // What follows is asked with TLS as `tls` says, or plainly when it is null.  kInvalidArgument
  // with a sentence when that cannot be used; then nothing has changed.
  Status UseTls(const HttpClientTls* tls);

  // Begins to ask; `done` is called once, from Run.
  void Ask(HttpQuestion question, HttpCallback done);
  // Questions that have not been answered.
  size_t running() const;

  // Sends and receives until something has happened, `deadline` has come, or Interrupt is called.
  void Run(Instant deadline);
  void Interrupt();

 private:
  class Engine;  // What knows Asio and OpenSSL.
  const std::unique_ptr<Engine> engine_;
};

}  // namespace podgpu
