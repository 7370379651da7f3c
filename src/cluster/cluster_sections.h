// The sections of the pages of the cluster role, and the generations of their lines.
//
// The lines change when a node is added, is removed, or changes its state or its pods with GPUs,
// and when the set of workloads on GPUs changes; otherwise only the numbers change.  The tick takes
// the facts once per page; the sections refer to them and to the ClusterLines.  Used on the tick
// thread only.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cluster/cluster_facts.h"
#include "exposition/section.h"

namespace podgpu {

// Counts how often the set of lines has changed.
class ClusterLines {
 public:
  void Take(const ClusterFacts& facts);

  // They change whenever the lines of nodes, or of workloads, change.
  uint64_t nodes_generation() const { return nodes_generation_; }
  uint64_t workloads_generation() const { return workloads_generation_; }

 private:
  // The facts that the lines of a node depend on.
  struct Node {
    std::string address;
    NodeState state = NodeState::kStarting;
    std::optional<FetchResult> failure;  // Result of the last request, if it failed.
    uint64_t holders_revision = 0;
    bool operator==(const Node&) const = default;
  };
  struct Workload {
    std::string name_space, name;
  };

  void TakeNodes(const ClusterFacts& facts);
  void TakeWorkloads(const ClusterFacts& facts);

  std::vector<Node> nodes_;
  std::vector<Workload> workloads_;
  uint64_t nodes_generation_ = 0;
  uint64_t workloads_generation_ = 0;
};

// The input of the sections; must outlive them.
struct ClusterPages {
  std::shared_ptr<const ClusterFacts> facts;  // The facts of the current tick.
  ClusterLines lines;
};

// The map of pods and GPUs; `deprecated`: including POD_GPU_MAP_INFO_n.
Section ClusterMapSection(const ClusterPages& pages, bool deprecated);
// Makes the same rows with a family for each node, for the page /metrics/nodes.
Section NodeFamiliesSection(const ClusterPages& pages);
// The utilisation of the devices in use.
Section InUseSection(const ClusterPages& pages);
// The nodes, and the cluster role itself.
Section ClusterSelfSection(const ClusterPages& pages);

}  // namespace podgpu
