// The nodes of a simulated fleet: the address, name and behaviour of each.
//
// Addresses are of the loopback range, so thousands fit on one machine and no other machine can
// reach them.  Nodes that behave badly are spread over the fleet; their number follows exactly from
// their share, and they are the same ones each time.  Pure functions; any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace podgpu::sim {

// The most nodes that the cluster role accepts.
inline constexpr size_t kMostFleetNodes = 20'000;

enum class FleetBehaviour : uint8_t {
  kAnswers,
  kHangs,    // Accepts the connection and never answers.
  kRefuses,  // Refuses connections: the port is bound but not listening.
  kGarbage,  // Answers with garbage (answers.h).
};
inline constexpr int kFleetBehaviourCount = 4;

// In percent of all nodes; together at most 100.
struct FleetShares {
  uint32_t hanging = 0;
  uint32_t refusing = 0;
  uint32_t garbage = 0;
};

// The behaviour of each node.
std::vector<FleetBehaviour> PlanBehaviours(size_t nodes, const FleetShares& shares);

// "127.16.0.1" of node 0, 250 nodes in each block.
std::string FleetAddress(size_t node);
// "gpu-node-0001" of node 0.
std::string FleetNodeName(size_t node);

// A label of a node, as its provider and its administrator set them.
struct FleetLabel {
  std::string key, value;
};
// kubernetes.io/hostname, rack (16 nodes each, "rack-01") and pool (four racks each in turn,
// "pool-a" to "pool-d").
std::vector<FleetLabel> FleetNodeLabels(size_t node);

// The file that `podgpu cluster --nodes=file:` reads.
std::string FleetNodesFile(std::string_view scenario, const std::vector<FleetBehaviour>& behaviours,
                           uint16_t port);

}  // namespace podgpu::sim
