#include "sim/dcgm/entities.h"

#include <algorithm>

#include "sim/dcgm/fabric.h"
#include "sim/dcgm/generation.h"

namespace podgpu::sim {
namespace {

// Entity ids of instances are gpu x 7 + running number (DCGM 4.6.0, seen).
constexpr int kInstanceIdsPerGpu = 7;

std::optional<Entity> FindGpu(const Sight& sight, EntityKey key) {
  const int gpu = sight.gpus.WorldGpu(key.id);
  return gpu < 0 ? std::nullopt : std::optional(Entity{.key = key, .device = {.gpu = gpu}});
}

// Whether some GPU, but not all together, was unbound and is bound again.
bool WasRebound(const Sight& sight, TimeUs t) {
  return std::ranges::any_of(sight.world.faults(), [&](const Fault& fault) {
    return IsDetaching(fault.kind) && fault.gpu >= 0 && fault.until > sight.gpus.engine_start() &&
           fault.until <= t;
  });
}

// DCGM's number of the GPU by which the instances of `gpu` are counted, and from which the engine
// reads their values: its own, or, after any GPU was bound again, that of the GPU before it.
int HomeOf(const Sight& sight, int gpu, TimeUs t) {
  const int own = sight.gpus.IdOf(gpu);
  return WasRebound(sight, t) ? (own + sight.gpus.count() - 1) % sight.gpus.count() : own;
}

// Calls `visit(gpu)` for each GPU whose instances are counted as those of `home`, until one call
// finds its instance.  An instance that is counted elsewhere has the values of the whole other GPU.
template <typename Visit>
std::optional<Entity> FindAtHome(const Sight& sight, uint32_t home, TimeUs t, Visit&& visit) {
  for (uint32_t id = 0; id < static_cast<uint32_t>(sight.gpus.count()); ++id) {
    const int gpu = sight.gpus.WorldGpu(id);
    if (HomeOf(sight, gpu, t) != static_cast<int>(home)) {
      continue;
    }
    if (std::optional<Entity> found = visit(gpu)) {
      if (id != home) {
        found->device = {.gpu = sight.gpus.WorldGpu(home)};
      }
      return found;
    }
  }
  return std::nullopt;
}

std::optional<Entity> FindInstance(const Sight& sight, EntityKey key, TimeUs t) {
  return FindAtHome(sight, key.id / kInstanceIdsPerGpu, t, [&](int gpu) -> std::optional<Entity> {
    for (int i = 0; i < sight.world.instance_count(gpu, t); ++i) {
      const int id = sight.world.instance(gpu, i, t).dcgm_entity_id;
      if (InstanceNumber(sight, gpu, id, t) == key.id) {
        return Entity{.key = key, .device = {.gpu = gpu, .instance = i}};
      }
    }
    return std::nullopt;
  });
}

std::optional<Entity> FindCompute(const Sight& sight, EntityKey key, TimeUs t) {
  const World& world = sight.world;
  return FindAtHome(sight, key.id / kInstanceIdsPerGpu, t, [&](int gpu) -> std::optional<Entity> {
    for (int i = 0; i < world.instance_count(gpu, t); ++i) {
      for (int c = 0; c < world.compute_count(gpu, i, t); ++c) {
        if (InstanceNumber(sight, gpu, world.compute(gpu, i, c, t).dcgm_entity_id, t) == key.id) {
          return Entity{.key = key, .device = {.gpu = gpu, .instance = i, .compute = c}};
        }
      }
    }
    return std::nullopt;
  });
}

std::optional<Entity> FindLink(const Sight& sight, EntityKey key) {
  const LinkId link = ParseLinkId(key.id);
  if (link.parent_group == abi::DCGM_FE_SWITCH) {
    const bool exists = link.parent < static_cast<uint32_t>(sight.world.nvswitch_count()) &&
                        link.index < static_cast<uint32_t>(PortCount(sight.world));
    return exists ? std::optional(Entity{.key = key,
                                         .device = {.gpu = -1},
                                         .link = static_cast<int>(link.index),
                                         .part = static_cast<int>(link.parent)})
                  : std::nullopt;
  }
  const int gpu = sight.gpus.WorldGpu(link.parent);
  if (link.parent_group != abi::DCGM_FE_GPU || gpu < 0) {
    return std::nullopt;
  }
  return Entity{.key = key, .device = {.gpu = gpu}, .link = static_cast<int>(link.index)};
}

// The number of switches, CPUs or cores; 0 for any other group.
int PartCount(const World& world, abi::dcgm_field_entity_group_t group) {
  switch (group) {
    case abi::DCGM_FE_SWITCH:
      return world.nvswitch_count();
    case abi::DCGM_FE_CPU:
      return CpuCount(world);
    case abi::DCGM_FE_CPU_CORE:
      return CoreCount(world);
    default:
      return 0;
  }
}

std::optional<Entity> FindPart(const Sight& sight, EntityKey key) {
  if (key.id >= static_cast<uint32_t>(PartCount(sight.world, key.group))) {
    return std::nullopt;
  }
  return Entity{.key = key, .device = {.gpu = -1}, .part = static_cast<int>(key.id)};
}

}  // namespace

GpuNumbers::GpuNumbers(const World& world, TimeUs t, TimeUs engine_start)
    : engine_start_(engine_start) {
  if (world.FaultAt(FaultKind::kNoNvml, t) != nullptr) {
    return;
  }
  const int most = std::min<int>(world.gpu_count(), abi::DCGM_MAX_NUM_DEVICES);
  for (int gpu = 0; gpu < most; ++gpu) {
    if (world.FaultAt(FaultKind::kGpuAbsent, gpu, t) == nullptr) {
      gpus_[static_cast<size_t>(count_++)] = static_cast<int8_t>(gpu);
    }
  }
}

int GpuNumbers::IdOf(int gpu) const {
  const auto end = gpus_.begin() + count_;
  const auto found = std::find(gpus_.begin(), end, gpu);
  return found == end ? -1 : static_cast<int>(found - gpus_.begin());
}

uint32_t InstanceNumber(const Sight& sight, int gpu, int entity_id, TimeUs t) {
  const int moved = HomeOf(sight, gpu, t) - gpu;
  return static_cast<uint32_t>(entity_id + moved * kInstanceIdsPerGpu);
}

std::optional<Entity> FindEntity(const Sight& sight, EntityKey key, TimeUs t) {
  switch (key.group) {
    case abi::DCGM_FE_NONE:
      return Entity{.key = key, .device = {}};
    case abi::DCGM_FE_GPU:
      return FindGpu(sight, key);
    case abi::DCGM_FE_GPU_I:
      return FindInstance(sight, key, t);
    case abi::DCGM_FE_GPU_CI:
      return FindCompute(sight, key, t);
    case abi::DCGM_FE_LINK:
      return FindLink(sight, key);
    case abi::DCGM_FE_SWITCH:
    case abi::DCGM_FE_CPU:
    case abi::DCGM_FE_CPU_CORE:
      return FindPart(sight, key);
    default:
      return std::nullopt;
  }
}

std::vector<EntityKey> ListEntities(const Sight& sight, abi::dcgm_field_entity_group_t group,
                                    TimeUs t) {
  const World& world = sight.world;
  std::vector<EntityKey> found;
  for (uint32_t id = 0; id < static_cast<uint32_t>(PartCount(world, group)); ++id) {
    found.push_back({group, id});
  }
  for (uint32_t id = 0; id < static_cast<uint32_t>(sight.gpus.count()); ++id) {
    if (group == abi::DCGM_FE_GPU) {
      found.push_back({group, id});
      continue;
    }
    const int gpu = sight.gpus.WorldGpu(id);
    for (int i = 0; i < world.instance_count(gpu, t); ++i) {
      if (group == abi::DCGM_FE_GPU_I) {
        found.push_back(
            {group, InstanceNumber(sight, gpu, world.instance(gpu, i, t).dcgm_entity_id, t)});
      }
      for (int c = 0; group == abi::DCGM_FE_GPU_CI && c < world.compute_count(gpu, i, t); ++c) {
        found.push_back(
            {group, InstanceNumber(sight, gpu, world.compute(gpu, i, c, t).dcgm_entity_id, t)});
      }
    }
  }
  return found;
}

}  // namespace podgpu::sim
