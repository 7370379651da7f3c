// Keeps what an HttpClient asks with in line with a file: authorities, certificate, token or
// password.
//
// Whoever asks many servers for long needs a token or certificate that was replaced to be in force
// without a start; what cannot be used leaves the one from before, and the log says why, once.  The
// thread that runs the client.
#pragma once

#include <optional>
#include <string>

#include "base/clock.h"
#include "cluster/node_web_config.h"
#include "http/client.h"

namespace podgpu {

class ClientAccess {
 public:
  // `path` of a file as node_web_config.h reads it; empty: none.  `always_tls`: TLS also where the
  // file says nothing of it.  All borrowed things outlive it.
  ClientAccess(std::string path, bool always_tls, const Files& files, Clock& clock)
      : path_(std::move(path)), always_tls_(always_tls), files_(files), clock_(clock) {}

  // Looks at the file when it is time, each 10 s, and has `client` ask so.  To be called before
  // the first question.
  void Refresh(HttpClient& client);

  const NodeWebAccess& access() const { return access_; }

 private:
  Status Use(HttpClient& client);

  const std::string path_;
  const bool always_tls_;
  const Files& files_;
  Clock& clock_;
  NodeWebAccess access_;
  std::optional<Instant> looked_at_;
  std::string complaint_;    // What was said of it last.
  bool has_warned_ = false;  // That a secret is sent in clear.
};

}  // namespace podgpu
