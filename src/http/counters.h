// What an HTTP server has done since the start: one number per way in which a client can fare.
//
// The server's thread counts, any thread reads.  Whoever made the counters owns them and outlives
// the server, so that they can be told before it starts and after it has ended.
#pragma once

#include <atomic>
#include <cstdint>

namespace podgpu {

// Each only grows but `open_connections`.
struct HttpServerStats {
  uint64_t open_connections = 0;
  uint64_t requests = 0;       // Handed to the handler.
  uint64_t bad_requests = 0;   // Answered with 4xx before the handler saw them.
  uint64_t deadlines = 0;      // Connections closed because a request or a response took too long.
  uint64_t displaced = 0;      // Waiting or stalled connections closed in favour of new ones.
  uint64_t turned_away = 0;    // New connections closed or answered with 503: no slot was free.
  uint64_t accept_errors = 0;  // Most often no file descriptor is left.
  uint64_t unauthorized = 0;   // Answered with 401: no password, or a wrong one.
  uint64_t rate_limited = 0;   // Answered with 429, as the web configuration asks.
  uint64_t cross_site = 0;     // Answered with 403: a page of another site would have changed us.
  uint64_t foreign_host = 0;   // Answered with 403: asked with a host name that is not allowed.
  uint64_t failed_handshakes = 0;  // Of TLS: no common version, no certificate, or a bad one.
  // The web configuration was changed and cannot be used, so that an older one is in force.
  bool web_config_is_old = false;
  int64_t certificate_expires_s = 0;  // Of the one that is shown, since 1970; 0: there is none.

  // Clients that may have been good ones, and were refused for want of room.
  uint64_t crowded_out() const { return displaced + turned_away + accept_errors; }
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
