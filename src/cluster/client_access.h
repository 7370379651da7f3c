// Keeps the credentials of an HttpClient up to date with a file: CA certificates, client
// certificate, token or password.
//
// A replaced token or certificate takes effect without a restart.  If the new one cannot be used,
// the previous one stays, and the log says why, once.  Used on the thread that runs the client.
#pragma once

#include <optional>
#include <string>

#include "base/clock.h"
#include "cluster/node_web_config.h"
#include "http/client.h"

namespace podgpu {

class ClientAccess {
 public:
  // `path`: a file in the format of node_web_config.h; empty: none. `always_tls`: use TLS even if
  // the file does not mention it.  All borrowed objects must outlive it.
  ClientAccess(std::string path, bool always_tls, const Files& files, Clock& clock)
      : path_(std::move(path)), always_tls_(always_tls), files_(files), clock_(clock) {}

  // Reads the file again every 10 s and applies it to `client`.  Call it before the first request.
  void Refresh(HttpClient& client);

  const NodeWebAccess& access() const { return access_; }

 private:
  Status Use(HttpClient& client);

  const std::string path_;
  const bool always_tls_;
  const Files& files_;
  Clock& clock_;
  NodeWebAccess access_;
  std::optional<Instant> checked_at_;
  std::string complaint_;    // The last logged error.
  bool has_warned_ = false;  // A warning was logged that a secret is sent in clear text.
};

}  // namespace podgpu
