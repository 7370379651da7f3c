// Makes one map from the reports of all nodes: which nodes count, and which pod holds which GPU.
//
// Reports may contradict each other: of two nodes with one name, and of two GPUs with one UUID, the
// first counts and the other is reported.  Pure functions without clock and I/O; called on the tick
// thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cluster/fleet.h"
#include "view/pod_map.h"

namespace podgpu {

// The state of a node.  Its words are those of the node role, and values of the label `state`.
enum class NodeState : uint8_t {
  kStarting,      // No request has ended yet.
  kOk,            // The last request succeeded.
  kDegraded,      // The last request failed; the last report still counts.
  kUnresponsive,  // The last report is too old, or there was never one: the node does not count.
  kDuplicate,     // Another address has a node of the same name: this one does not count.
};
// A duplicate has no word of its own: it is "degraded", and its reason is kDuplicateReason.
inline constexpr int kNodeWordCount = 4;
inline constexpr std::string_view kDuplicateReason = "duplicate";

// Return the index of a state's word, which is below kNodeWordCount, and the word itself.
size_t NodeWordIndex(NodeState state);
std::string_view NodeStateName(NodeState state);
// Returns why the node is not "ok": its duplicate name, or the result of its last request.  Empty
// if there is no reason.
std::string_view NodeReason(const NodeEntry& node, NodeState state);
// Returns whether the devices of the node are on the pages.
inline bool Counts(NodeState state) {
  return state == NodeState::kOk || state == NodeState::kDegraded;
}

// Returns the state of each node of `fleet`, in its order, at `now`.
std::vector<NodeState> JudgeNodes(const Fleet& fleet, Instant now,
                                  std::chrono::milliseconds withdraw_after);

// Says why node `index` is a duplicate, with a remedy.
std::string WhyDuplicate(const Fleet& fleet, const std::vector<NodeState>& states, size_t index);

struct ClusterMap {
  // Sorted by node, GPU, namespace and pod, without duplicates.  All texts are borrowed from the
  // fleet.
  std::vector<PodMapRow> rows;
  std::vector<const ReportedGpu*> gpus;  // The GPUs that count, borrowed from the fleet.
  uint64_t repeated_gpus = 0;            // GPUs left out because another GPU has the same UUID.
  uint64_t hidden_owners = 0;  // Pods not in `rows`: their node does not report their names.
};

// `states`: the result of JudgeNodes.
ClusterMap MakeClusterMap(const Fleet& fleet, const std::vector<NodeState>& states);

}  // namespace podgpu
