// `podgpu-sim fleet`: thousands of nodes that answer the cluster role, from one process.
//
// For trying and measuring `podgpu cluster` at large sizes.  A node serves only GET /api/v1/node:
// no vendor library, no kubelet, no page.  On request an API server has the nodes with their
// labels.  Blocks until SIGINT or SIGTERM.
#pragma once

#include <cstdint>
#include <string>

#include "base/status.h"
#include "sim/fleet/plan.h"
#include "sim/program/scenario_files.h"

namespace podgpu::sim {

inline constexpr uint16_t kFleetPort = 9400;

struct FleetOptions {
  ScenarioFile scenario;
  size_t nodes = 100;
  uint16_t port = kFleetPort;  // 0: a free one.
  FleetShares shares;
  std::string nodes_file;  // Written when all nodes listen; empty: none.
  std::string api_folder;  // Of the API server's credentials and address; empty: no API server.
};

Status RunFleet(const FleetOptions& options);

}  // namespace podgpu::sim
