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

// Returns whether `instance` repeats an id: the engine's id, or NVML's id on the same GPU.
bool Repeats(const std::vector<GpuInstance>& instances, const GpuInstance& instance) {
  return std::ranges::any_of(instances, [&](const GpuInstance& other) {
    return other.entity_id == instance.entity_id ||
           (other.gpu == instance.gpu && other.gpu_instance_id == instance.gpu_instance_id);
  });
}

bool Repeats(const std::vector<ComputeInstance>& instances, const MigNode& node) {
  return std::ranges::any_of(instances, [&](const ComputeInstance& other) {
    return other.entity_id == node.entity_id ||
           other.compute_instance_id == node.compute_instance_id;
  });
}

}  // namespace

size_t AddInstances(std::span<const MigNode> nodes, Topology& topology) {
  topology.instances.clear();
  size_t left_out = 0;
  for (const MigNode& node : nodes) {
    if (node.is_compute_instance) {
      continue;
    }
    const auto gpu = std::ranges::find(topology.gpus, node.parent_id, &Gpu::gpu_id);
    GpuInstance instance;
    instance.gpu = static_cast<uint16_t>(gpu - topology.gpus.begin());
    instance.gpu_instance_id = node.gpu_instance_id;
    instance.entity_id = node.entity_id;
    if (gpu == topology.gpus.end() || Repeats(topology.instances, instance)) {
      ++left_out;
      continue;
    }
    topology.instances.push_back(std::move(instance));
  }
  std::ranges::stable_sort(topology.instances, {}, &GpuInstance::gpu);
  for (const MigNode& node : nodes) {
    if (!node.is_compute_instance) {
      continue;
    }
    const auto parent =
        std::ranges::find(topology.instances, node.parent_id, &GpuInstance::entity_id);
    if (parent == topology.instances.end() || Repeats(parent->compute_instances, node)) {
      ++left_out;
      continue;
    }
    parent->compute_instances.push_back({node.compute_instance_id, node.entity_id, {}});
  }
  return left_out;
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
