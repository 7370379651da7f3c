// The families of the cluster-wide map of pods and GPUs: one line per pod and GPU, with the names,
// labels and number format of the Python exporter that the cluster role replaces.
//
// The cluster role makes the rows from the reports of the nodes; these functions only write them.
// Pure functions; any thread.
#pragma once

#include <compare>
#include <span>
#include <string>
#include <string_view>

#include "exposition/series_plan.h"

namespace podgpu {

// One pod that holds a GPU or a part of a GPU.  Texts are borrowed.
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

// A family for each node, in the order of their first rows.
void AddNodeFamilies(std::span<const PodMapRow> rows, PlanBuilder& plan);

// POD_GPU_MAP_INFO_n, a family for each row; the value of all, 0, is in `zero_slot`.
void AddDeprecatedPodMap(std::span<const PodMapRow> rows, size_t zero_slot, PlanBuilder& plan);

// Returns "gpu_node_1_info" for gpu-node.1: characters that a metric name must not have become "_".
std::string NodeFamilyName(std::string_view node);

}  // namespace podgpu
