#include "topology/mig.h"

#include <algorithm>
#include <limits>

#include "base/text.h"

namespace podgpu {
namespace {

constexpr std::string_view kOldPrefix = "MIG-GPU-";

std::optional<uint32_t> ParseId(std::string_view text) {
  const std::optional<uint64_t> number = ParseDecimal(text);
  if (!number || *number > std::numeric_limits<uint32_t>::max()) {
    return std::nullopt;
  }
  return static_cast<uint32_t>(*number);
}

}  // namespace

size_t AddInstances(std::span<const MigNode> nodes, Topology& topology) {
  topology.instances.clear();
  size_t orphans = 0;
  for (const MigNode& node : nodes) {
    if (node.is_compute_instance) {
      continue;
    }
    const auto gpu = std::ranges::find(topology.gpus, node.parent_id, &Gpu::gpu_id);
    if (gpu == topology.gpus.end()) {
      ++orphans;
      continue;
    }
    GpuInstance instance;
    instance.gpu = static_cast<uint16_t>(gpu - topology.gpus.begin());
    instance.gpu_instance_id = node.gpu_instance_id;
    instance.entity_id = node.entity_id;
    topology.instances.push_back(std::move(instance));
  }
  std::ranges::stable_sort(topology.instances, {}, &GpuInstance::gpu);
  for (const MigNode& node : nodes) {
    if (!node.is_compute_instance) {
      continue;
    }
    const auto parent =
        std::ranges::find(topology.instances, node.parent_id, &GpuInstance::entity_id);
    if (parent == topology.instances.end()) {
      ++orphans;
      continue;
    }
    parent->compute_instances.push_back({node.compute_instance_id, node.entity_id, {}});
  }
  return orphans;
}

std::optional<OldMigName> ParseOldMigName(std::string_view name) {
  const std::vector<std::string_view> parts = Split(name, '/');
  if (parts.size() != 3 || !parts[0].starts_with(kOldPrefix) ||
      parts[0].size() == kOldPrefix.size()) {
    return std::nullopt;
  }
  const std::optional<uint32_t> gpu_instance = ParseId(parts[1]);
  const std::optional<uint32_t> compute_instance = ParseId(parts[2]);
  if (!gpu_instance || !compute_instance) {
    return std::nullopt;
  }
  return OldMigName{std::string(parts[0].substr(4)), *gpu_instance, *compute_instance};
}

}  // namespace podgpu
