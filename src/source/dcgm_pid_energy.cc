#include "source/dcgm_pid_energy.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <span>

#include "absl/strings/str_format.h"

#include "base/log.h"
#include "source/dcgm_error.h"
#include "source/source.h"

namespace podgpu {
namespace {

using abi::dcgmReturn_t;

constexpr long long kSampleEachUs = 30'000'000;
constexpr double kKeepForS = 86'400;
constexpr int kKeepAnyNumber = 0;
constexpr size_t kMostAskedInAReading = 32;
constexpr std::chrono::milliseconds kLongestAsking{200};

// Blank numbers of all kinds lie above.
bool IsEnergy(long long energy_mj) { return energy_mj >= 0 && energy_mj < abi::DCGM_INT64_BLANK; }

}  // namespace

Status DcgmPidEnergy::Read(abi::dcgmHandle_t handle, const Topology& topology) {
  if (board_ == nullptr) {
    return absl::OkStatus();
  }
  const std::shared_ptr<const std::vector<uint32_t>> asked = board_->asked.Get();
  if (asked == nullptr) {
    return absl::OkStatus();
  }
  const Status status = Ask(handle, topology, *asked);
  Tell(*asked);
  return Noticed(status);
}

void DcgmPidEnergy::Forget() {
  group_.reset();
  watched_.clear();
  told_.clear();
  if (board_ != nullptr) {
    board_->told.Set(nullptr);
  }
}

Status DcgmPidEnergy::Noticed(const Status& status) {
  if (LostConnection(status)) {
    return status;
  }
  if (status.message() != failure_) {
    failure_ = std::string(status.message());
    Log(status.ok() ? LogLevel::kInfo : LogLevel::kWarn,
        status.ok() ? "the engine tells again" : "the engine does not tell; its rows are absent",
        {{"what", "its energy of processes"}, {"reason", failure_}});
  }
  return absl::OkStatus();
}

Status DcgmPidEnergy::Ask(abi::dcgmHandle_t handle, const Topology& topology,
                          const std::vector<uint32_t>& asked) {
  if (!library_.Has(abi::DcgmCapability::kProcesses)) {
    return absl::UnimplementedError(library_.name + " lacks dcgmWatchPidFields or dcgmGetPidInfo");
  }
  PODGPU_RETURN_IF_ERROR(Watch(handle, topology));
  const Instant begun = clock_.Now();
  const size_t most = std::min(asked.size(), kMostAskedInAReading);
  for (size_t i = 0; i < most && clock_.Now() - begun < kLongestAsking; ++i) {
    next_ = next_ < asked.size() ? next_ : 0;
    PODGPU_RETURN_IF_ERROR(AskOne(handle, topology, asked[next_++]));
  }
  return absl::OkStatus();
}

Status DcgmPidEnergy::AskOne(abi::dcgmHandle_t handle, const Topology& topology, uint32_t pid) {
  if (info_ == nullptr) {
    info_ = std::make_unique<abi::dcgmPidInfo_v2>();
  }
  *info_ = {};
  info_->version = abi::dcgmPidInfo_version2;
  info_->pid = pid;
  const dcgmReturn_t code = library_.api.dcgmGetPidInfo(handle, *group_, info_.get());
  std::erase_if(told_, [&](const DcgmEnergy& told) { return told.pid == pid; });
  if (code == abi::DCGM_ST_NO_DATA) {
    return absl::OkStatus();  // It began before accounting did, or is in MIG mode.
  }
  if (code == abi::DCGM_ST_NOT_WATCHED || code == abi::DCGM_ST_NOT_CONFIGURED) {
    group_.reset();  // The engine has forgotten it; the next reading watches anew.
  }
  PODGPU_RETURN_IF_ERROR(DcgmStatus(library_.api, code, "does not tell its energy of processes"));
  if (info_->pid != pid || info_->numGpus < 0 ||
      static_cast<size_t>(info_->numGpus) > std::size(info_->gpus)) {
    return absl::DataLossError("tells of a process what cannot be");
  }
  for (const abi::dcgmPidSingleInfo_t& told :
       std::span(info_->gpus).first(static_cast<size_t>(info_->numGpus))) {
    const auto gpu = std::ranges::find(topology.gpus, told.gpuId, &Gpu::gpu_id);
    if (gpu != topology.gpus.end() && IsEnergy(told.energyConsumed)) {
      told_.push_back({pid, gpu->uuid, static_cast<uint64_t>(told.energyConsumed), clock_.Now()});
    }
  }
  return absl::OkStatus();
}

void DcgmPidEnergy::Tell(const std::vector<uint32_t>& asked) {
  std::erase_if(told_, [&](const DcgmEnergy& told) {
    return std::ranges::find(asked, told.pid) == asked.end();
  });
  board_->told.Set(std::make_shared<const std::vector<DcgmEnergy>>(told_));
}

// Has the GPUs watched that are not lost, if they are not yet.
Status DcgmPidEnergy::Watch(abi::dcgmHandle_t handle, const Topology& topology) {
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
    group_.reset();
  }
  watched_ = wanted_;
  return MakeGroup(handle);
}

Status DcgmPidEnergy::MakeGroup(abi::dcgmHandle_t handle) {
  abi::dcgmGpuGrp_t group = 0;
  PODGPU_RETURN_IF_ERROR(DcgmStatus(
      library_.api,
      library_.api.dcgmGroupCreate(handle, abi::DCGM_GROUP_EMPTY, "podgpu-processes", &group),
      "makes no group of devices", "Another client may hold all of its 64"));
  for (const uint32_t id : watched_) {
    if (Status status = DcgmStatus(
            library_.api, library_.api.dcgmGroupAddEntity(handle, group, abi::DCGM_FE_GPU, id),
            "takes a GPU into no group");
        LostConnection(status)) {
      return status;
    }
  }
  const dcgmReturn_t code =
      library_.api.dcgmWatchPidFields(handle, group, kSampleEachUs, kKeepForS, kKeepAnyNumber);
  if (code != abi::DCGM_ST_OK) {
    library_.api.dcgmGroupDestroy(handle, group);
    return DcgmStatus(library_.api, code, "watches no processes",
                      code == abi::DCGM_ST_REQUIRES_ROOT
                          ? "Run the engine as root, or switch accounting on beforehand (podgpu "
                            "doctor --enable-accounting)"
                          : "");
  }
  group_ = group;
  if (!is_warned_) {
    is_warned_ = true;
    Log(LogLevel::kWarn,
        "DCGM's energy of a process is that of its whole GPU while it lived, the same for each of "
        "several; do not add it up (docs/energy.md)");
  }
  return absl::OkStatus();
}

}  // namespace podgpu
