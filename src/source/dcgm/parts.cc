#include "source/dcgm/parts.h"

#include <algorithm>
#include <span>
#include <string_view>
#include <utility>

#include "absl/strings/str_format.h"

#include "source/dcgm/error.h"

namespace podgpu {
namespace {

using abi::dcgmHandle_t;
using abi::dcgmReturn_t;

// The largest parent id that fits into a link's id.
constexpr uint32_t kMostParents = 256;

constexpr const char* kNoneAnyMore = "lists none, but listed some before";

// Codes by which an engine says that a node has no such parts.
bool SaysNone(dcgmReturn_t code) {
  return code == abi::DCGM_ST_NOT_SUPPORTED || code == abi::DCGM_ST_MODULE_NOT_LOADED ||
         code == abi::DCGM_ST_NVML_NOT_LOADED;
}

// Adds a part for each entry of `states` that is up.
void AddUp(std::span<const abi::dcgmNvLinkLinkState_t> states, const Part& like,
           std::vector<Part>& links) {
  for (size_t i = 0; i < states.size(); ++i) {
    if (states[i] == abi::DcgmNvLinkLinkStateUp) {
      links.push_back(like);
      links.back().id = static_cast<uint32_t>(i);
    }
  }
}

// Returns the switches of a reply and the links that are up; kInternal for an impossible reply.
template <typename Reply>
StatusOr<std::vector<Part>> PartsIn(const Reply& reply, const Topology& topology) {
  if (reply.numGpus > std::size(reply.gpus) || reply.numNvSwitches > std::size(reply.nvSwitches)) {
    return absl::InternalError(
        absl::StrFormat("counts the links of %d GPUs and %d switches, but DCGM supports 32 and 12",
                        reply.numGpus, reply.numNvSwitches));
  }
  std::vector<Part> switches;
  std::vector<Part> links;
  for (const auto& gpu : std::span(reply.gpus).first(reply.numGpus)) {
    const auto found = std::ranges::find(topology.gpus, gpu.entityId, &Gpu::gpu_id);
    if (found != topology.gpus.end()) {
      const auto index = static_cast<uint16_t>(found - topology.gpus.begin());
      AddUp(gpu.linkState, {.kind = PartKind::kNvLink, .gpu = index}, links);
    }
  }
  for (const auto& entry : std::span(reply.nvSwitches).first(reply.numNvSwitches)) {
    const bool is_new = std::ranges::find(switches, entry.entityId, &Part::id) == switches.end();
    if (entry.entityId >= kMostParents || !is_new) {
      return absl::InternalError(
          absl::StrFormat("lists a switch %d twice, or above 255", entry.entityId));
    }
    switches.push_back({.kind = PartKind::kNvSwitch, .id = entry.entityId});
    AddUp(entry.linkState, {.kind = PartKind::kNvLink, .parent = entry.entityId}, links);
  }
  // Links of GPUs come first, by the order of the topology.
  std::ranges::stable_sort(links, [](const Part& a, const Part& b) {
    return std::pair(!a.gpu, a.gpu ? *a.gpu : a.parent) <
           std::pair(!b.gpu, b.gpu ? *b.gpu : b.parent);
  });
  std::ranges::sort(switches, {}, &Part::id);
  switches.insert(switches.end(), links.begin(), links.end());
  return switches;
}

std::vector<Part> CoresOf(const abi::dcgmCpuHierarchyCpu_v1& cpu) {
  std::vector<Part> cores;
  constexpr uint32_t kBitsPerWord = 64;
  for (uint32_t word = 0; word < std::size(cpu.ownedCores.bitmask); ++word) {
    for (uint32_t bit = 0; bit < kBitsPerWord; ++bit) {
      if ((cpu.ownedCores.bitmask[word] >> bit & 1U) != 0) {
        cores.push_back(
            {.kind = PartKind::kCpuCore, .id = word * kBitsPerWord + bit, .parent = cpu.cpuId});
      }
    }
  }
  return cores;
}

void AddKind(const std::vector<Part>& from, PartKind kind, bool is_wanted, Topology& topology) {
  std::ranges::copy_if(from, std::back_inserter(topology.parts), [&](const Part& part) {
    const bool has_gpu = !part.gpu || *part.gpu < topology.gpus.size();
    return is_wanted && part.kind == kind && has_gpu;
  });
}

void AddAbsence(std::string_view what, const Status& status, Topology& topology) {
  absl::StrAppendFormat(&topology.parts_absence, "%s%s: the engine %s",
                        topology.parts_absence.empty() ? "" : "; ", what, status.message());
}

}  // namespace

abi::dcgmGroupEntityPair_t EntityOf(const Part& part, const Topology& topology,
                                    abi::DcgmGeneration generation) {
  switch (part.kind) {
    case PartKind::kNvSwitch:
      return {abi::DCGM_FE_SWITCH, part.id};
    case PartKind::kCpu:
      return {abi::DCGM_FE_CPU, part.id};
    case PartKind::kCpuCore:
      return {abi::DCGM_FE_CPU_CORE, part.id};
    case PartKind::kNvLink:
      break;
  }
  const auto parent_kind = part.gpu ? abi::DCGM_FE_GPU : abi::DCGM_FE_SWITCH;
  const uint32_t parent = part.gpu ? topology.gpus[*part.gpu].gpu_id : part.parent;
  return {abi::DCGM_FE_LINK, generation == abi::DcgmGeneration::k3
                                 ? abi::LinkEntityIdOf3(parent_kind, part.id, parent)
                                 : abi::LinkEntityId(parent_kind, part.id, parent)};
}

FieldLevel LevelOf(abi::dcgm_field_entity_group_t group) {
  switch (group) {
    case abi::DCGM_FE_NONE:
      return FieldLevel::kGlobal;
    case abi::DCGM_FE_GPU:
      return FieldLevel::kGpu;
    case abi::DCGM_FE_VGPU:
      return FieldLevel::kVgpu;
    case abi::DCGM_FE_GPU_I:
      return FieldLevel::kGpuInstance;
    case abi::DCGM_FE_GPU_CI:
      return FieldLevel::kComputeInstance;
    case abi::DCGM_FE_SWITCH:
      return FieldLevel::kSwitch;
    case abi::DCGM_FE_LINK:
      return FieldLevel::kLink;
    case abi::DCGM_FE_CPU:
      return FieldLevel::kCpu;
    case abi::DCGM_FE_CPU_CORE:
      return FieldLevel::kCpuCore;
    default:
      return FieldLevel::kConnectX;
  }
}

DcgmParts::DcgmParts(const abi::DcgmLibrary& library) : library_(library) {}

void DcgmParts::ForgetEngine() {
  links_.clear();
  cpus_.clear();
}

void DcgmParts::Fill(dcgmHandle_t handle, PartKinds kinds, Topology& topology) {
  if (kinds.switches || kinds.links) {
    StatusOr<std::vector<Part>> links = ReadLinks(handle, topology);
    const bool is_read = links.ok();
    if (is_read) {
      links_ = *std::move(links);
    } else {
      AddAbsence("NVLinks and switches", links.status(), topology);
    }
    had_links_ = had_links_ || !links_.empty();
    // In MIG mode a GPU has no links.
    const bool may_have_links =
        std::ranges::any_of(topology.gpus, [](const Gpu& gpu) { return !gpu.mig_enabled; });
    if (is_read && links_.empty() && had_links_ && may_have_links) {
      AddAbsence("NVLinks and switches", absl::NotFoundError(kNoneAnyMore), topology);
    }
    AddKind(links_, PartKind::kNvSwitch, kinds.switches, topology);
    AddKind(links_, PartKind::kNvLink, kinds.links, topology);
  }
  if (kinds.cpus || kinds.cores) {
    if (cpus_.empty()) {  // A node's driver may be loaded later.
      StatusOr<std::vector<Part>> cpus = ReadCpus(handle);
      if (cpus.ok()) {
        cpus_ = *std::move(cpus);
        if (cpus_.empty() && had_cpus_) {
          AddAbsence("CPUs", absl::NotFoundError(kNoneAnyMore), topology);
        }
      } else {
        AddAbsence("CPUs", cpus.status(), topology);
      }
    }
    had_cpus_ = had_cpus_ || !cpus_.empty();
    AddKind(cpus_, PartKind::kCpu, kinds.cpus, topology);
    AddKind(cpus_, PartKind::kCpuCore, kinds.cores, topology);
  }
}

StatusOr<std::vector<Part>> DcgmParts::ReadLinks(dcgmHandle_t handle, const Topology& topology) {
  if (!library_.Has(abi::DcgmCapability::kLinks)) {
    return std::vector<Part>{};
  }
  if (library_.generation == abi::DcgmGeneration::k3) {
    return AskLinks<abi::dcgmNvLinkStatus_v3>(handle, abi::dcgmNvLinkStatus_version3, topology);
  }
  // Before 4.3 (which added dcgmGetNvLinkP2PStatus) the id of a link loses its parent: all links
  // would read as links of GPU 0.
  if (!library_.Has(abi::DcgmCapability::kPaths)) {
    return absl::UnimplementedError(
        "cannot tell the links of two GPUs apart before 4.3. Install a newer libdcgm");
  }
  return AskLinks<abi::dcgmNvLinkStatus_v4>(handle, abi::dcgmNvLinkStatus_version4, topology);
}

template <typename Reply>
StatusOr<std::vector<Part>> DcgmParts::AskLinks(dcgmHandle_t handle, uint32_t version,
                                                const Topology& topology) {
  const auto reply = std::make_unique<Reply>();
  reply->version = version;
  const dcgmReturn_t code = library_.api.dcgmGetNvLinkLinkStatus(handle, reply.get());
  if (SaysNone(code)) {
    return std::vector<Part>{};
  }
  PODGPU_RETURN_IF_ERROR(DcgmStatus(library_.api, code, "does not report the state of its links"));
  return PartsIn(*reply, topology);
}

StatusOr<std::vector<Part>> DcgmParts::ReadCpus(dcgmHandle_t handle) {
  if (!library_.Has(abi::DcgmCapability::kCpus)) {
    return std::vector<Part>{};
  }
  const auto reply = std::make_unique<abi::dcgmCpuHierarchy_v1>();
  reply->version = abi::dcgmCpuHierarchy_version1;
  const dcgmReturn_t code = library_.api.dcgmGetCpuHierarchy(handle, reply.get());
  if (SaysNone(code)) {
    return std::vector<Part>{};
  }
  PODGPU_RETURN_IF_ERROR(DcgmStatus(library_.api, code, "does not list its CPUs"));
  if (reply->numCpus > std::size(reply->cpus)) {
    return absl::InternalError(
        absl::StrFormat("counts %d CPUs, but DCGM supports at most 8", reply->numCpus));
  }
  std::vector<Part> parts;
  std::vector<Part> cores;
  for (const abi::dcgmCpuHierarchyCpu_v1& cpu : std::span(reply->cpus).first(reply->numCpus)) {
    if (std::ranges::find(parts, cpu.cpuId, &Part::id) != parts.end()) {
      return absl::InternalError(absl::StrFormat("lists CPU %d twice", cpu.cpuId));
    }
    parts.push_back({.kind = PartKind::kCpu, .id = cpu.cpuId});
    const std::vector<Part> own = CoresOf(cpu);
    cores.insert(cores.end(), own.begin(), own.end());
  }
  parts.insert(parts.end(), cores.begin(), cores.end());
  return parts;
}

}  // namespace podgpu
