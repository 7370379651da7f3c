// Guards against requests that another web site makes a browser send: a cross-site POST, and DNS
// rebinding, where the owner of a name points it at this address and the browser takes both for one
// site.
//
// On the paths that change something, a changing request must not come from another site, and its
// Host must belong to this machine alone: an address, localhost, a name of this machine, or an
// allowed name. If allowed names are configured, every path requires such a Host. Clients other
// than browsers send no Origin and use such a Host. Immutable; any thread.
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

  // Returns one line for client and log: the reason of the refusal, and the remedy.
  static std::string Explain(GuardVerdict verdict, const HttpRequest& request);

 private:
  bool IsOurs(std::string_view host) const;

  const RequestGuardOptions options_;
};

}  // namespace podgpu
