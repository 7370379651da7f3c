// The URL that `podgpu top` is given, and the requests that follow from it.
//
// http://HOST[:PORT], https://HOST[:PORT] and unix:/PATH; without a scheme http is meant.  Pure
// functions; any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"

namespace podgpu {

struct TopAddress {
  std::string url;   // The address as it is shown.
  std::string host;  // A name or a numeric address, without brackets; empty for a socket.
  uint16_t port = 0;
  std::string unix_path;
  std::string base;  // Path before /api/v1, without a slash at its end: behind a proxy.
  bool tls = false;
};

// kInvalidArgument with a sentence about the allowed forms.
StatusOr<TopAddress> ParseTopAddress(std::string_view url, uint16_t default_port);

}  // namespace podgpu
