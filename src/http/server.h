// A small HTTP/1.1 server: bytes in, bytes out; knows nothing of GPUs.
//
// One Asio thread serves all connections; the handler is called on it for each complete request and
// must return at once (it hands out bytes that exist already).  A response body is borrowed from
// the object that `keep_alive` holds, so nothing is copied and a slow reader keeps only its own
// snapshot.  Connections, those of each peer, header size, the time for a whole request and what
// the kernel holds for a connection are bounded.  Above the bound a new connection takes the place
// of another: of the peer that has most connections, the one in which nothing has happened for
// longest, whether it waits for a request or its answer makes no progress.  While none may be
// displaced, only probes are let in, through a few slots of their own.  The server stops when it is
// destroyed: it closes the listener, lets running responses finish for at most `drain`, and joins
// its thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/files.h"
#include "base/status.h"
#include "http/counters.h"

namespace podgpu {

// One request; views are valid during the handler only.
struct HttpRequest {
  std::string_view method;
  std::string_view path;              // Without query, percent-decoding not applied.
  std::string_view query;             // Without "?"; empty when there is none.
  std::string_view accept;            // All Accept headers, joined by commas.
  std::string_view accept_encoding;   // Likewise.
  std::string_view if_none_match;     // Likewise.
  std::string_view authorization;     // The first Authorization header.
  std::string_view host;              // The Host header; empty only from clients of HTTP/1.0.
  std::string_view origin;            // All Origin headers, joined by commas.
  std::string_view fetch_site;        // Sec-Fetch-Site, which browsers send.
  std::string_view scrape_timeout_s;  // X-Prometheus-Scrape-Timeout-Seconds.
  bool must_answer = false;           // A response that asks to wait is not heeded.
};

struct HttpResponse {
  int status = 200;
  std::string content_type = "text/plain; charset=utf-8";
  std::vector<std::pair<std::string, std::string>> headers;  // Besides type, length, date.
  std::shared_ptr<const void> keep_alive;                    // Owns what `body` points to.
  std::string_view body;
  // There may be more to say in a moment: the handler is called again then, and at the latest
  // shortly before the response is due, with must_answer.  No other client waits.
  bool ask_again = false;
};

// A response that owns `body`.
HttpResponse TextResponse(int status, std::string body,
                          std::string content_type = "text/plain; charset=utf-8");

using HttpHandler = std::function<HttpResponse(const HttpRequest&)>;

// See request_guard.h.
struct RequestGuardOptions {
  std::vector<std::string> control_paths;  // Which change something; empty: none does.
  std::vector<std::string> own_names;      // Of this machine.
  std::vector<std::string> allowed_hosts;  // Others; "*" is any.  Empty: only control wants a host.
};

struct HttpServerOptions {
  // "host:port", ":port", "[v6]:port" or "unix:/path"; port 0 lets the system choose.
  std::string address = ":9400";
  int inherited_socket = -1;  // Serve this one, which listens already, instead of `address`.
  // Of the web configuration, certificates and socket files.
  std::shared_ptr<const Files> files = std::make_shared<const SystemFiles>();
  std::string web_config_file;  // Empty: plain HTTP for everybody.  See web_config.h.
  size_t max_connections = 512;
  size_t max_connections_per_peer = 128;  // Of one address; further ones take the place of its own.
  size_t max_header_bytes = 16384;
  size_t max_body_bytes = 65536;  // Of a request; bodies are read past and never kept.
  // Connections above `max_connections`, closed with 503 unless they ask for one of `probe_paths`.
  size_t probe_slots = 8;
  std::vector<std::string> probe_paths = {"/health", "/healthz", "/readyz"};
  std::chrono::milliseconds request_timeout{10'000};   // For a whole request to arrive.
  std::chrono::milliseconds response_timeout{10'000};  // For a whole response to leave.
  // An answer that has made no progress for so long may be cut off in favour of a new connection.
  std::chrono::milliseconds stalled_after{0};
  RequestGuardOptions guard;
  std::chrono::milliseconds drain{1'000};
  // When no descriptor is left, the next try to accept is this much later.
  std::chrono::milliseconds accept_pause{50};
  HttpCounters* counters = nullptr;  // Where the server counts; outlives it.  Null: in its own.
};

class HttpServer {
 public:
  // Binds and starts serving.  A taken or bad address, or a bad web configuration, is
  // kInvalidArgument with a message that names it and the remedy.
  static StatusOr<std::unique_ptr<HttpServer>> Start(HttpServerOptions options,
                                                     HttpHandler handler);

  HttpServer() = default;
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;
  virtual ~HttpServer() = default;

  // The port that is bound; 0 on a socket in the file system.
  virtual uint16_t port() const = 0;

  // Any thread.
  virtual HttpServerStats stats() const = 0;
};

}  // namespace podgpu
