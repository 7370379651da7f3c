// DCGM's entities on the simulated node: which exist, and the world's device of each.
//
// DCGM names an entity by group and number; the world by GPU, instance and compute instance.  An
// engine numbers the GPUs that it finds at its start: all except those that a fault hides.  The MIG
// layout may change with time, so a number is resolved at the time of each call.  After a MIG GPU
// was unbound and bound again, its instances count as another GPU's until an engine starts (DCGM
// 4.6.0, seen).  Part of the simulated libdcgm: standard library only.  Pure functions; any thread.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <optional>
#include <vector>

#include "abi/dcgm.h"
#include "sim/world/world.h"

namespace podgpu::sim {

struct EntityKey {
  abi::dcgm_field_entity_group_t group = abi::DCGM_FE_NONE;
  abi::dcgm_field_eid_t id = 0;
  auto operator<=>(const EntityKey&) const = default;
};

// An existing entity, in the world's numbers.  For a GPU's link `device` is its GPU and `link` the
// link's index.  For a switch, CPU or core `part` is its number, and for a switch's link the
// switch's number; these have no GPU (-1).
struct Entity {
  EntityKey key;
  DeviceRef device;
  int link = -1;
  int part = -1;
};

// The GPUs that an engine found: DCGM's number of each, and the world's.
class GpuNumbers {
 public:
  GpuNumbers() = default;  // No GPU.
  // The GPUs present at t, for an engine that has run since `engine_start`.
  GpuNumbers(const World& world, TimeUs t, TimeUs engine_start);

  int count() const { return count_; }
  // The world's GPU with DCGM's number `id`; -1 when there is none.
  int WorldGpu(uint32_t id) const { return id < static_cast<uint32_t>(count_) ? gpus_[id] : -1; }
  // DCGM's number of the world's GPU; -1 when the engine has not found it.
  int IdOf(int gpu) const;
  TimeUs engine_start() const { return engine_start_; }

 private:
  std::array<int8_t, abi::DCGM_MAX_NUM_DEVICES> gpus_{};
  int count_ = 0;
  TimeUs engine_start_ = 0;
};

// The world as an engine sees it.
struct Sight {
  const World& world;
  const GpuNumbers& gpus;
};

// DCGM's number of the instance or compute instance with the world's number `entity_id`, at time t.
uint32_t InstanceNumber(const Sight& sight, int gpu, int entity_id, TimeUs t);

// The entity `key` at time t; empty when it does not exist.  A GPU has links of every number.
std::optional<Entity> FindEntity(const Sight& sight, EntityKey key, TimeUs t);

// All entities of a group at time t, in DCGM's order: GPUs by id, instances by hierarchy.
std::vector<EntityKey> ListEntities(const Sight& sight, abi::dcgm_field_entity_group_t group,
                                    TimeUs t);

}  // namespace podgpu::sim
