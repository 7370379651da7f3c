// Listens on thousands of addresses at once and serves all of them from one thread.
//
// Each node has an address of its own, so whom a question is for is known before a byte of it was
// read.  Listen takes the addresses, also those where nobody is to listen, so that a connection
// there is refused and no other program gets in between.  Run serves until SIGINT or SIGTERM and
// calls `report` for each question.  One thread.
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
  // The JSON of a node, now.
  using Report = std::function<std::string(size_t node)>;

  // Port 0: a free one, the same for all.  kInvalidArgument for a port that is taken, or more nodes
  // than this process may open sockets, with the remedy.
  static StatusOr<std::unique_ptr<FleetServer>> Listen(const std::vector<NodeManner>& manners,
                                                       uint16_t port, Report report);

  FleetServer(const FleetServer&) = delete;
  FleetServer& operator=(const FleetServer&) = delete;
  ~FleetServer();

  uint16_t port() const;
  void Run();

 private:
  class Engine;  // What knows Asio.
  explicit FleetServer(std::unique_ptr<Engine> engine);

  const std::unique_ptr<Engine> engine_;
};

}  // namespace podgpu::sim
