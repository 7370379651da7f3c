// Sockets at the kubelet's place that no kubelet serves: one that refuses, one that talks nonsense.
//
// They appear as the kubelet's own does, by a rename over what was there.
#pragma once

#include <memory>
#include <string>

#include "base/status.h"

namespace podgpu::sim {

// Puts a socket file at `path` that nobody listens behind: connecting is refused.
Status PlaceDeadSocket(const std::string& path);

// Listens and answers whatever comes with bytes that are no HTTP/2.  A thread of its own, ended
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
