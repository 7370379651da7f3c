#include "sim/dcgm/devices.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <span>

#include "sim/dcgm/fabric.h"
#include "sim/dcgm/faults.h"
#include "sim/dcgm/fields.h"
#include "sim/world/board_counts.h"

namespace podgpu::sim {
namespace {

constexpr uint32_t kBlank32 = abi::DCGM_INT32_BLANK;
constexpr uint32_t kNoComputeInstance = 0xffffffff;
constexpr uint32_t kClockSets = 3;
constexpr uint64_t kPathOverCpu = 0x10;
constexpr uint64_t kPathOneLink = 0x100;  // Two links have the next bit, and so on.

// Consecutive profiling fields that GPM samples together (DCGM 4.6.0: 34, 46 and 13 fields).
struct MetricRange {
  uint16_t group;
  uint16_t first, last;
};
constexpr std::array<MetricRange, 4> kMetricRanges = {
    {{0, 1001, 1034}, {1, 1040, 1083}, {1, 1532, 1533}, {2, 1084, 1096}}};
constexpr uint16_t kMetricGroupCount = 3;

// The world's index of a GPU; -1 for a GPU that the engine has not found.
int WorldGpu(const Scene& scene, uint32_t id) { return scene.state.start.gpus.WorldGpu(id); }

uint32_t Watts(int64_t milliwatts) { return static_cast<uint32_t>(milliwatts / 1000); }
uint32_t Mib(int64_t bytes) { return static_cast<uint32_t>(bytes / kMib); }

// Sets versions of the members, blank numbers and empty texts.
void BlankAttributes(const Scene& scene, abi::dcgmDeviceAttributes_v3& out) {
  const uint32_t version = out.version;
  out = {};
  out.version = version;
  out.clockSets.version = abi::StructVersion<abi::dcgmDeviceSupportedClockSets_v1>(1);
  out.thermalSettings = {.version = abi::StructVersion<abi::dcgmDeviceThermals_v1>(1),
                         .slowdownTemp = kBlank32,
                         .shutdownTemp = kBlank32};
  out.powerLimits = {.version = abi::StructVersion<abi::dcgmDevicePowerLimits_v1>(1),
                     .curPowerLimit = kBlank32,
                     .defaultPowerLimit = kBlank32,
                     .enforcedPowerLimit = kBlank32,
                     .minPowerLimit = kBlank32,
                     .maxPowerLimit = kBlank32};
  out.identifiers.version = abi::StructVersion<abi::dcgmDeviceIdentifiers_v1>(1);
  out.identifiers.pciDeviceId = kBlank32;
  out.identifiers.pciSubSystemId = kBlank32;
  CopyText(out.identifiers.driverVersion, scene.world.driver_version());
  out.memoryUsage = {.version = abi::StructVersion<abi::dcgmDeviceMemoryUsage_v1>(1),
                     .bar1Total = kBlank32,
                     .fbTotal = kBlank32,
                     .fbUsed = kBlank32,
                     .fbFree = kBlank32};
  out.settings = {.version = abi::StructVersion<abi::dcgmDeviceSettings_v2>(2),
                  .persistenceModeEnabled = kBlank32,
                  .migModeEnabled = kBlank32,
                  .confidentialComputeMode = kBlank32};
}

void FillClockSets(const GpuFacts& facts, abi::dcgmDeviceSupportedClockSets_v1& out) {
  const std::array<int, kClockSets> sm_clocks = {
      facts.max_sm_clock_mhz, (facts.max_sm_clock_mhz + facts.idle_sm_clock_mhz) / 2,
      facts.idle_sm_clock_mhz};
  for (const int sm_clock : sm_clocks) {
    out.clockSet[out.count++] = {
        .version = static_cast<int>(abi::StructVersion<abi::dcgmClockSet_v1>(1)),
        .memClock = static_cast<uint32_t>(facts.max_memory_clock_mhz),
        .smClock = static_cast<uint32_t>(sm_clock)};
  }
}

void FillIdentifiers(const GpuFacts& facts, abi::dcgmDeviceIdentifiers_v1& out) {
  CopyText(out.brandName, facts.brand);
  CopyText(out.deviceName, facts.model);
  CopyText(out.pciBusId, facts.pci_bus_id);
  CopyText(out.serial, facts.serial.empty() ? abi::DCGM_STR_NOT_SUPPORTED : facts.serial);
  CopyText(out.uuid, facts.uuid);
  CopyText(out.vbios, facts.vbios);
  CopyText(out.inforomImageVersion, facts.inforom_image);
}

// The attributes of a missing GPU: of a detached one those that the engine remembers, of a lost one
// none (DCGM 4.6.0, seen).
void FillGone(const GpuFacts& facts, Presence presence, abi::dcgmDeviceIdentifiers_v1& out) {
  const bool remembered = presence == Presence::kDetached;
  const auto text = [&](std::string_view known) {
    return remembered ? known : std::string_view(abi::DCGM_STR_BLANK);
  };
  CopyText(out.uuid, text(facts.uuid));
  CopyText(out.deviceName, text(facts.model));
  CopyText(out.pciBusId, text(facts.pci_bus_id));
  CopyText(out.brandName, abi::DCGM_STR_BLANK);
  CopyText(out.serial, abi::DCGM_STR_BLANK);
  CopyText(out.vbios, abi::DCGM_STR_BLANK);
  CopyText(out.inforomImageVersion, abi::DCGM_STR_BLANK);
}

// The NVLink and PCIe bits of the path between two GPUs.
uint64_t PathBits(const Scene& scene, int gpu, int other, uint64_t& link_ids) {
  const int links =
      std::min(scene.world.gpu(gpu).nvlink_count, scene.world.gpu(other).nvlink_count);
  const bool joined = links > 0 && !scene.world.mig_enabled(gpu, scene.now) &&
                      !scene.world.mig_enabled(other, scene.now);
  link_ids = joined ? (uint64_t{1} << static_cast<unsigned>(links)) - 1 : 0;
  return kPathOverCpu | (joined ? kPathOneLink << static_cast<unsigned>(links - 1) : 0);
}

template <typename Topology>
int FillAnyTopology(const Scene& scene, uint32_t gpu, Topology& out) {
  const int own = WorldGpu(scene, gpu);
  if (own < 0) {
    return abi::DCGM_ST_BADPARAM;
  }
  const uint32_t version = out.version;
  out = Topology{};
  out.version = version;
  out.cpuAffinityMask[0] = kNearCores;
  const auto count = static_cast<uint32_t>(scene.state.start.gpus.count());
  for (uint32_t other = 0; other < count; ++other) {
    if (other == gpu) {
      continue;
    }
    uint64_t link_ids = 0;
    auto& path = out.gpuPaths[out.numGpus++];
    path.gpuId = other;
    path.path =
        static_cast<decltype(path.path)>(PathBits(scene, own, WorldGpu(scene, other), link_ids));
    path.localNvLinkIds = static_cast<decltype(path.localNvLinkIds)>(link_ids);
  }
  return abi::DCGM_ST_OK;
}

abi::dcgmMigHierarchyInfo_v2 InstanceEntry(const Scene& scene, uint32_t id,
                                           const GpuInstanceFacts& facts) {
  const int gpu = WorldGpu(scene, id);
  abi::dcgmMigHierarchyInfo_v2 entry{};
  entry.entity = {abi::DCGM_FE_GPU_I,
                  InstanceNumber(scene.sight(), gpu, facts.dcgm_entity_id, scene.now)};
  entry.parent = {abi::DCGM_FE_GPU, id};
  CopyText(entry.info.gpuUuid, scene.world.gpu(gpu).uuid);
  entry.info.nvmlGpuIndex = id;
  entry.info.nvmlInstanceId = static_cast<uint32_t>(facts.gpu_instance_id);
  entry.info.nvmlComputeInstanceId = kNoComputeInstance;
  entry.info.nvmlMigProfileId = static_cast<uint32_t>(facts.profile_id);
  entry.info.nvmlProfileSlices = static_cast<uint32_t>(facts.compute_slices);
  return entry;
}

// NVML's number of the profile of a compute instance, by its slices (nvml.h,
// NVML_COMPUTE_INSTANCE_PROFILE_*).
uint32_t ComputeProfileId(int slices) {
  constexpr std::array<uint32_t, 9> kIds = {0, 0, 1, 2, 3, 0, 6, 4, 5};
  return kIds.at(static_cast<size_t>(slices));
}

template <typename Hierarchy>
int FillAnyCpus(const Scene& scene, Hierarchy& out) {
  const uint32_t version = out.version;
  out = Hierarchy{};
  out.version = version;
  out.numCpus = static_cast<uint32_t>(CpuCount(scene.world));
  for (uint32_t id = 0; id < out.numCpus; ++id) {
    const int cpu = static_cast<int>(id);
    out.cpus[id].cpuId = id;
    out.cpus[id].ownedCores.version = abi::dcgmCpuHierarchyOwnedCores_version1;
    const int first = FirstCore(scene.world, cpu);
    for (int core = first; core < first + scene.world.cpu_cores(cpu); ++core) {
      const auto bit = static_cast<unsigned>(core);
      out.cpus[id].ownedCores.bitmask[bit / 64] |= uint64_t{1} << (bit % 64);
    }
  }
  return out.numCpus == 0 ? abi::DCGM_ST_MODULE_NOT_LOADED : abi::DCGM_ST_OK;
}

// Adds the fields of a range that this library knows.
void AddMetrics(const MetricRange& range, abi::dcgmProfMetricGroupInfo_v2& group) {
  for (uint16_t id = range.first; id <= range.last; ++id) {
    if (FieldOfLibrary(id) != nullptr && group.numFieldIds < std::size(group.fieldIds)) {
      group.fieldIds[group.numFieldIds++] = id;
    }
  }
}

}  // namespace

int FillAttributes(const Scene& scene, uint32_t gpu, abi::dcgmDeviceAttributes_v3& out) {
  BlankAttributes(scene, out);
  const int index = WorldGpu(scene, gpu);
  if (index < 0) {
    return abi::DCGM_ST_OK;
  }
  const GpuFacts& facts = scene.world.gpu(index);
  const Presence presence = NoticedPresence(scene.world, index, scene.now);
  if (presence != Presence::kHere) {
    FillGone(facts, presence, out.identifiers);
    return abi::DCGM_ST_OK;
  }
  FillClockSets(facts, out.clockSets);
  out.thermalSettings.slowdownTemp = static_cast<uint32_t>(facts.slowdown_temperature_c);
  out.thermalSettings.shutdownTemp = static_cast<uint32_t>(facts.shutdown_temperature_c);
  const uint32_t limit = Watts(scene.world.PowerLimitMw(index, scene.now));
  out.powerLimits.curPowerLimit = limit;
  out.powerLimits.enforcedPowerLimit = limit;
  out.powerLimits.defaultPowerLimit = Watts(facts.default_limit_mw);
  out.powerLimits.minPowerLimit = Watts(facts.min_limit_mw);
  out.powerLimits.maxPowerLimit = Watts(facts.max_limit_mw);
  FillIdentifiers(facts, out.identifiers);
  const int64_t used = scene.world.MemoryUsedBytes({.gpu = index}, scene.now);
  out.memoryUsage.bar1Total = Mib(facts.bar1_total_bytes);
  out.memoryUsage.fbTotal = Mib(facts.memory_total_bytes);
  out.memoryUsage.fbUsed = Mib(used);
  out.memoryUsage.fbFree = Mib(facts.memory_total_bytes - facts.memory_reserved_bytes - used);
  out.settings.persistenceModeEnabled = 1;
  out.settings.migModeEnabled = scene.world.mig_enabled(index, scene.now) ? 1 : 0;
  out.settings.confidentialComputeMode = 0;
  return abi::DCGM_ST_OK;
}

int FillHierarchy(const Scene& scene, abi::dcgmMigHierarchy_v2& out) {
  const World& world = scene.world;
  if (!scene.state.start.has_nvml) {
    return abi::DCGM_ST_NVML_NOT_LOADED;
  }
  out.count = 0;
  for (uint32_t id = 0; id < static_cast<uint32_t>(scene.state.start.gpus.count()); ++id) {
    const int gpu = WorldGpu(scene, id);
    for (int i = 0; i < world.instance_count(gpu, scene.now); ++i) {
      const abi::dcgmMigHierarchyInfo_v2 instance =
          InstanceEntry(scene, id, world.instance(gpu, i, scene.now));
      const int computes = world.compute_count(gpu, i, scene.now);
      if (out.count + 1 + static_cast<uint32_t>(computes) > std::size(out.entityList)) {
        return abi::DCGM_ST_INSUFFICIENT_SIZE;
      }
      out.entityList[out.count++] = instance;
      for (int c = 0; c < computes; ++c) {
        const ComputeInstanceFacts facts = world.compute(gpu, i, c, scene.now);
        abi::dcgmMigHierarchyInfo_v2 entry = instance;
        entry.parent = instance.entity;
        entry.entity = {abi::DCGM_FE_GPU_CI,
                        InstanceNumber(scene.sight(), gpu, facts.dcgm_entity_id, scene.now)};
        entry.info.nvmlComputeInstanceId = static_cast<uint32_t>(facts.compute_instance_id);
        entry.info.nvmlMigProfileId = ComputeProfileId(facts.slices);
        entry.info.nvmlProfileSlices = static_cast<uint32_t>(facts.slices);
        out.entityList[out.count++] = entry;
      }
    }
  }
  return abi::DCGM_ST_OK;
}

int FillTopology(const Scene& scene, uint32_t gpu, abi::dcgmDeviceTopology_v1& out) {
  return FillAnyTopology(scene, gpu, out);
}

int FillTopology(const Scene& scene, uint32_t gpu, abi::dcgmDeviceTopology_v2& out) {
  return FillAnyTopology(scene, gpu, out);
}

abi::dcgmNvLinkLinkState_t LinkState(const Scene& scene, int gpu, size_t index) {
  const bool works = index < static_cast<size_t>(scene.world.gpu(gpu).nvlink_count) &&
                     !scene.world.mig_enabled(gpu, scene.now);
  if (!works) {
    return abi::DcgmNvLinkLinkStateNotSupported;
  }
  return IsLinkDown(scene.world, gpu, static_cast<int>(index), scene.now)
             ? abi::DcgmNvLinkLinkStateDown
             : abi::DcgmNvLinkLinkStateUp;
}

abi::dcgmNvLinkLinkState_t PortState(const Scene& scene, int nvswitch, size_t index) {
  const GpuLink end = AtPort(scene.world, nvswitch, static_cast<int>(index));
  return end.gpu < 0 ? abi::DcgmNvLinkLinkStateNotSupported
                     : LinkState(scene, end.gpu, static_cast<size_t>(end.link));
}

int FillCpus(const Scene& scene, abi::dcgmCpuHierarchy_v1& out) { return FillAnyCpus(scene, out); }

int FillCpus(const Scene& scene, abi::dcgmCpuHierarchy_v2& out) {
  const int result = FillAnyCpus(scene, out);
  for (abi::dcgmCpuHierarchyCpu_v2& cpu : std::span(out.cpus).first(out.numCpus)) {
    CopyText(cpu.serial, abi::DCGM_STR_NOT_SUPPORTED);
  }
  return result;
}

int FillP2PStatus(const Scene& scene, abi::dcgmNvLinkP2PStatus_v1& out) {
  constexpr int kP2PNotSupported = 5;
  const uint32_t version = out.version;
  out = {};
  out.version = version;
  out.numGpus = static_cast<uint32_t>(scene.state.start.gpus.count());
  // The path needs only one link, and a fault takes down only one link between two GPUs.
  const auto has_links = [&](uint32_t id) {
    return LinkState(scene, WorldGpu(scene, id), 0) != abi::DcgmNvLinkLinkStateNotSupported;
  };
  for (uint32_t id = 0; id < out.numGpus; ++id) {
    out.gpus[id].entityId = id;
    for (uint32_t other = 0; other < out.numGpus; ++other) {
      const bool joined = has_links(id) && has_links(other);
      out.gpus[id].linkStatus[other] = joined ? 0 : kP2PNotSupported;
    }
  }
  return abi::DCGM_ST_OK;
}

int FillMetricGroups(const Scene& scene, abi::dcgmProfGetMetricGroups_v3& out) {
  const bool has_module = scene.world.has_profiling_module();
  const int gpu = WorldGpu(scene, out.gpuId);
  if (gpu < 0 || (!scene.world.gpu(gpu).has_gpm && !has_module)) {
    return abi::DCGM_ST_MODULE_NOT_LOADED;
  }
  const bool gpm = scene.world.gpu(gpu).has_gpm;
  std::array<abi::dcgmProfMetricGroupInfo_v2, kMetricGroupCount> groups{};
  for (const MetricRange& range : kMetricRanges) {
    AddMetrics(range, groups[range.group]);
  }
  out.numMetricGroups = 0;
  const uint16_t group_count = gpm ? kMetricGroupCount : 1;
  for (uint16_t major = 0; major < group_count; ++major) {
    groups[major].majorId = major;
    if (groups[major].numFieldIds != 0) {
      out.metricGroups[out.numMetricGroups++] = groups[major];
    }
  }
  return abi::DCGM_ST_OK;
}

}  // namespace podgpu::sim
