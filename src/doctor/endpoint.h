// Asks the exporter that serves the configured address, as any client may.
//
// An address of all interfaces is asked on the loopback interface.  A server with TLS is asked
// again over TLS; its certificate is not checked, because only this machine answers there.  A
// password is sent only if one is given.  The caller blocks for at most the given time.
#pragma once

#include <chrono>
#include <string>

#include "base/clock.h"
#include "base/status.h"
#include "http/client.h"
#include "http/listen.h"

namespace podgpu {

class Endpoint {
 public:
  // `authorization`: the value of that header; empty: none.
  Endpoint(ListenAddress address, std::string authorization, Clock& clock,
           std::chrono::milliseconds patience);

  // Returns the answer to GET `path`.  kUnavailable: the port is free, or no socket is there.
  // Other errors: something answers that does not speak HTTP.
  StatusOr<HttpAnswer> Get(const std::string& path);
  // Returns whether the last answer came over TLS.
  bool uses_tls() const { return uses_tls_; }

 private:
  StatusOr<HttpAnswer> Ask(const std::string& path) const;

  const ListenAddress address_;
  const std::string authorization_;
  Clock& clock_;
  const std::chrono::milliseconds patience_;
  bool uses_tls_ = false;
};

// Returns the value of the first line of `page` that begins with `key`, or nothing.
std::string ValueOf(std::string_view page, std::string_view key);

}  // namespace podgpu
