// The groups and field groups that a client of the simulated libdcgm has created.
//
// One object of each per engine connection.  Rules, limits and codes are those of DCGM 4.6.0 as
// seen: names of groups may repeat, names of field groups may not; the members of the engine's own
// groups are not stored here.  The caller checks that entities exist.  Part of the face: standard
// library only.  Not thread-safe; the session's lock guards them.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "abi/dcgm.h"
#include "sim/dcgm/entities.h"

namespace podgpu::sim {

struct Group {
  std::string name;
  std::vector<EntityKey> entities;
};

// The settings of dcgmHealthSet for a group.
struct HealthWatch {
  uint32_t systems = 0;  // Bits.
  TimeUs since = 0;
};

// The two groups that an engine makes at its start: of all GPUs and of all NvSwitches.  Clients
// name them by these ids, or by the two constants of the vendor's header.
inline constexpr uint64_t kAllGpusGroup = 0;
inline constexpr uint64_t kAllNvSwitchesGroup = 1;

// The engine's id of the group that a client calls `id`.
constexpr uint64_t EngineGroup(uint64_t id) {
  return id == abi::DCGM_GROUP_ALL_GPUS         ? kAllGpusGroup
         : id == abi::DCGM_GROUP_ALL_NVSWITCHES ? kAllNvSwitchesGroup
                                                : id;
}

class Groups {
 public:
  // Codes are dcgmReturn_t.
  int Create(const char* name, std::vector<EntityKey> entities, uint64_t& id);
  int Destroy(uint64_t id);
  int Add(uint64_t id, EntityKey entity);
  // Removes the entities for which `is_meant` returns true from all groups.
  template <typename Predicate>
  void RemoveAll(Predicate&& is_meant) {
    for (auto& [id, group] : groups_) {
      std::erase_if(group.entities, is_meant);
    }
  }
  // Null when there is no such group.
  Group* Find(uint64_t id);

 private:
  std::map<uint64_t, Group> groups_;
  uint64_t next_id_ = 2;  // Two built-in groups come first.
};

struct FieldGroup {
  std::string name;
  std::vector<uint16_t> fields;
};

class FieldGroups {
 public:
  int Create(const char* name, std::span<const uint16_t> fields, uint64_t& id);
  int Destroy(uint64_t id);
  const FieldGroup* Find(uint64_t id) const;

 private:
  std::map<uint64_t, FieldGroup> groups_;
  uint64_t next_id_ = 4;  // Three built-in field groups come first.
};

}  // namespace podgpu::sim
