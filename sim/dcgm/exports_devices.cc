// Exported: the devices of a node, and the facts about each.
#include <algorithm>
#include <string_view>
#include <vector>

#include "abi/dcgm_devices.h"
#include "sim/dcgm/devices.h"
#include "sim/dcgm/fabric.h"
#include "sim/dcgm/generation.h"
#include "sim/dcgm/library.h"

namespace podgpu::sim {
namespace {

// The releases in which version words appeared; a library lacks the words of the other generation.
[[maybe_unused]] constexpr std::string_view kSince40 = "4.0.0";
[[maybe_unused]] constexpr std::string_view kSince43 = "4.3.0";
[[maybe_unused]] constexpr std::string_view kSince46 = "4.6.0";

// Whether the engine considers the GPU usable.
bool IsSupported(const Scene& scene, EntityKey gpu) {
  return NoticedPresence(scene.world, scene.state.start.gpus.WorldGpu(gpu.id), scene.now) ==
         Presence::kHere;
}

int ListGpus(const Scene& scene, bool only_supported, unsigned int* ids, int* count) {
  if (ids == nullptr || count == nullptr) {
    return abi::DCGM_ST_BADPARAM;
  }
  *count = 0;
  for (const EntityKey& gpu : ListEntities(scene.sight(), abi::DCGM_FE_GPU, scene.now)) {
    if (!only_supported || IsSupported(scene, gpu)) {
      ids[(*count)++] = gpu.id;
    }
  }
  return abi::DCGM_ST_OK;
}

// The status as dcgmGetGpuStatus returns it.
abi::DcgmEntityStatus_t StatusOf(const Scene& scene, unsigned int gpu) {
  const int world_gpu = scene.state.start.gpus.WorldGpu(gpu);
  if (world_gpu < 0) {
    return abi::DcgmEntityStatusUnknown;
  }
  switch (NoticedPresence(scene.world, world_gpu, scene.now)) {
    case Presence::kLost:
      return abi::DcgmEntityStatusLost;
    case Presence::kDetached:
      return abi::DcgmEntityStatusDetached;
    case Presence::kHere:
      break;
  }
  return IsTelemetryPaused(scene.world, scene.now) ? abi::DcgmEntityStatusDisabled
                                                   : abi::DcgmEntityStatusOk;
}

// Whether entities of this kind can be listed; a dcgmReturn_t (DCGM 4.6.0, seen).
int CanList(const Scene& scene, abi::dcgm_field_entity_group_t kind) {
  switch (kind) {
    case abi::DCGM_FE_GPU:
    case abi::DCGM_FE_GPU_I:
    case abi::DCGM_FE_GPU_CI:
    case abi::DCGM_FE_SWITCH:
      return abi::DCGM_ST_OK;
    case abi::DCGM_FE_CPU:
    case abi::DCGM_FE_CPU_CORE:
      return CpuCount(scene.world) > 0 ? abi::DCGM_ST_OK : abi::DCGM_ST_MODULE_NOT_LOADED;
    case abi::DCGM_FE_CONNECTX:
      return kIsDcgm4 ? abi::DCGM_ST_OK : abi::DCGM_ST_NOT_SUPPORTED;
    default:
      return abi::DCGM_ST_NOT_SUPPORTED;
  }
}

int ListKind(const Scene& scene, abi::dcgm_field_entity_group_t kind, unsigned int flags,
             abi::dcgm_field_eid_t* out, int* count) {
  const int allowed = CanList(scene, kind);
  if (allowed != abi::DCGM_ST_OK) {
    return allowed;
  }
  std::vector<EntityKey> entities = ListEntities(scene.sight(), kind, scene.now);
  if (kind == abi::DCGM_FE_GPU && (flags & abi::DCGM_GEGE_FLAG_ONLY_SUPPORTED) != 0) {
    std::erase_if(entities, [&](EntityKey gpu) { return !IsSupported(scene, gpu); });
  }
  const int capacity = *count;
  *count = static_cast<int>(entities.size());
  if (capacity < *count) {
    return abi::DCGM_ST_INSUFFICIENT_SIZE;
  }
  if (out == nullptr && *count > 0) {
    return abi::DCGM_ST_BADPARAM;
  }
  std::ranges::transform(entities, out, &EntityKey::id);
  return abi::DCGM_ST_OK;
}

// Refuses a null or an `out` whose version is not `word`; otherwise runs `fill`.
template <typename Struct, typename Fill>
int Versioned(Struct* out, uint32_t word, Fill&& fill) {
  if (out == nullptr) {
    return abi::DCGM_ST_BADPARAM;
  }
  return out->version != word ? abi::DCGM_ST_VER_MISMATCH : fill(*out);
}

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

// Both lists hold 32 ids.
abi::dcgmReturn_t dcgmGetAllDevices(abi::dcgmHandle_t handle, unsigned int* ids, int* count) {
  return Call(handle, __func__,
              [&](const Scene& scene) { return ListGpus(scene, false, ids, count); });
}

abi::dcgmReturn_t dcgmGetAllSupportedDevices(abi::dcgmHandle_t handle, unsigned int* ids,
                                             int* count) {
  return Call(handle, __func__,
              [&](const Scene& scene) { return ListGpus(scene, true, ids, count); });
}

abi::dcgmReturn_t dcgmGetGpuStatus(abi::dcgmHandle_t handle, unsigned int gpu,
                                   abi::DcgmEntityStatus_t* out) {
  return Call(handle, __func__, Concern::Gpu(gpu), [&](const Scene& scene) -> int {
    if (out == nullptr) {
      return abi::DCGM_ST_BADPARAM;
    }
    *out = StatusOf(scene, gpu);
    return abi::DCGM_ST_OK;
  });
}

abi::dcgmReturn_t dcgmGetEntityGroupEntities(abi::dcgmHandle_t handle,
                                             abi::dcgm_field_entity_group_t kind,
                                             abi::dcgm_field_eid_t* out, int* count,
                                             unsigned int flags) {
  return Call(handle, __func__, [&](const Scene& scene) -> int {
    return count == nullptr ? abi::DCGM_ST_BADPARAM : ListKind(scene, kind, flags, out, count);
  });
}

abi::dcgmReturn_t dcgmGetDeviceAttributes(abi::dcgmHandle_t handle, unsigned int gpu,
                                          abi::dcgmDeviceAttributes_v3* out) {
  return Call(handle, __func__, Concern::Gpu(gpu).Filling(out), [&](const Scene& scene) {
    return Versioned(out, abi::dcgmDeviceAttributes_version3,
                     [&](auto& attributes) { return FillAttributes(scene, gpu, attributes); });
  });
}

abi::dcgmReturn_t dcgmGetGpuInstanceHierarchy(abi::dcgmHandle_t handle,
                                              abi::dcgmMigHierarchy_v2* out) {
  return Call(handle, __func__, Concern().Filling(out), [&](const Scene& scene) {
    return Versioned(out, abi::dcgmMigHierarchy_version2,
                     [&](auto& hierarchy) { return FillHierarchy(scene, hierarchy); });
  });
}

abi::dcgmReturn_t dcgmGetCpuHierarchy(abi::dcgmHandle_t handle, abi::dcgmCpuHierarchy_v1* out) {
  return Call(handle, __func__, [&](const Scene& scene) {
    return Versioned(out, abi::dcgmCpuHierarchy_version1,
                     [&](auto& cpus) { return FillCpus(scene, cpus); });
  });
}

abi::dcgmReturn_t dcgmGetDeviceTopology(abi::dcgmHandle_t handle, unsigned int gpu,
                                        abi::dcgmDeviceTopology_v1* out) {
  return Call(handle, __func__, Concern::Gpu(gpu).Filling(out), [&](const Scene& scene) -> int {
#if PODGPU_DCGM_MAJOR == 4
    if (out != nullptr && out->version == abi::dcgmDeviceTopology_version2) {
      if (!EngineKnows(scene.world, scene.now, kSince46, kDcgmMajor)) {
        return abi::DCGM_ST_VER_MISMATCH;
      }
      return FillTopology(scene, gpu, *reinterpret_cast<abi::dcgmDeviceTopology_v2*>(out));
    }
#endif
    return Versioned(out, abi::dcgmDeviceTopology_version1,
                     [&](auto& topology) { return FillTopology(scene, gpu, topology); });
  });
}

#if PODGPU_DCGM_MAJOR == 4

abi::dcgmReturn_t dcgmGetCpuHierarchy_v2(abi::dcgmHandle_t handle, abi::dcgmCpuHierarchy_v2* out) {
  return Call(handle, __func__, [&](const Scene& scene) {
    return Versioned(out, abi::dcgmCpuHierarchy_version2, [&](auto& cpus) {
      return EngineKnows(scene.world, scene.now, kSince40, kDcgmMajor) ? FillCpus(scene, cpus)
                                                                       : abi::DCGM_ST_VER_MISMATCH;
    });
  });
}

abi::dcgmReturn_t dcgmGetNvLinkLinkStatus(abi::dcgmHandle_t handle, abi::dcgmNvLinkStatus_v4* out) {
  return Call(handle, __func__, Concern().Filling(out), [&](const Scene& scene) -> int {
    const bool is_v5 = out != nullptr && out->version == abi::dcgmNvLinkStatus_version5;
    if (!EngineKnows(scene.world, scene.now, is_v5 ? kSince46 : kSince40, kDcgmMajor)) {
      return abi::DCGM_ST_VER_MISMATCH;
    }
    if (is_v5) {
      return FillLinkStatus(scene, *reinterpret_cast<abi::dcgmNvLinkStatus_v5*>(out));
    }
    return Versioned(out, abi::dcgmNvLinkStatus_version4,
                     [&](auto& status) { return FillLinkStatus(scene, status); });
  });
}

abi::dcgmReturn_t dcgmGetNvLinkP2PStatus(abi::dcgmHandle_t handle,
                                         abi::dcgmNvLinkP2PStatus_v1* out) {
  return Call(handle, __func__, [&](const Scene& scene) {
    return Versioned(out, abi::dcgmNvLinkP2PStatus_version1, [&](auto& status) {
      return EngineKnows(scene.world, scene.now, kSince43, kDcgmMajor)
                 ? FillP2PStatus(scene, status)
                 : abi::DCGM_ST_VER_MISMATCH;
    });
  });
}

#else

abi::dcgmReturn_t dcgmGetNvLinkLinkStatus(abi::dcgmHandle_t handle, abi::dcgmNvLinkStatus_v3* out) {
  return Call(handle, __func__, [&](const Scene& scene) {
    return Versioned(out, abi::dcgmNvLinkStatus_version3, [&](auto& status) {
      return EngineKnows(scene.world, scene.now, "", kDcgmMajor) ? FillLinkStatus(scene, status)
                                                                 : abi::DCGM_ST_VER_MISMATCH;
    });
  });
}

#endif

abi::dcgmReturn_t dcgmProfGetSupportedMetricGroups(abi::dcgmHandle_t handle,
                                                   abi::dcgmProfGetMetricGroups_v3* out) {
  const Concern concern = out == nullptr ? Concern() : Concern::Gpu(out->gpuId).Filling(out);
  return Call(handle, __func__, concern, [&](const Scene& scene) {
    return Versioned(out, abi::dcgmProfGetMetricGroups_version3, [&](auto& groups) {
      const int result = FillMetricGroups(scene, groups);
      if (result != abi::DCGM_ST_OK) {
      }
      return result;
    });
  });
}

}  // extern "C"
#pragma GCC visibility pop

}  // namespace podgpu::sim
