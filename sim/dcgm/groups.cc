#include "sim/dcgm/groups.h"

#include <algorithm>
#include <utility>

#include "sim/dcgm/fields.h"
#include "sim/dcgm/generation.h"

namespace podgpu::sim {
namespace {

constexpr size_t kMaxUserGroups = 62;       // 64 minus the built-in ones (DCGM 4.6.0, seen).
constexpr size_t kMaxUserFieldGroups = 61;  // 64 minus the built-in ones (DCGM 4.6.0, seen).
constexpr size_t kMaxFieldsPerGroup = 127;  // The client refuses 128 (DCGM 4.6.0, seen).

bool IsName(const char* name) {
  return name != nullptr && std::string_view(name).size() < abi::DCGM_MAX_STR_LENGTH;
}

}  // namespace

int Groups::Create(const char* name, std::vector<EntityKey> entities, uint64_t& id) {
  if (!IsName(name)) {
    return abi::DCGM_ST_BADPARAM;
  }
  if (groups_.size() >= kMaxUserGroups) {
    return abi::DCGM_ST_MAX_LIMIT;
  }
  id = next_id_++;
  groups_[id] = Group{.name = name, .entities = std::move(entities)};
  return abi::DCGM_ST_OK;
}

int Groups::Destroy(uint64_t id) {
  return groups_.erase(id) != 0 ? abi::DCGM_ST_OK : abi::DCGM_ST_NOT_CONFIGURED;
}

int Groups::Add(uint64_t id, EntityKey entity) {
  Group* const group = Find(id);
  if (group == nullptr) {
    return abi::DCGM_ST_NOT_CONFIGURED;
  }
  if (std::ranges::find(group->entities, entity) != group->entities.end()) {
    return abi::DCGM_ST_BADPARAM;
  }
  if (group->entities.size() >= kMaxGroupEntities) {
    return abi::DCGM_ST_MAX_LIMIT;
  }
  group->entities.push_back(entity);
  return abi::DCGM_ST_OK;
}

Group* Groups::Find(uint64_t id) {
  const auto found = groups_.find(id);
  return found == groups_.end() ? nullptr : &found->second;
}

int FieldGroups::Create(const char* name, std::span<const uint16_t> fields, uint64_t& id) {
  if (!IsName(name) || fields.empty() || fields.size() > kMaxFieldsPerGroup ||
      !std::ranges::all_of(fields,
                           [](uint16_t field) { return FieldOfLibrary(field) != nullptr; })) {
    return abi::DCGM_ST_BADPARAM;
  }
  if (std::ranges::any_of(groups_, [&](const auto& entry) { return entry.second.name == name; })) {
    return abi::DCGM_ST_DUPLICATE_KEY;
  }
  if (groups_.size() >= kMaxUserFieldGroups) {
    return abi::DCGM_ST_MAX_LIMIT;
  }
  id = next_id_++;
  groups_[id] = FieldGroup{.name = name, .fields = {fields.begin(), fields.end()}};
  return abi::DCGM_ST_OK;
}

int FieldGroups::Destroy(uint64_t id) {
  return groups_.erase(id) != 0 ? abi::DCGM_ST_OK : abi::DCGM_ST_NO_DATA;
}

const FieldGroup* FieldGroups::Find(uint64_t id) const {
  const auto found = groups_.find(id);
  return found == groups_.end() ? nullptr : &found->second;
}

}  // namespace podgpu::sim
