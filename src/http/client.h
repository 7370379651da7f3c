// An HTTP client that queries many servers at once: GET requests, or POST of a form, over HTTP/1.1,
// plain or TLS. Each uses a connection of its own and has one deadline from connecting to the last
// byte.
//
// For the cluster role, which queries thousands of nodes. A server may send wrong data or hang:
// headers and bodies have size limits, and a slow answer costs a socket until its deadline.
// Addresses must be numeric, because resolving a name blocks. Redirects are not followed.
// Everything happens on the thread that calls Run, which also calls the callbacks; only Interrupt
// may be called from any thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/status.h"

namespace podgpu {

// Trusted authorities and the client's own certificate, in PEM.
struct HttpClientTls {
  std::string authorities;  // Empty: the authorities of the system.
  std::string certificate;  // The client's certificate, with `key`; empty: none.
  std::string key;
  bool trusts_anyone = false;
  bool operator==(const HttpClientTls&) const = default;
};

struct HttpClientOptions {
  std::chrono::milliseconds deadline{5'000};
  size_t max_body_bytes = size_t{4} << 20;
};

struct HttpQuestion {
  std::string ip;  // Numeric, without brackets.
  uint16_t port = 0;
  std::string unix_path;  // Connects to this socket in place of `ip`, without TLS; empty: none.
  std::string host;       // For the Host header.
  std::string path;
  std::string form;  // Parameters, encoded as in a URL: sends them with POST; empty: GET.
  std::string certificate_name;  // Required name in the server's certificate, with TLS.
  std::string etag;              // For If-None-Match; empty: none.
  std::string authorization;     // The header's value; empty: none.
  std::string accept = "application/json";
  std::vector<std::pair<std::string, std::string>>
      headers{};  // Additional headers: name and value.
};

struct HttpAnswer {
  int status = 0;
  std::string etag;
  std::string content_encoding;
  std::chrono::seconds age{0};                         // The Age header.
  std::optional<std::chrono::milliseconds> exact_age;  // The header X-Podgpu-Age-Ms.
  std::string body;
};

// kUnavailable: no connection. kDeadlineExceeded. kUnauthenticated: TLS failed. kResourceExhausted:
// too large. kDataLoss: not HTTP, or incomplete.
using HttpCallback = std::function<void(StatusOr<HttpAnswer>)>;

class HttpClient {
 public:
  explicit HttpClient(HttpClientOptions options);
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;
  // Drops running requests; their callbacks are not called.
  ~HttpClient();

  // Sets TLS for the following requests; null: plain HTTP. On kInvalidArgument, with one sentence,
  // nothing has changed.
  Status UseTls(const HttpClientTls* tls);

  // Starts a request; Run calls `done` once.
  void Ask(HttpQuestion question, HttpCallback done);
  // Number of unanswered requests.
  size_t running() const;

  // Sends and receives until there is progress, `deadline` has passed, or Interrupt is called.
  void Run(Instant deadline);
  void Interrupt();

 private:
  class Engine;  // Hides Asio and OpenSSL from this header.
  const std::unique_ptr<Engine> engine_;
};

}  // namespace podgpu
