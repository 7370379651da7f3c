#include "sim/fake_dcgm_entities.h"

#include "sim/fake_dcgm_generation.h"

namespace podgpu::sim {
namespace {

// Entity ids of instances are gpu x 7 + running number (DCGM 4.6.0, seen).
constexpr uint32_t kInstanceIdsPerGpu = 7;

std::optional<Entity> FindGpu(const World& world, EntityKey key) {
  if (key.id >= static_cast<uint32_t>(world.gpu_count())) {
    return std::nullopt;
  }
  return Entity{.key = key, .device = {.gpu = static_cast<int>(key.id)}};
}

std::optional<Entity> FindInstance(const World& world, EntityKey key, TimeUs t) {
  const auto gpu = static_cast<int>(key.id / kInstanceIdsPerGpu);
  if (gpu >= world.gpu_count()) {
    return std::nullopt;
  }
  for (int i = 0; i < world.instance_count(gpu, t); ++i) {
    if (world.instance(gpu, i, t).dcgm_entity_id == static_cast<int>(key.id)) {
      return Entity{.key = key, .device = {.gpu = gpu, .instance = i}};
    }
  }
  return std::nullopt;
}

std::optional<Entity> FindCompute(const World& world, EntityKey key, TimeUs t) {
  const auto gpu = static_cast<int>(key.id / kInstanceIdsPerGpu);
  if (gpu >= world.gpu_count()) {
    return std::nullopt;
  }
  for (int i = 0; i < world.instance_count(gpu, t); ++i) {
    for (int c = 0; c < world.compute_count(gpu, i, t); ++c) {
      if (world.compute(gpu, i, c, t).dcgm_entity_id == static_cast<int>(key.id)) {
        return Entity{.key = key, .device = {.gpu = gpu, .instance = i, .compute = c}};
      }
    }
  }
  return std::nullopt;
}

std::optional<Entity> FindLink(const World& world, EntityKey key) {
  const LinkId link = ParseLinkId(key.id);
  if (link.parent_group != abi::DCGM_FE_GPU ||
      link.parent >= static_cast<uint32_t>(world.gpu_count())) {
    return std::nullopt;
  }
  return Entity{.key = key,
                .device = {.gpu = static_cast<int>(link.parent)},
                .link = static_cast<int>(link.index)};
}

}  // namespace

std::optional<Entity> FindEntity(const World& world, EntityKey key, TimeUs t) {
  switch (key.group) {
    case abi::DCGM_FE_NONE:
      return Entity{.key = key, .device = {}};
    case abi::DCGM_FE_GPU:
      return FindGpu(world, key);
    case abi::DCGM_FE_GPU_I:
      return FindInstance(world, key, t);
    case abi::DCGM_FE_GPU_CI:
      return FindCompute(world, key, t);
    case abi::DCGM_FE_LINK:
      return FindLink(world, key);
    default:
      return std::nullopt;
  }
}

std::vector<EntityKey> ListEntities(const World& world, abi::dcgm_field_entity_group_t group,
                                    TimeUs t) {
  std::vector<EntityKey> found;
  for (int gpu = 0; gpu < world.gpu_count(); ++gpu) {
    if (group == abi::DCGM_FE_GPU) {
      found.push_back({group, static_cast<uint32_t>(gpu)});
      continue;
    }
    for (int i = 0; i < world.instance_count(gpu, t); ++i) {
      if (group == abi::DCGM_FE_GPU_I) {
        found.push_back({group, static_cast<uint32_t>(world.instance(gpu, i, t).dcgm_entity_id)});
      }
      for (int c = 0; group == abi::DCGM_FE_GPU_CI && c < world.compute_count(gpu, i, t); ++c) {
        found.push_back({group, static_cast<uint32_t>(world.compute(gpu, i, c, t).dcgm_entity_id)});
      }
    }
  }
  return found;
}

}  // namespace podgpu::sim
