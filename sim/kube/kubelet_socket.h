// Sockets at the kubelet's path without a kubelet: one refuses, one answers bytes of no protocol.
//
// They appear by a rename over the old file, as the kubelet's own socket does.
#pragma once

#include <memory>
#include <string>

#include "base/status.h"

namespace podgpu::sim {

// Puts a socket file without a listener at `path`: connecting is refused.
Status PlaceDeadSocket(const std::string& path);

// Listens and answers everything with bytes that are not HTTP/2.  Has its own thread, which ends
// with the object.
class NonsenseServer {
 public:
  static StatusOr<std::unique_ptr<NonsenseServer>> Start(const std::string& path);

  NonsenseServer() = default;
  NonsenseServer(const NonsenseServer&) = delete;
  NonsenseServer& operator=(const NonsenseServer&) = delete;
  virtual ~NonsenseServer() = default;
};

}  // namespace podgpu::sim
