// What a browser may be made to send: a page of another site can have it POST to us, and a name
// that its owner turned to our address (DNS rebinding) makes that site look like ours.
//
// On the paths that change something, a request that may change it must not come from another site,
// and the Host must be one that only this machine has: an address, localhost, a name of our own, or
// one that is allowed.  Where hosts are allowed by name, every path wants one of all these. Clients
// other than browsers send no Origin and name us by a host of that kind.  Immutable; any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "http/server.h"

namespace podgpu {

enum class GuardVerdict : uint8_t { kPass, kCrossSite, kForeignHost };

class RequestGuard {
 public:
  explicit RequestGuard(RequestGuardOptions options) : options_(std::move(options)) {}

  GuardVerdict Judge(const HttpRequest& request) const;

  // One line for the client and the log: what is refused, and what helps.
  static std::string Explain(GuardVerdict verdict, const HttpRequest& request);

 private:
  bool IsOurs(std::string_view host) const;

  const RequestGuardOptions options_;
};

}  // namespace podgpu
