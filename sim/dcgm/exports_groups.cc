// Exported: groups, field groups, and health, which is set per group.
#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "abi/dcgm_health.h"
#include "sim/dcgm/fields.h"
#include "sim/dcgm/generation.h"
#include "sim/dcgm/health.h"
#include "sim/dcgm/library.h"

namespace podgpu::sim {
namespace {

constexpr std::string_view kAllGpusName = "DCGM_ALL_SUPPORTED_GPUS";
constexpr std::string_view kAllNvSwitchesName = "DCGM_ALL_SUPPORTED_NVSWITCHES";

// Indexed by dcgmGroupType_t: the built-in group whose members a new group of the type has.
constexpr std::array<uint32_t, 6> kLikeGroup = {abi::DCGM_GROUP_ALL_GPUS,
                                                abi::DCGM_GROUP_NULL,
                                                abi::DCGM_GROUP_ALL_NVSWITCHES,
                                                abi::DCGM_GROUP_ALL_INSTANCES,
                                                abi::DCGM_GROUP_ALL_COMPUTE_INSTANCES,
                                                abi::DCGM_GROUP_ALL_ENTITIES};

// The first members of a group of a type; false for an unknown type.
bool MembersOfType(const Scene& scene, abi::dcgmGroupType_t type, std::vector<EntityKey>& members) {
  return type >= 0 && static_cast<size_t>(type) < kLikeGroup.size() &&
         MembersOf(scene, kLikeGroup[static_cast<size_t>(type)], members);
}

int AddTo(const Scene& scene, abi::dcgmGpuGrp_t group, EntityKey entity) {
  const std::optional<Entity> found = FindEntity(scene.sight(), entity, scene.now);
  if (scene.state.groups.Find(group) == nullptr) {
    return abi::DCGM_ST_NOT_CONFIGURED;
  }
  if (!found || entity.group == abi::DCGM_FE_NONE) {
    return abi::DCGM_ST_BADPARAM;
  }
  if (found->device.gpu >= 0 &&
      NoticedPresence(scene.world, found->device.gpu, scene.now) == Presence::kLost) {
    return abi::DCGM_ST_GPU_IS_LOST;
  }
  return scene.state.groups.Add(group, entity);
}

template <size_t kSize>
void CopyName(char (&to)[kSize], std::string_view from) {
  const size_t length = std::min(from.size(), sizeof(to) - 1);
  std::memcpy(to, from.data(), length);
  to[length] = '\0';
}

int FillGroupInfo(const Scene& scene, abi::dcgmGpuGrp_t group, GroupInfo& out) {
  std::vector<EntityKey> members;
  if (!MembersOf(scene, group, members)) {
    return abi::DCGM_ST_NOT_CONFIGURED;
  }
  const Group* const made = scene.state.groups.Find(group);
  const bool of_switches = EngineGroup(group) == kAllNvSwitchesGroup;
  const std::string_view built_in = of_switches ? kAllNvSwitchesName : kAllGpusName;
  CopyName(out.groupName, made != nullptr ? std::string_view(made->name) : built_in);
  out.count = static_cast<uint32_t>(std::min(members.size(), kMaxGroupEntities));
  for (uint32_t i = 0; i < out.count; ++i) {
    out.entityList[i] = {members[i].group, members[i].id};
  }
  return abi::DCGM_ST_OK;
}

int SetHealth(const Scene& scene, abi::dcgmGpuGrp_t group, uint32_t systems) {
  std::vector<EntityKey> members;
  if (!MembersOf(scene, group, members)) {
    return abi::DCGM_ST_NOT_CONFIGURED;
  }
  scene.state.health[EngineGroup(group)] = {.systems = systems, .since = scene.now};
  return abi::DCGM_ST_OK;
}

HealthWatch HealthWatchOf(const Scene& scene, abi::dcgmGpuGrp_t group) {
  const auto found = scene.state.health.find(EngineGroup(group));
  return found == scene.state.health.end() ? HealthWatch{} : found->second;
}

void FillHealth(std::span<const Incident> incidents, HealthResponse& out) {
  out.overallHealth = abi::DCGM_HEALTH_RESULT_PASS;
  out.incidentCount = 0;
  for (const Incident& incident :
       incidents.first(std::min(incidents.size(), std::size(out.incidents)))) {
    abi::dcgmIncidentInfo_t& told = out.incidents[out.incidentCount++];
    told = {.system = incident.system,
            .health = incident.result,
            .error = {.msg = {}, .code = incident.code},
            .entityInfo = {incident.entity.group, incident.entity.id}};
    CopyName(told.error.msg, incident.message);
    out.overallHealth = std::max(out.overallHealth, incident.result);
  }
}

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

abi::dcgmReturn_t dcgmGroupCreate(abi::dcgmHandle_t handle, abi::dcgmGroupType_t type,
                                  const char* name, abi::dcgmGpuGrp_t* out) {
  return Call(handle, __func__, [&](const Scene& scene) -> int {
    std::vector<EntityKey> members;
    if (out == nullptr || !MembersOfType(scene, type, members)) {
      return abi::DCGM_ST_BADPARAM;
    }
    return scene.state.groups.Create(name, std::move(members), *out);
  });
}

abi::dcgmReturn_t dcgmGroupDestroy(abi::dcgmHandle_t handle, abi::dcgmGpuGrp_t group) {
  return Call(handle, __func__, Concern::Group(group), [&](const Scene& scene) {
    scene.state.watches.UnwatchGroup(group, scene.now);
    scene.state.health.erase(group);
    return scene.state.groups.Destroy(group);
  });
}

abi::dcgmReturn_t dcgmGroupAddDevice(abi::dcgmHandle_t handle, abi::dcgmGpuGrp_t group,
                                     unsigned int gpu) {
  return Call(handle, __func__, Concern::Gpu(gpu), [&](const Scene& scene) {
    return AddTo(scene, group, {abi::DCGM_FE_GPU, gpu});
  });
}

abi::dcgmReturn_t dcgmGroupAddEntity(abi::dcgmHandle_t handle, abi::dcgmGpuGrp_t group,
                                     abi::dcgm_field_entity_group_t kind,
                                     abi::dcgm_field_eid_t entity) {
  return Call(handle, __func__, Concern::Of({kind, entity}), [&](const Scene& scene) {
    return AddTo(scene, group, {kind, entity});
  });
}

abi::dcgmReturn_t dcgmGroupGetInfo(abi::dcgmHandle_t handle, abi::dcgmGpuGrp_t group,
                                   GroupInfo* out) {
  return Call(handle, __func__, Concern::Group(group).Filling(out), [&](const Scene& scene) -> int {
    if (out == nullptr) {
      return abi::DCGM_ST_BADPARAM;
    }
    const bool accepted =
        out->version == kGroupInfoWord && EngineKnows(scene.world, scene.now, "", kDcgmMajor);
    return accepted ? FillGroupInfo(scene, group, *out) : abi::DCGM_ST_VER_MISMATCH;
  });
}

abi::dcgmReturn_t dcgmFieldGroupCreate(abi::dcgmHandle_t handle, int count,
                                       const unsigned short* fields, const char* name,
                                       abi::dcgmFieldGrp_t* out) {
  return Call(handle, __func__, [&](const Scene& scene) -> int {
    if (fields == nullptr || out == nullptr || count < 0) {
      return abi::DCGM_ST_BADPARAM;
    }
    const std::span<const unsigned short> ids(fields, static_cast<size_t>(count));
    const bool known = std::ranges::all_of(ids, [&](unsigned short id) {
      const Field* const field = FieldOfLibrary(id);
      return field == nullptr || EngineKnows(scene.world, scene.now, field->since, 0);
    });
    return known ? scene.state.field_groups.Create(name, ids, *out) : abi::DCGM_ST_BADPARAM;
  });
}

abi::dcgmReturn_t dcgmFieldGroupDestroy(abi::dcgmHandle_t handle, abi::dcgmFieldGrp_t group) {
  return Call(handle, __func__,
              [&](const Scene& scene) { return scene.state.field_groups.Destroy(group); });
}

abi::dcgmReturn_t dcgmHealthSet(abi::dcgmHandle_t handle, abi::dcgmGpuGrp_t group,
                                abi::dcgmHealthSystems_t systems) {
  return Call(handle, __func__, Concern::Group(group),
              [&](const Scene& scene) { return SetHealth(scene, group, systems); });
}

abi::dcgmReturn_t dcgmHealthGet(abi::dcgmHandle_t handle, abi::dcgmGpuGrp_t group,
                                abi::dcgmHealthSystems_t* out) {
  return Call(handle, __func__, Concern::Group(group), [&](const Scene& scene) -> int {
    std::vector<EntityKey> members;
    if (out == nullptr) {
      return abi::DCGM_ST_BADPARAM;
    }
    if (!MembersOf(scene, group, members)) {
      return abi::DCGM_ST_NOT_CONFIGURED;
    }
    *out = HealthWatchOf(scene, group).systems;
    return abi::DCGM_ST_OK;
  });
}

abi::dcgmReturn_t dcgmHealthCheck(abi::dcgmHandle_t handle, abi::dcgmGpuGrp_t group,
                                  HealthResponse* out) {
  return Call(handle, __func__, Concern::Group(group).Filling(out), [&](const Scene& scene) -> int {
    std::vector<EntityKey> members;
    if (out == nullptr) {
      return abi::DCGM_ST_BADPARAM;
    }
    if (out->version != kHealthResponseWord ||
        !EngineKnows(scene.world, scene.now, "", kDcgmMajor)) {
      return abi::DCGM_ST_VER_MISMATCH;
    }
    if (!MembersOf(scene, group, members)) {
      return abi::DCGM_ST_NOT_CONFIGURED;
    }
    FillHealth(FindIncidents(scene, members, HealthWatchOf(scene, group)), *out);
    return abi::DCGM_ST_OK;
  });
}

int dcgmErrorGetPriorityByCode(uint32_t code) { return KindOfError(code).severity; }
int dcgmErrorGetCategoryByCode(uint32_t code) { return KindOfError(code).category; }

}  // extern "C"
#pragma GCC visibility pop

}  // namespace podgpu::sim
