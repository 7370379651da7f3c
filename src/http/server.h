// A small HTTP/1.1 server: bytes in, bytes out; knows nothing of GPUs.
//
// One Asio thread serves all connections. It calls the handler for each complete request; the
// handler must return at once, with bytes that already exist. A response body is borrowed from the
// object in `keep_alive`, so nothing is copied and a slow reader keeps only its own snapshot. There
// are limits for connections, connections per client address, header size, the time for a whole
// request, and kernel memory per connection. When the server is full, it closes a connection for a
// new one: one that waits for a request, or whose answer makes no progress. It chooses the address
// with most connections, and there the connection that was inactive for the longest time. If there
// is none, it accepts only probes, in a few reserved slots. It gives the memory of a crowd of
// connections back to the system after the crowd. The destructor stops the server: it closes the
// listener, lets running responses finish for at most `drain`, and joins the thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/files.h"
#include "base/free_memory.h"
#include "base/status.h"
#include "http/counters.h"

namespace podgpu {

class TlsContext;

using HttpHeader = std::pair<std::string_view, std::string_view>;  // Name and value.

// One request; the views are valid only while the handler runs.
struct HttpRequest {
  std::string_view method;
  std::string_view path;              // Without query; not percent-decoded.
  std::string_view query;             // Without "?"; empty when there is none.
  std::string_view accept;            // All Accept headers, joined by commas.
  std::string_view accept_encoding;   // Joined in the same way.
  std::string_view if_none_match;     // Joined in the same way.
  std::string_view authorization;     // The first Authorization header.
  std::string_view host;              // The Host header; empty only for HTTP/1.0.
  std::string_view origin;            // All Origin headers, joined by commas.
  std::string_view fetch_site;        // Sec-Fetch-Site, which browsers send.
  std::string_view scrape_timeout_s;  // X-Prometheus-Scrape-Timeout-Seconds.
  bool must_answer = false;           // ask_again in the response is ignored.
  // Only with HttpServerOptions::passes_headers: all headers, in their order.
  std::span<const HttpHeader> headers{};
  // Only with HttpServerOptions::tls: the certificates of the client in DER, its own first. TLS has
  // proved that the client has the key of the first; the handler must verify the chain.
  std::span<const std::string> certificates{};
};

struct HttpResponse {
  int status = 200;
  std::string content_type = "text/plain; charset=utf-8";
  std::vector<std::pair<std::string, std::string>> headers;  // Besides type, length, date.
  std::shared_ptr<const void> keep_alive;                    // Owns the bytes of `body`.
  std::string_view body;
  // The handler expects newer data soon: it is called again after a short delay, and for the last
  // time, with must_answer, shortly before the response is due. Other clients do not wait.
  bool ask_again = false;
};

// A response that owns `body`.
HttpResponse TextResponse(int status, std::string body,
                          std::string content_type = "text/plain; charset=utf-8");

using HttpHandler = std::function<HttpResponse(const HttpRequest&)>;

// See request_guard.h.
struct RequestGuardOptions {
  std::vector<std::string> control_paths;  // Paths that change something; empty: none.
  std::vector<std::string> own_names;      // Names of this machine.
  std::vector<std::string> allowed_hosts;  // "*": any. Empty: only control paths check Host.
};

struct HttpServerOptions {
  // "host:port", ":port", "[v6]:port" or "unix:/path"; port 0 lets the system choose.
  std::string address = ":9400";
  int inherited_socket = -1;  // A listening socket to serve instead of `address`.
  // For the web configuration, certificates and /proc.
  std::shared_ptr<const Files> files = std::make_shared<const SystemFiles>();
  std::string web_config_file;  // Empty: plain HTTP without passwords. See web_config.h.
  // Returns the TLS context for a new connection, never null; called on the server's thread. Used
  // in place of the TLS of `web_config_file`.
  std::function<std::shared_ptr<const TlsContext>()> tls;
  bool passes_headers = false;  // Fills HttpRequest::headers.
  size_t max_connections = 512;
  size_t max_connections_per_peer = 128;  // Above it a new one replaces one of its own.
  size_t max_header_bytes = 16384;
  size_t max_body_bytes = 65536;  // Limit of a request's body; bodies are skipped, never stored.
  // Connections above `max_connections`; they get 503 for every path except `probe_paths`.
  size_t probe_slots = 8;
  std::vector<std::string> probe_paths = {"/health", "/healthz", "/readyz"};
  std::chrono::milliseconds request_timeout{10'000};   // Limit for a whole request to arrive.
  std::chrono::milliseconds response_timeout{30'000};  // Limit for a whole response to leave.
  // Limit for the time without a request. It is longer than two of the usual scrape intervals of a
  // minute, so that a client with TLS makes one handshake and not one for each scrape.
  std::chrono::milliseconds idle_timeout{150'000};
  // An answer without progress for this long may be cut off to accept a new connection.
  std::chrono::milliseconds stalled_after{0};
  RequestGuardOptions guard;
  std::chrono::milliseconds drain{1'000};
  // Wait before the next accept when no descriptor is left.
  std::chrono::milliseconds accept_pause{50};
  HttpCounters* counters = nullptr;  // Outlives the server. Null: the server's own counters.
  // Called on the server's thread so long after most connections of a crowd have gone.
  std::function<void()> return_memory = ReturnFreeMemory;
  std::chrono::milliseconds return_memory_after{1'000};
};

class HttpServer {
 public:
  // Binds and starts serving. An invalid address, an address in use, or an invalid web
  // configuration is kInvalidArgument with a message that names it and the remedy.
  static StatusOr<std::unique_ptr<HttpServer>> Start(HttpServerOptions options,
                                                     HttpHandler handler);

  HttpServer() = default;
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;
  virtual ~HttpServer() = default;

  // The bound port; 0 for a Unix socket.
  virtual uint16_t port() const = 0;

  // Returns the counts. Any thread.
  virtual HttpServerStats stats() const = 0;
};

}  // namespace podgpu
