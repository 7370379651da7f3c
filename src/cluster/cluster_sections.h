// The sections of the pages of the cluster role, and when their lines change.
//
// Lines change when a node comes, goes, or changes its state or its holders, and when another
// workload uses GPUs; otherwise only numbers do.  The tick takes the facts once per page; the
// sections refer to them and to the ClusterLines.  Tick thread only.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cluster/cluster_facts.h"
#include "exposition/section.h"

namespace podgpu {

// Counts how often the facts have come to have other lines.
class ClusterLines {
 public:
  void Take(const ClusterFacts& facts);

  // Change whenever the set of lines that tell of nodes, or of workloads, changes.
  uint64_t nodes_generation() const { return nodes_generation_; }
  uint64_t workloads_generation() const { return workloads_generation_; }

 private:
  // What the lines of a node depend on.
  struct Node {
    std::string address;
    NodeState state = NodeState::kStarting;
    std::optional<FetchResult> failure;  // Of the last time.
    uint64_t holders_revision = 0;
    bool operator==(const Node&) const = default;
  };
  struct Workload {
    std::string name_space, name;
  };

  std::vector<Node> nodes_;
  std::vector<Workload> workloads_;
  uint64_t nodes_generation_ = 0;
  uint64_t workloads_generation_ = 0;
};

// What the sections tell of; it outlives them.
struct ClusterPages {
  std::shared_ptr<const ClusterFacts> facts;  // Of the tick.
  ClusterLines lines;
};

// The map of pods and GPUs; `deprecated`: with POD_GPU_MAP_INFO_n.
Section ClusterMapSection(const ClusterPages& pages, bool deprecated);
// The same rows with a family for each node, on a page of their own.
Section NodeFamiliesSection(const ClusterPages& pages);
// How hard the devices in use are used.
Section InUseSection(const ClusterPages& pages);
// Nodes, and the cluster role itself.
Section ClusterSelfSection(const ClusterPages& pages);

}  // namespace podgpu
