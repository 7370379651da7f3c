#include "source/dcgm/discovery.h"

#include <algorithm>
#include <array>
#include <span>
#include <string_view>
#include <utility>

#include "absl/strings/str_format.h"

#include "fields/field_ids.h"
#include "source/dcgm/error.h"
#include "source/decode.h"
#include "source/source.h"

namespace podgpu {
namespace {

using abi::dcgmHandle_t;
using abi::dcgmReturn_t;

// Profile names per call; the reply is 132 KB.
constexpr size_t kNamesPerCall = 32;

template <size_t kSize>
std::string TextOrEmpty(const char (&buffer)[kSize]) {
  return DecodeText(buffer, kSize).value_or("");
}

// Converts the engine's state of a device.  DCGM 4.6.0 reports a detached GPU (its driver is being
// unbound) as "lost", so both are the same here.  A disabled GPU works, but its telemetry is
// paused.
DeviceState StateOf(abi::DcgmEntityStatus_t status) {
  switch (status) {
    case abi::DcgmEntityStatusOk:
    case abi::DcgmEntityStatusFake:
    case abi::DcgmEntityStatusDisabled:
      return DeviceState::kOk;
    case abi::DcgmEntityStatusLost:
    case abi::DcgmEntityStatusDetached:
      return DeviceState::kLost;
    default:  // Unsupported, inaccessible, unknown.
      return DeviceState::kDegraded;
  }
}

// Returns whether `uuid` has the form of a GPU's UUID. Anything else is garbage, and would stay on
// the page as a lost GPU.
bool IsGpuUuid(std::string_view uuid) {
  const auto is_plain = [](char letter) {
    return (letter >= '0' && letter <= '9') || (letter >= 'a' && letter <= 'z') ||
           (letter >= 'A' && letter <= 'Z') || letter == '-';
  };
  return uuid.starts_with("GPU-") && std::ranges::all_of(uuid, is_plain);
}

// Entries of other kinds are not needed, or garbage.
bool IsInstance(const abi::dcgmMigHierarchyInfo_v2& entry) {
  return entry.entity.entityGroupId == abi::DCGM_FE_GPU_I ||
         entry.entity.entityGroupId == abi::DCGM_FE_GPU_CI;
}

// Returns kInternal for an impossible list: DCGM numbers GPUs from 0, each once.
Status CheckIds(std::span<const uint32_t> ids) {
  for (size_t i = 0; i < ids.size(); ++i) {
    if (ids[i] >= static_cast<uint32_t>(abi::DCGM_MAX_NUM_DEVICES)) {
      return absl::InternalError(
          absl::StrFormat("lists GPU %d, but DCGM's greatest number is 31", ids[i]));
    }
    if (std::ranges::count(ids, ids[i]) > 1) {
      return absl::InternalError(absl::StrFormat("lists GPU %d twice", ids[i]));
    }
  }
  return absl::OkStatus();
}

// Returns whether `ids` are numbers that an engine gives to instances of this GPU: they begin at
// the GPU's number times the maximum of instances per GPU (DCGM 4.6.0, observed).  The engine uses
// the same rule to find the GPU when values are read.
bool AreNumberedAfter(uint32_t gpu_id, const std::vector<uint32_t>& ids) {
  constexpr uint32_t kMostOnLargeBoards = 7;
  constexpr uint32_t kMostOnSmallBoards = 4;  // Always from gpu_id * 4 on.
  const auto [least, most] = std::ranges::minmax(ids);
  const bool is_large = least / kMostOnLargeBoards == gpu_id && most / kMostOnLargeBoards == gpu_id;
  const bool is_small = least == gpu_id * kMostOnSmallBoards && most / kMostOnSmallBoards == gpu_id;
  return is_large || is_small;
}

MigNode NodeOf(const abi::dcgmMigHierarchyInfo_v2& entry) {
  return {.is_compute_instance = entry.entity.entityGroupId == abi::DCGM_FE_GPU_CI,
          .entity_id = entry.entity.entityId,
          .parent_id = entry.parent.entityId,
          .gpu_instance_id = entry.info.nvmlInstanceId,
          .compute_instance_id = entry.info.nvmlComputeInstanceId};
}

bool SameNode(const MigNode& a, const MigNode& b) {
  return a.is_compute_instance == b.is_compute_instance && a.entity_id == b.entity_id &&
         a.parent_id == b.parent_id && a.gpu_instance_id == b.gpu_instance_id &&
         a.compute_instance_id == b.compute_instance_id;
}

// The profile of a misread instance is not read; it keeps its previous profile.  The engine would
// answer with the name of an instance of another GPU.
void KeepMisreadProfiles(const std::vector<GpuInstance>& read_before, Topology& topology) {
  for (GpuInstance& instance : topology.instances) {
    const auto before = std::ranges::find_if(read_before, [&](const GpuInstance& old) {
      return old.gpu == instance.gpu && old.gpu_instance_id == instance.gpu_instance_id;
    });
    if (instance.is_misread && before != read_before.end()) {
      instance.profile = before->profile;
    }
  }
}

// Returns why an engine that lists no GPU has none; empty if the driver is not the reason.
std::string DriverAbsence(const abi::DcgmTable& api, dcgmReturn_t code) {
  return code == abi::DCGM_ST_NVML_NOT_LOADED
             ? absl::StrFormat(
                   "runs without the driver's library, libnvidia-ml.so.1, and knows no GPU (%s)",
                   DcgmWords(api, code))
             : "";
}

}  // namespace

DcgmDiscovery::DcgmDiscovery(const abi::DcgmLibrary& library, bool is_embedded)
    : library_(library),
      is_embedded_(is_embedded),
      reply_(std::make_unique<abi::dcgmMigHierarchy_v2>()) {}

void DcgmDiscovery::ForgetEngine() {
  by_id_.clear();
  nodes_.clear();
  profile_ids_.clear();
  instances_.clear();
}

StatusOr<Topology> DcgmDiscovery::Discover(dcgmHandle_t handle) {
  Topology topology;
  PODGPU_RETURN_IF_ERROR(ReadGpus(handle, topology));
  // Instances refer to their GPU by its index, so the list of GPUs is complete and sorted before
  // the instances are read.
  seen_.AddLost(topology);
  std::ranges::sort(topology.gpus, {}, &Gpu::gpu_id);
  PODGPU_RETURN_IF_ERROR(ReadInstances(handle, topology));
  NumberEntities(topology);
  seen_.Note(topology);
  return topology;
}

Status DcgmDiscovery::ReadGpus(dcgmHandle_t handle, Topology& topology) {
  std::array<uint32_t, abi::DCGM_MAX_NUM_DEVICES> ids{};
  int count = 0;
  const dcgmReturn_t code = library_.api.dcgmGetAllDevices(handle, ids.data(), &count);
  PODGPU_RETURN_IF_ERROR(DcgmStatus(library_.api, code, "does not list its GPUs"));
  if (count < 0 || static_cast<size_t>(count) > ids.size()) {
    return absl::InternalError(
        absl::StrFormat("counts %d GPUs, but DCGM supports at most 32", count));
  }
  const std::span<const uint32_t> listed = std::span(ids).first(static_cast<size_t>(count));
  PODGPU_RETURN_IF_ERROR(CheckIds(listed));
  for (const uint32_t gpu_id : listed) {
    PODGPU_ASSIGN_OR_RETURN(Gpu gpu, ReadGpu(handle, gpu_id, topology.is_paused));
    const std::string& driver = by_id_[gpu_id].driver_version;
    if (topology.driver_version.empty()) {
      topology.driver_version = driver;
    }
    topology.gpus.push_back(std::move(gpu));
  }
  return absl::OkStatus();
}

// Sets `is_paused` if the telemetry of this GPU is paused.
StatusOr<Gpu> DcgmDiscovery::ReadGpu(dcgmHandle_t handle, uint32_t gpu_id, bool& is_paused) {
  abi::DcgmEntityStatus_t vendor_status = abi::DcgmEntityStatusUnknown;
  const dcgmReturn_t code = library_.api.dcgmGetGpuStatus(handle, gpu_id, &vendor_status);
  if (Status status = DcgmStatus(library_.api, code, "does not report the state of a GPU");
      LostConnection(status)) {
    return status;
  }
  DeviceState state = code == abi::DCGM_ST_OK ? StateOf(vendor_status) : DeviceState::kDegraded;

  is_paused = is_paused || vendor_status == abi::DcgmEntityStatusDisabled;
  Known& known = by_id_[gpu_id];
  known.gpu.gpu_id = gpu_id;
  const DeviceState before = known.gpu.state;
  const bool is_lost = state == DeviceState::kLost;
  // The identity is read once and after each change of the state.  A known GPU that is lost keeps
  // its identity, because the engine then reports only a part of it.
  if (known.gpu.uuid.empty() || (before != state && !is_lost)) {
    Status identity = ReadIdentity(handle, gpu_id, is_lost, known);
    if (LostConnection(identity)) {
      return identity;
    }
    if (!identity.ok() && !is_lost) {
      state = DeviceState::kDegraded;  // A device that does not answer must not hide the others.
    }
  }
  known.gpu.state = state;
  Gpu gpu = known.gpu;
  if (state == DeviceState::kOk && seen_.WasLost(gpu.uuid)) {
    gpu.state = DeviceState::kRecovering;
  }
  return gpu;
}

Status DcgmDiscovery::ReadIdentity(dcgmHandle_t handle, uint32_t gpu_id, bool is_lost,
                                   Known& known) const {
  abi::dcgmDeviceAttributes_v3 attributes{};
  attributes.version = abi::dcgmDeviceAttributes_version3;
  const dcgmReturn_t code = library_.api.dcgmGetDeviceAttributes(handle, gpu_id, &attributes);
  PODGPU_RETURN_IF_ERROR(
      DcgmStatus(library_.api, code, absl::StrFormat("does not identify GPU %d", gpu_id)));
  const abi::dcgmDeviceIdentifiers_v1& who = attributes.identifiers;
  known.driver_version = TextOrEmpty(who.driverVersion);  // An engine reports it for lost GPUs too.
  const std::string uuid = TextOrEmpty(who.uuid);
  if (uuid.empty()) {  // The GPU was lost just now: its known identity stays.
    return absl::OkStatus();
  }
  if (!IsGpuUuid(uuid)) {
    return absl::InternalError(
        absl::StrFormat("reports an invalid UUID of GPU %d: \"%s\"", gpu_id, uuid));
  }
  if (const Gpu* seen = seen_.Find(uuid); is_lost && seen != nullptr) {
    // For a detached GPU an engine reports only UUID, name and bus id (DCGM 4.6.0, observed).
    known.gpu = *seen;
    known.gpu.gpu_id = gpu_id;
    return absl::OkStatus();
  }
  known.gpu.uuid = uuid;
  known.gpu.pci_bus_id = TextOrEmpty(who.pciBusId);
  known.gpu.model = TextOrEmpty(who.deviceName);
  known.gpu.serial = TextOrEmpty(who.serial);
  known.gpu.vbios_version = TextOrEmpty(who.vbios);
  known.gpu.mig_enabled = attributes.settings.migModeEnabled == 1;
  return absl::OkStatus();
}

Status DcgmDiscovery::ReadInstances(dcgmHandle_t handle, Topology& topology) {
  if (!library_.Has(abi::DcgmCapability::kMig)) {
    return absl::OkStatus();
  }
  reply_->version = abi::dcgmMigHierarchy_version2;
  reply_->count = 0;
  const dcgmReturn_t code = library_.api.dcgmGetGpuInstanceHierarchy(handle, reply_.get());
  if (by_id_.empty()) {  // Without a GPU this call only tells why there is none.
    topology.driver_absence = DriverAbsence(library_.api, code);
    Status status = DcgmStatus(library_.api, code, "does not list its MIG instances");
    return LostConnection(status) ? status : absl::OkStatus();
  }
  const bool has_mig = std::ranges::any_of(topology.gpus, [](const Gpu& gpu) {
    return gpu.mig_enabled && gpu.state != DeviceState::kLost;
  });
  if ((code == abi::DCGM_ST_NVML_NOT_LOADED || code == abi::DCGM_ST_NOT_SUPPORTED) && !has_mig) {
    return absl::OkStatus();  // Without a driver, or before Ampere, there is no MIG.
  }
  PODGPU_RETURN_IF_ERROR(DcgmStatus(library_.api, code, "does not list its MIG instances"));
  const size_t count =
      std::min<size_t>(reply_->count, static_cast<size_t>(abi::DCGM_MAX_HIERARCHY_INFO));
  std::vector<MigNode> nodes;
  std::vector<uint32_t> profile_ids;
  for (const abi::dcgmMigHierarchyInfo_v2& entry : std::span(reply_->entityList).first(count)) {
    if (IsInstance(entry)) {
      nodes.push_back(NodeOf(entry));
      profile_ids.push_back(entry.info.nvmlMigProfileId);
    }
  }
  AddInstances(nodes, topology);
  MarkMisread(topology);
  if (count > 0 && topology.instances.empty()) {
    return absl::InternalError(
        absl::StrFormat("lists %d MIG instances, none of them on a GPU of this node", count));
  }
  // Names of profiles cost calls, so they are read for a new layout only.  The ids of the profiles
  // are compared too, because a name depends on them.
  if (std::ranges::equal(nodes, nodes_, SameNode) && profile_ids == profile_ids_ &&
      instances_.size() == topology.instances.size()) {
    for (size_t i = 0; i < instances_.size(); ++i) {
      topology.instances[i].profile = instances_[i].profile;
    }
    return ReadMissingProfiles(handle, topology);
  }
  KeepMisreadProfiles(instances_, topology);
  PODGPU_RETURN_IF_ERROR(ReadProfiles(handle, topology));
  // The layout has changed; the MIG modes may have changed too.
  for (Gpu& gpu : topology.gpus) {
    if (gpu.state != DeviceState::kLost && by_id_.contains(gpu.gpu_id)) {
      Known& known = by_id_[gpu.gpu_id];
      if (Status status = ReadIdentity(handle, gpu.gpu_id, false, known); LostConnection(status)) {
        return status;
      }
      gpu.mig_enabled = known.gpu.mig_enabled;
    }
  }
  nodes_ = std::move(nodes);
  profile_ids_ = std::move(profile_ids);
  instances_ = topology.instances;
  return absl::OkStatus();
}

// One instance with a wrong number shows that the engine has numbered all of them again, so the
// numbers of the others prove nothing.
void DcgmDiscovery::MarkMisread(Topology& topology) const {
  std::string list;
  for (size_t gpu = 0; gpu < topology.gpus.size(); ++gpu) {
    const Gpu& parent = topology.gpus[gpu];
    std::vector<uint32_t> ids;
    for (const GpuInstance& instance : topology.instances) {
      if (instance.gpu == gpu) {
        ids.push_back(instance.entity_id);
      }
    }
    if (!ids.empty() && !AreNumberedAfter(parent.gpu_id, ids)) {
      absl::StrAppendFormat(&list, "%sGPU %d (%s)", list.empty() ? "" : ", ", parent.gpu_id,
                            parent.uuid);
    }
  }
  if (list.empty()) {
    return;
  }
  for (GpuInstance& instance : topology.instances) {
    instance.is_misread = true;
  }
  topology.parts_absence = absl::StrFormat(
      "the values of all MIG instances: the engine has given new numbers to those of %s, as it "
      "does when a GPU is bound again, and would return values of another GPU for them. %s",
      list, is_embedded_ ? "podgpu restarts the embedded engine by itself" : "Restart the engine");
}

// Asks again for profile names that the engine did not return for a new layout.
Status DcgmDiscovery::ReadMissingProfiles(dcgmHandle_t handle, Topology& topology) {
  const auto is_missing = [](const GpuInstance& instance) {
    return instance.profile.empty() && !instance.is_misread;
  };
  if (std::ranges::none_of(instances_, is_missing)) {
    return absl::OkStatus();
  }
  PODGPU_RETURN_IF_ERROR(ReadProfiles(handle, topology));
  instances_ = topology.instances;
  return absl::OkStatus();
}

Status DcgmDiscovery::ReadProfiles(dcgmHandle_t handle, Topology& topology) const {
  std::vector<abi::dcgmFieldValue_v2> replies(std::min(kNamesPerCall, topology.instances.size()));
  for (size_t begin = 0; begin < topology.instances.size(); begin += kNamesPerCall) {
    const size_t count = std::min(kNamesPerCall, topology.instances.size() - begin);
    std::array<abi::dcgmGroupEntityPair_t, kNamesPerCall> entities{};
    for (size_t i = 0; i < count; ++i) {
      entities[i] = {abi::DCGM_FE_GPU_I, topology.instances[begin + i].entity_id};
      replies[i].status = abi::DCGM_ST_NO_DATA;
    }
    uint16_t field = field_ids::kName;
    const dcgmReturn_t code = library_.api.dcgmEntitiesGetLatestValues(
        handle, entities.data(), static_cast<uint32_t>(count), &field, 1,
        abi::DCGM_FV_FLAG_LIVE_DATA, replies.data());
    if (code !=
        abi::DCGM_ST_OK) {  // A missing name must not hide a device; the next Discover asks again.
      Status status = DcgmStatus(library_.api, code, "does not name its MIG profiles");
      return LostConnection(status) ? status : absl::OkStatus();
    }
    for (size_t i = 0; i < count; ++i) {
      const abi::dcgmFieldValue_v2& reply = replies[i];
      const auto instance =
          std::ranges::find(topology.instances, reply.entityId, &GpuInstance::entity_id);
      if (reply.status == abi::DCGM_ST_OK && reply.fieldType == abi::DCGM_FT_STRING &&
          instance != topology.instances.end() && !instance->is_misread) {
        instance->profile = TextOrEmpty(reply.value.str);
      }
    }
  }
  return absl::OkStatus();
}

}  // namespace podgpu
