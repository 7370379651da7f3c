// The families of the cluster-wide map of pods and GPUs: one line per pod and GPU, in the names,
// labels and number format of the cluster map exporter (docs/compatibility.md).
//
// The cluster role makes the rows from what nodes tell; these functions only say them.  Pure; any
// thread.
#pragma once

#include <compare>
#include <span>
#include <string>
#include <string_view>

#include "exposition/series_plan.h"

namespace podgpu {

// That a pod holds a GPU, or a part of it.  Texts are borrowed.
struct PodMapRow {
  std::string_view node;
  std::string_view gpu_id;  // The GPU's UUID.
  std::string_view gpu_model;
  std::string_view pod_namespace;
  std::string_view pod;
  auto operator<=>(const PodMapRow&) const = default;
};

// pod_and_gpu_map_info
void AddPodMapView(std::span<const PodMapRow> rows, PlanBuilder& plan);

// A family for each node, in the order in which nodes come first in `rows`.
void AddNodeFamilies(std::span<const PodMapRow> rows, PlanBuilder& plan);

// POD_GPU_MAP_INFO_n, a family for each row; their value, 0, stands in `zero_slot`.
void AddDeprecatedPodMap(std::span<const PodMapRow> rows, size_t zero_slot, PlanBuilder& plan);

// "gpu_node_1_info" for gpu-node.1: what no metric may be called becomes "_".
std::string NodeFamilyName(std::string_view node);

}  // namespace podgpu
