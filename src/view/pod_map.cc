#include "view/pod_map.h"

#include "absl/strings/str_format.h"

namespace podgpu {
namespace {

Family MapFamily(std::string name, std::string help) {
  Family family;
  family.name = std::move(name);
  family.help = std::move(help);
  family.type = "gauge";
  family.format = NumberFormat::kFloat;
  return family;
}

uint32_t AddRowLabels(const PodMapRow& row, PlanBuilder& plan) {
  return plan.AddLabels(RenderLabels({{"gpu_id", std::string(row.gpu_id)},
                                      {"gpu_model", std::string(row.gpu_model)},
                                      {"namespace", std::string(row.pod_namespace)},
                                      {"node", std::string(row.node)},
                                      {"pod_name", std::string(row.pod)}}));
}

bool MayBeInAMetricName(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == ':';
}

}  // namespace

void AddPodMapView(std::span<const PodMapRow> rows, PlanBuilder& plan) {
  plan.BeginFamily(
      MapFamily("pod_and_gpu_map_info", "Provide a mapping relationship between pod and gpu"));
  for (const PodMapRow& row : rows) {
    plan.AddSeries(AddRowLabels(row, plan), NumberSource::One());
  }
}

void AddNodeFamilies(std::span<const PodMapRow> rows, PlanBuilder& plan) {
  for (const PodMapRow& row : rows) {
    plan.BeginFamily(MapFamily(NodeFamilyName(row.node),
                               "Provide every node's pod and gpu mapping relationship"));
    plan.AddSeries(AddRowLabels(row, plan), NumberSource::One());
  }
}

void AddDeprecatedPodMap(std::span<const PodMapRow> rows, size_t zero_slot, PlanBuilder& plan) {
  for (size_t i = 0; i < rows.size(); ++i) {
    plan.BeginFamily(MapFamily(absl::StrFormat("POD_GPU_MAP_INFO_%d", i),
                               "pod gpu map info - please use labels value to match pod and gpu"));
    plan.AddSeries(AddRowLabels(rows[i], plan), NumberSource::Slot(zero_slot));
  }
}

std::string NodeFamilyName(std::string_view node) {
  std::string name;
  for (const char c : node) {
    name += MayBeInAMetricName(c) ? c : '_';
  }
  if (!name.empty() && name.front() >= '0' && name.front() <= '9') {
    name.insert(0, "_");
  }
  return name + "_info";
}

}  // namespace podgpu
