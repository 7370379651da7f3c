#include "cluster/cluster_map.h"

#include <algorithm>
#include <ranges>
#include <set>

#include "absl/strings/str_format.h"

#include "base/status.h"
#include "base/text.h"

namespace podgpu {
namespace {

// In the order of NodeState.
constexpr std::string_view kNodeWords[] = {"starting", "ok", "degraded", "unresponsive"};
static_assert(std::size(kNodeWords) == kNodeWordCount);

NodeState JudgeAlone(const NodeEntry& node, Instant now, std::chrono::milliseconds withdraw_after) {
  if (!node.last) {
    return NodeState::kStarting;
  }
  if (node.report == nullptr || now - node.read_at > withdraw_after) {
    return NodeState::kUnresponsive;
  }
  return IsGood(*node.last) ? NodeState::kOk : NodeState::kDegraded;
}

// Adds the pods of a GPU or instance.
void AddPods(const NodeReport& report, const ReportedGpu& gpu, const DeviceUse& use,
             ClusterMap& map) {
  for (const ReportedOwner& owner : use.owners) {
    map.rows.push_back({report.node, gpu.uuid, gpu.model, owner.pod_namespace, owner.pod});
  }
  map.hidden_owners += use.hidden_owners;
}

void AddGpu(const NodeReport& report, const ReportedGpu& gpu, ClusterMap& map) {
  const size_t first = map.rows.size();
  AddPods(report, gpu, gpu.use, map);
  for (const ReportedInstance& instance : gpu.instances) {
    AddPods(report, gpu, instance.use, map);
  }
  // A pod that holds the GPU through several containers, replicas or instances is one line.
  const auto added = std::ranges::subrange(map.rows).next(static_cast<std::ptrdiff_t>(first));
  std::ranges::sort(added);
  const auto repeated = std::ranges::unique(added);
  map.rows.erase(repeated.begin(), repeated.end());
  map.gpus.push_back(&gpu);
}

}  // namespace

size_t NodeWordIndex(NodeState state) {
  return static_cast<size_t>(state == NodeState::kDuplicate ? NodeState::kDegraded : state);
}

std::string_view NodeStateName(NodeState state) {
  const size_t index = NodeWordIndex(state);
  PODGPU_CHECK(index < std::size(kNodeWords));
  return kNodeWords[index];
}

std::string_view NodeReason(const NodeEntry& node, NodeState state) {
  if (state == NodeState::kDuplicate) {
    return kDuplicateReason;
  }
  return node.last && !IsGood(*node.last) ? FetchResultName(*node.last) : std::string_view();
}

std::vector<NodeState> JudgeNodes(const Fleet& fleet, Instant now,
                                  std::chrono::milliseconds withdraw_after) {
  std::vector<NodeState> states;
  states.reserve(fleet.nodes.size());
  std::set<std::string_view> names;
  for (const NodeEntry& node : fleet.nodes) {
    NodeState state = JudgeAlone(node, now, withdraw_after);
    // Nodes are sorted by address, so the same one of two wins at each tick.
    if (Counts(state) && !names.insert(node.report->node).second) {
      state = NodeState::kDuplicate;
    }
    states.push_back(state);
  }
  return states;
}

std::string WhyDuplicate(const Fleet& fleet, const std::vector<NodeState>& states, size_t index) {
  const NodeEntry& node = fleet.nodes[index];
  size_t first = 0;
  while (first < index &&
         !(Counts(states[first]) && fleet.nodes[first].report->node == node.report->node)) {
    ++first;
  }
  return absl::StrFormat(
      "%s and %s both call themselves %s, so only the first counts: set NODE_NAME from "
      "spec.nodeName in their pods",
      fleet.nodes[first].address.id, node.address.id, Quoted(node.report->node));
}

ClusterMap MakeClusterMap(const Fleet& fleet, const std::vector<NodeState>& states) {
  PODGPU_CHECK(states.size() == fleet.nodes.size());
  ClusterMap map;
  std::set<std::string_view> uuids;
  for (size_t i = 0; i < states.size(); ++i) {
    if (!Counts(states[i])) {
      continue;
    }
    const NodeReport& report = *fleet.nodes[i].report;
    for (const ReportedGpu& gpu : report.gpus) {
      if (uuids.insert(gpu.uuid).second) {
        AddGpu(report, gpu, map);
      } else {
        ++map.repeated_gpus;
      }
    }
  }
  return map;
}

}  // namespace podgpu
