#include "source/dcgm/health.h"

#include <algorithm>
#include <bit>
#include <iterator>
#include <utility>

#include "absl/strings/str_format.h"

#include "base/log.h"
#include "source/dcgm/error.h"
#include "source/source.h"

namespace podgpu {
namespace {

using abi::dcgmReturn_t;

constexpr char kHealth[] = "health";
constexpr char kPaths[] = "paths between GPUs";

// PCIE to DRIVER are bits 0 to 9; a verdict on all of them has all bits set.
std::optional<size_t> WatchOf(abi::dcgmHealthSystems_t system) {
  constexpr size_t kAll = kHealthWatchCount - 1;
  if (system == abi::DCGM_HEALTH_WATCH_ALL) {
    return kAll;
  }
  if (!std::has_single_bit(system) || system > abi::DCGM_HEALTH_WATCH_DRIVER) {
    return std::nullopt;  // A switch's or an adapter's.
  }
  return static_cast<size_t>(std::countr_zero(system));
}

bool IsResult(int result) {
  return result == abi::DCGM_HEALTH_RESULT_PASS || result == abi::DCGM_HEALTH_RESULT_WARN ||
         result == abi::DCGM_HEALTH_RESULT_FAIL;
}

std::optional<size_t> IndexOf(const Topology& topology, uint32_t gpu_id) {
  const auto found = std::ranges::find(topology.gpus, gpu_id, &Gpu::gpu_id);
  return found == topology.gpus.end()
             ? std::nullopt
             : std::optional(static_cast<size_t>(found - topology.gpus.begin()));
}

}  // namespace

Status DcgmHealth::Read(abi::dcgmHandle_t handle, Grid& grid) {
  const FindingsAsked& asked = grid.findings.asked;
  const Status health = asked.health ? ReadHealth(handle, grid) : absl::OkStatus();
  PODGPU_RETURN_IF_ERROR(LogChange(kHealth, health, health_failure_));
  const bool had_no_links = std::exchange(has_no_links_, false);
  const Status peers = asked.peers ? ReadPeers(handle, grid) : absl::OkStatus();
  PODGPU_RETURN_IF_ERROR(LogChange(kPaths, peers, peers_failure_));
  if (note_is_old_ || had_no_links != has_no_links_) {
    MakeNote();
  }
  grid.findings.note = note_;
  return absl::OkStatus();
}

void DcgmHealth::Forget() {
  group_.reset();
  watched_.clear();
}

Status DcgmHealth::LogChange(const char* what, const Status& status, std::string& last) {
  if (LostConnection(status)) {
    return status;
  }
  if (status.message() != last) {
    last = std::string(status.message());
    note_is_old_ = true;
    Log(status.ok() ? LogLevel::kInfo : LogLevel::kWarn,
        status.ok() ? "the engine reports these findings again"
                    : "the engine does not report these findings; their rows are absent",
        {{"what", what}, {"reason", last}});
  }
  return absl::OkStatus();
}

void DcgmHealth::MakeNote() {
  FindingsNote note{!health_failure_.empty() || !peers_failure_.empty(), {}};
  const auto add = [&](const char* what, const std::string& why) {
    if (!why.empty()) {
      absl::StrAppendFormat(&note.text, "%s%s: %s", note.text.empty() ? "" : "; ", what, why);
    }
  };
  add(kHealth, health_failure_);
  add(kPaths, has_no_links_ ? "no GPU here has an NVLink" : peers_failure_);
  note_ = note.text.empty() ? nullptr : std::make_shared<const FindingsNote>(std::move(note));
  note_is_old_ = false;
}

Status DcgmHealth::ReadHealth(abi::dcgmHandle_t handle, Grid& grid) {
  if (!library_.Has(abi::DcgmCapability::kHealth)) {
    return absl::UnimplementedError(library_.name + " lacks dcgmHealthSet or dcgmHealthCheck");
  }
  const Topology& topology = grid.topology();
  PODGPU_RETURN_IF_ERROR(Watch(handle, topology));
  if (watched_.empty()) {
    return absl::OkStatus();
  }
  Answer answer;
  PODGPU_RETURN_IF_ERROR(Check(handle, answer));
  std::vector<GpuHealth>& health = grid.findings.health;
  health.resize(topology.gpus.size());
  for (const uint32_t id : watched_) {
    if (const std::optional<size_t> gpu = IndexOf(topology, id)) {
      health[*gpu].is_known = true;
    }
  }
  for (const abi::dcgmIncidentInfo_t& incident : answer.incidents) {
    const std::optional<size_t> watch = WatchOf(incident.system);
    const std::optional<size_t> gpu = IndexOf(topology, incident.entityInfo.entityId);
    if (watch && gpu && incident.entityInfo.entityGroupId == abi::DCGM_FE_GPU) {
      health[*gpu].watches[*watch] = VerdictOf(incident);
    }
  }
  return absl::OkStatus();
}

// The library's own table tells the kind of an error. For a code that it does not know, as of a
// newer engine, it returns the number of the severity "unknown" as category too (dcgm_errors.c).
HealthVerdict DcgmHealth::VerdictOf(const abi::dcgmIncidentInfo_t& incident) const {
  HealthVerdict verdict{.result = incident.health, .code = incident.error.code};
  if (library_.Has(abi::DcgmCapability::kErrorKinds)) {
    verdict.severity = library_.api.dcgmErrorGetPriorityByCode(verdict.code);
    verdict.category = library_.api.dcgmErrorGetCategoryByCode(verdict.code);
    if (verdict.severity == abi::DCGM_ERROR_UNKNOWN &&
        verdict.category == abi::DCGM_ERROR_UNKNOWN) {
      verdict.category = -1;
    }
  }
  return verdict;
}

// Watches the GPUs of `topology` that are not lost, unless they are watched already.
Status DcgmHealth::Watch(abi::dcgmHandle_t handle, const Topology& topology) {
  wanted_.clear();
  for (const Gpu& gpu : topology.gpus) {
    if (gpu.state != DeviceState::kLost) {
      wanted_.push_back(gpu.gpu_id);
    }
  }
  if (group_ && wanted_ == watched_) {
    return absl::OkStatus();
  }
  if (group_) {
    library_.api.dcgmGroupDestroy(handle, *group_);
  }
  Forget();
  abi::dcgmGpuGrp_t group = 0;
  PODGPU_RETURN_IF_ERROR(DcgmStatus(
      library_.api,
      library_.api.dcgmGroupCreate(handle, abi::DCGM_GROUP_EMPTY, "podgpu-health", &group),
      "cannot create a device group", "Another client may hold all of its 64 groups"));
  for (const uint32_t id : wanted_) {
    const dcgmReturn_t code = library_.api.dcgmGroupAddEntity(handle, group, abi::DCGM_FE_GPU, id);
    if (code == abi::DCGM_ST_OK) {
      watched_.push_back(id);
    } else if (Status status = DcgmStatus(library_.api, code, "cannot add a GPU to its group");
               LostConnection(status)) {
      return status;
    }
  }
  const dcgmReturn_t code = library_.api.dcgmHealthSet(handle, group, abi::DCGM_HEALTH_WATCH_ALL);
  if (code != abi::DCGM_ST_OK) {
    watched_.clear();
    library_.api.dcgmGroupDestroy(handle, group);
    return DcgmStatus(library_.api, code, "cannot watch health");
  }
  group_ = group;
  return absl::OkStatus();
}

Status DcgmHealth::Check(abi::dcgmHandle_t handle, Answer& answer) {
  return library_.generation == abi::DcgmGeneration::k3
             ? CheckAs(handle, abi::dcgmHealthResponse_version4, response_3_, answer)
             : CheckAs(handle, abi::dcgmHealthResponse_version5, response_4_, answer);
}

template <typename Response>
Status DcgmHealth::CheckAs(abi::dcgmHandle_t handle, uint32_t version,
                           std::unique_ptr<Response>& response, Answer& answer) {
  if (!group_) {
    return absl::FailedPreconditionError("has no group whose health it could report");
  }
  if (response == nullptr) {
    response = std::make_unique<Response>();
  }
  response->version = version;
  response->incidentCount = 0;
  PODGPU_RETURN_IF_ERROR(DcgmStatus(library_.api,
                                    library_.api.dcgmHealthCheck(handle, *group_, response.get()),
                                    "does not report the health"));
  if (response->version != version || response->incidentCount > std::size(response->incidents)) {
    return absl::DataLossError("reports an impossible health");
  }
  answer.incidents = std::span(response->incidents).first(response->incidentCount);
  if (!std::ranges::all_of(answer.incidents, IsResult, &abi::dcgmIncidentInfo_t::health)) {
    return absl::DataLossError("reports an impossible health");
  }
  return absl::OkStatus();
}

Status DcgmHealth::ReadPeers(abi::dcgmHandle_t handle, Grid& grid) {
  if (!library_.Has(abi::DcgmCapability::kPaths)) {
    return absl::UnimplementedError(library_.name + " lacks dcgmGetNvLinkP2PStatus (DCGM 4.3)");
  }
  abi::dcgmNvLinkP2PStatus_v1 answer{};
  answer.version = abi::dcgmNvLinkP2PStatus_version1;
  const dcgmReturn_t code = library_.api.dcgmGetNvLinkP2PStatus(handle, &answer);
  if (code == abi::DCGM_ST_NOT_SUPPORTED) {
    has_no_links_ = true;
    return absl::OkStatus();
  }
  PODGPU_RETURN_IF_ERROR(DcgmStatus(library_.api, code, "does not report the paths between GPUs"));
  const std::vector<Gpu>& gpus = grid.topology().gpus;
  const std::span told =
      std::span(answer.gpus).first(std::min<size_t>(answer.numGpus, std::size(answer.gpus)));
  const bool is_sound =
      answer.version == abi::dcgmNvLinkP2PStatus_version1 && answer.numGpus == told.size() &&
      std::ranges::equal(told, gpus, {}, &abi::dcgmNvLinkGpuP2PStatus_v1::entityId, &Gpu::gpu_id);
  std::vector<int32_t>& peers = grid.findings.peers;
  for (size_t from = 0; is_sound && from < told.size(); ++from) {
    for (size_t to = 0; to < told.size(); ++to) {
      peers.push_back(told[from].linkStatus[to]);
    }
  }
  if (!is_sound || std::ranges::any_of(peers, [](int32_t state) { return state < 0; })) {
    peers.clear();
    return absl::DataLossError("reports paths of GPUs that are not listed");
  }
  return absl::OkStatus();
}

}  // namespace podgpu
