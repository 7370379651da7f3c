// Counters of an HTTP server since its start: one per kind of outcome for clients.
//
// The server's thread counts, any thread reads. The object that creates the counters owns them and
// outlives the server, so they can be read before the server starts and after it has ended.
#pragma once

#include <atomic>
#include <cstdint>

namespace podgpu {

// All except `open_connections` only grow.
struct HttpServerStats {
  uint64_t open_connections = 0;
  uint64_t requests = 0;       // Passed to the handler.
  uint64_t bad_requests = 0;   // Answered with 4xx before the handler was called.
  uint64_t deadlines = 0;      // Connections closed because a request or a response took too long.
  uint64_t displaced = 0;      // Waiting or stalled connections closed in favour of new ones.
  uint64_t turned_away = 0;    // New connections closed or answered with 503: no free slot.
  uint64_t accept_errors = 0;  // Usually because no file descriptor is left.
  uint64_t unauthorized = 0;   // Answered with 401: no password, or a wrong one.
  uint64_t rate_limited = 0;   // Answered with 429 because of the configured rate limit.
  uint64_t cross_site = 0;     // Answered with 403: a changing request from another site.
  uint64_t foreign_host = 0;   // Answered with 403: the Host is not a name of this machine.
  uint64_t failed_handshakes = 0;  // TLS: no common version, no or an invalid certificate.
  // The changed web configuration is invalid, so the previous one is used.
  bool web_config_is_old = false;
  int64_t certificate_expires_s = 0;  // End of the server's certificate, since 1970; 0: none.

  // Clients, perhaps well-behaved ones, that were refused because of too many connections.
  uint64_t refused_clients() const { return displaced + turned_away + accept_errors; }
  bool operator==(const HttpServerStats&) const = default;
};

struct HttpCounters {
  std::atomic<uint64_t> open_connections = 0;
  std::atomic<uint64_t> requests = 0;
  std::atomic<uint64_t> bad_requests = 0;
  std::atomic<uint64_t> deadlines = 0;
  std::atomic<uint64_t> displaced = 0;
  std::atomic<uint64_t> turned_away = 0;
  std::atomic<uint64_t> accept_errors = 0;
  std::atomic<uint64_t> unauthorized = 0;
  std::atomic<uint64_t> rate_limited = 0;
  std::atomic<uint64_t> cross_site = 0;
  std::atomic<uint64_t> foreign_host = 0;
  std::atomic<uint64_t> failed_handshakes = 0;
  std::atomic<bool> web_config_is_old = false;
  std::atomic<int64_t> certificate_expires_s = 0;

  HttpServerStats Read() const {
    return {.open_connections = open_connections,
            .requests = requests,
            .bad_requests = bad_requests,
            .deadlines = deadlines,
            .displaced = displaced,
            .turned_away = turned_away,
            .accept_errors = accept_errors,
            .unauthorized = unauthorized,
            .rate_limited = rate_limited,
            .cross_site = cross_site,
            .foreign_host = foreign_host,
            .failed_handshakes = failed_handshakes,
            .web_config_is_old = web_config_is_old,
            .certificate_expires_s = certificate_expires_s};
  }
};

}  // namespace podgpu
