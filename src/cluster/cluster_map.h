// From what nodes say of themselves to one map: which nodes count, and which pod holds which GPU.
//
// Pure functions, no clock and no I/O.  Nodes are not believed against each other either: of two
// that bear one name, and of two GPUs of one UUID, the first counts and the other is told.  The
// tick thread calls them.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cluster/fleet.h"
#include "view/pod_map.h"

namespace podgpu {

// How a node stands.  The words are values of the label `state`.
enum class NodeState : uint8_t {
  kStarting,     // Not asked yet.
  kOk,           // It answers.
  kFailing,      // It does not; what it said before still counts.
  kWithdrawn,    // What it said is too old: it does not count.
  kUnreachable,  // It has never said anything: it does not count.
  kDuplicate,    // Another address leads to a node of that name: it does not count.
};
inline constexpr int kNodeStateCount = 6;

std::string_view NodeStateName(NodeState state);
// Whether its devices are on the pages.
inline bool Counts(NodeState state) {
  return state == NodeState::kOk || state == NodeState::kFailing;
}

// The state of each node of `fleet`, in its order, at `now`.
std::vector<NodeState> JudgeNodes(const Fleet& fleet, Instant now,
                                  std::chrono::milliseconds withdraw_after);

// What is wrong with node `index`, which is a duplicate, and what helps.
std::string WhyDuplicate(const Fleet& fleet, const std::vector<NodeState>& states, size_t index);

struct ClusterMap {
  // By node, GPU, namespace and pod; each once.  All texts are borrowed from the fleet.
  std::vector<PodMapRow> rows;
  std::vector<const ReportedGpu*> gpus;  // Those that count, borrowed from the fleet.
  uint64_t repeated_gpus = 0;            // Left out, since another one has their UUID.
  uint64_t hidden_owners = 0;            // Not in `rows`, since their node does not name them.
};

// `states` as JudgeNodes has made them.
ClusterMap MakeClusterMap(const Fleet& fleet, const std::vector<NodeState>& states);

}  // namespace podgpu
