// DCGM's entities on the simulated node: which exist, and which device of the world each is.
//
// DCGM names an entity by group and number; the world by GPU, instance and compute instance.  The
// layout of MIG may change with time, so a number is resolved at the time of the question.  Part of
// the simulated libdcgm: standard library only.  Pure functions; any thread.
#pragma once

#include <compare>
#include <optional>
#include <vector>

#include "abi/dcgm.h"
#include "sim/world.h"

namespace podgpu::sim {

struct EntityKey {
  abi::dcgm_field_entity_group_t group = abi::DCGM_FE_NONE;
  abi::dcgm_field_eid_t id = 0;
  auto operator<=>(const EntityKey&) const = default;
};

// What an existing entity is.  `device` of a link is its GPU, `link` the index there.
struct Entity {
  EntityKey key;
  DeviceRef device;
  int link = -1;
};

// The entity `key` at time t; nothing when it does not exist.  Every GPU has links of every number.
std::optional<Entity> FindEntity(const World& world, EntityKey key, TimeUs t);

// All entities of a group at time t, in DCGM's order: GPUs by id, instances by hierarchy.
std::vector<EntityKey> ListEntities(const World& world, abi::dcgm_field_entity_group_t group,
                                    TimeUs t);

}  // namespace podgpu::sim
