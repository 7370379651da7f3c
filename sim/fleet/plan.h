// Which nodes a simulated fleet has: where each is, what it is called, and how it behaves.
//
// Addresses are of the loopback range, so that thousands fit on one machine and nobody else can
// reach them.  Those that behave badly are spread over the fleet, exactly as many as their share
// says, the same ones each time.  Pure functions; any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace podgpu::sim {

// As many as the cluster role takes.
inline constexpr size_t kMostFleetNodes = 20'000;

enum class NodeManner : uint8_t {
  kAnswers,
  kHangs,    // Takes the connection and says nothing, ever.
  kRefuses,  // Its port is taken, and nobody listens.
  kGarbage,  // Answers what no honest node does.
};
inline constexpr int kNodeMannerCount = 4;

// In percent of all nodes; together at most 100.
struct FleetShares {
  uint32_t hanging = 0;
  uint32_t refusing = 0;
  uint32_t garbage = 0;
};

// By node.
std::vector<NodeManner> PlanManners(size_t nodes, const FleetShares& shares);

// "127.16.0.1" of node 0, 250 nodes in each block.
std::string FleetAddress(size_t node);
// "gpu-node-0001" of node 0.
std::string FleetNodeName(size_t node);

// The file that `podgpu cluster --nodes=file:` reads.
std::string FleetNodesFile(std::string_view scenario, const std::vector<NodeManner>& manners,
                           uint16_t port);

}  // namespace podgpu::sim
