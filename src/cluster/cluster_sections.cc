#include "cluster/cluster_sections.h"

#include <algorithm>

#include "view/pod_map.h"

namespace podgpu {

void ClusterLines::Take(const ClusterFacts& facts) {
  TakeNodes(facts);
  TakeWorkloads(facts);
}

void ClusterLines::TakeNodes(const ClusterFacts& facts) {
  std::vector<Node> nodes;
  nodes.reserve(facts.states.size());
  for (size_t i = 0; i < facts.states.size(); ++i) {
    const NodeEntry& node = facts.fleet->nodes[i];
    Node& entry = nodes.emplace_back();
    entry.address = node.address.id;
    entry.state = facts.states[i];
    entry.holders_revision = node.holders_revision;
    if (node.last && !IsGood(*node.last)) {
      entry.failure = node.last;
    }
  }
  if (nodes != nodes_) {
    nodes_ = std::move(nodes);
    ++nodes_generation_;
  }
}

void ClusterLines::TakeWorkloads(const ClusterFacts& facts) {
  const auto& workloads = facts.in_use.workloads;
  const auto same_name = [](const Workload& workload, const auto& entry) {
    return workload.name_space == entry.first.first && workload.name == entry.first.second;
  };
  if (!std::ranges::equal(workloads_, workloads, same_name)) {
    workloads_.clear();
    for (const auto& [name, sums] : workloads) {
      workloads_.push_back({std::string(name.first), std::string(name.second)});
    }
    ++workloads_generation_;
  }
}

// Its only slot, if any, holds the value of all POD_GPU_MAP_INFO_n: 0.
Section ClusterMapSection(const ClusterPages& pages, bool deprecated) {
  return {.name = "map",
          .generation = [&pages] { return pages.lines.nodes_generation(); },
          .slot_count = [deprecated] { return deprecated ? 1U : 0U; },
          .add_to =
              [&pages, deprecated](uint32_t first_slot, PlanBuilder& plan) {
                AddPodMapView(pages.facts->map.rows, plan);
                if (deprecated) {
                  AddDeprecatedPodMap(pages.facts->map.rows, first_slot, plan);
                }
              },
          .append_to =
              [deprecated](std::vector<Value>& slots) {
                if (deprecated) {
                  slots.push_back(Value::OfInt64(0));
                }
              }};
}

Section NodeFamiliesSection(const ClusterPages& pages) {
  return {.name = "nodes",
          .generation = [&pages] { return pages.lines.nodes_generation(); },
          .add_to = [&pages](uint32_t /*first_slot*/,
                             PlanBuilder& plan) { AddNodeFamilies(pages.facts->map.rows, plan); }};
}

Section InUseSection(const ClusterPages& pages) {
  return {.name = "in use",
          .generation = [&pages] { return pages.lines.workloads_generation(); },
          .slot_count = [&pages] { return CountSlots(InUseFamilies(pages.facts->in_use, 0)); },
          .add_to =
              [&pages](uint32_t first_slot, PlanBuilder& plan) {
                AddSlotFamilies(InUseFamilies(pages.facts->in_use, first_slot), plan);
              },
          .append_to =
              [&pages](std::vector<Value>& slots) { WriteInUseSlots(pages.facts->in_use, slots); }};
}

Section ClusterSelfSection(const ClusterPages& pages) {
  return {
      .name = "self",
      .generation = [&pages] { return pages.lines.nodes_generation(); },
      .slot_count = [&pages] { return CountSlots(ClusterFamilies(*pages.facts, 0)); },
      .add_to =
          [&pages](uint32_t first_slot, PlanBuilder& plan) {
            AddSlotFamilies(ClusterFamilies(*pages.facts, first_slot), plan);
          },
      .append_to = [&pages](std::vector<Value>& slots) { WriteClusterSlots(*pages.facts, slots); }};
}

}  // namespace podgpu
