// Listens on thousands of addresses at once and serves all of them from one thread.
//
// Each node has its own address, so the server knows the node of a request before it reads a byte.
// Listen binds every address, also those of refusing nodes, so a connection there is refused and no
// other program can bind it.  Run serves until SIGINT or SIGTERM and calls `report` for each
// request. One thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "sim/fleet/plan.h"

namespace podgpu::sim {

class FleetServer {
 public:
  // Returns the JSON of a node, now.
  using Report = std::function<std::string(size_t node)>;

  // Port 0: a free one, the same for all nodes.  kInvalidArgument, with the remedy, for a port in
  // use or more nodes than this process may open sockets.
  static StatusOr<std::unique_ptr<FleetServer>> Listen(
      const std::vector<FleetBehaviour>& behaviours, uint16_t port, Report report);

  FleetServer(const FleetServer&) = delete;
  FleetServer& operator=(const FleetServer&) = delete;
  ~FleetServer();

  uint16_t port() const;
  void Run();

 private:
  class Engine;  // Hides Asio from this header.
  explicit FleetServer(std::unique_ptr<Engine> engine);

  const std::unique_ptr<Engine> engine_;
};

}  // namespace podgpu::sim
