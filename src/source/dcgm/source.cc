#include "source/dcgm/source.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_format.h"

#include "base/log.h"
#include "fields/field_ids.h"

namespace podgpu {
namespace {

using std::chrono::seconds;

// A driver that is loaded later is found within this time.  Starting an engine without a driver
// costs some milliseconds.
constexpr seconds kEmptyPatience{10};
// On a node with CPUs only, restarting the engine interrupts the samples of the CPUs; but a driver
// may still be loaded.
constexpr seconds kCpuPatience{60};
constexpr seconds kLongestCpuPatience{1800};
// An engine that has given new numbers to MIG instances gives the right ones after a restart.  If
// it does not, restarts that interrupt the samples of all GPUs become rare.
constexpr seconds kMisreadPatience{10};
constexpr seconds kLongestMisreadPatience{1800};

std::string_view NameOf(PartKind kind) {
  constexpr std::string_view kNames[kPartKindCount] = {"NvSwitches", "NvLinks", "CPUs",
                                                       "CPU cores"};
  return kNames[static_cast<size_t>(kind)];
}

}  // namespace

DcgmSource::DcgmSource(abi::DcgmLibrary library, DcgmSourceOptions options, NvmlIdentity nvml,
                       Clock& clock)
    : library_(std::move(library)),
      clock_(clock),
      connection_(library_, std::move(options.endpoint), options.connect_timeout,
                  std::move(options.written_off)),
      discovery_(library_, connection_.is_embedded()),
      parts_(library_),
      watches_(library_, clock_),
      events_(library_, clock_),
      reader_(library_, connection_.is_embedded(), &events_),
      health_(library_),
      part_watches_{WatchedPart(library_, clock_, PartKind::kNvSwitch, connection_.is_embedded()),
                    WatchedPart(library_, clock_, PartKind::kNvLink, connection_.is_embedded()),
                    WatchedPart(library_, clock_, PartKind::kCpu, connection_.is_embedded()),
                    WatchedPart(library_, clock_, PartKind::kCpuCore, connection_.is_embedded())},
      nvml_(std::move(nvml)),
      stale_after_(options.stale_after),
      util_ratio_is_percent_of_4_6_(options.util_ratio_is_percent_of_4_6),
      empty_(kEmptyPatience, kEmptyPatience),
      without_gpu_(kCpuPatience, kLongestCpuPatience),
      misread_(kMisreadPatience, kLongestMisreadPatience),
      stale_(stale_after_,
             std::max<std::chrono::milliseconds>(kLongestStalePatience, stale_after_)) {}

StatusOr<Topology> DcgmSource::Discover(PartKinds kinds) {
  if (!connection_.is_open()) {
    PODGPU_RETURN_IF_ERROR(connection_.Open());
    discovery_.ForgetEngine();
    parts_.ForgetEngine();
    ForgetWatches();
  }
  StatusOr<Topology> topology = ReadTopology(kinds);
  if (!topology.ok()) {
    return CheckConnection(topology.status());
  }
  // Only a restart of the engine gives the instances their right numbers again.  podgpu restarts
  // the engine in this process alone; for a remote one the topology tells the operator to do it.
  if (std::ranges::none_of(topology->instances, &GpuInstance::is_misread)) {
    misread_.Reset();
  } else if (connection_.is_embedded() && misread_.IsRestartDue(clock_.Now())) {
    Release();
    return Discover(kinds);
  }
  StaleDetector& detector = topology->parts.empty() ? empty_ : without_gpu_;
  if (!topology->gpus.empty()) {
    empty_.Reset();
    without_gpu_.Reset();
  } else if (connection_.is_embedded() && detector.IsRestartDue(clock_.Now())) {
    connection_.Close();  // The next Discover starts a new engine, which queries the driver again.
  }
  nvml_.Fill(*topology, clock_.Now());
  return topology;
}

StatusOr<Topology> DcgmSource::ReadTopology(PartKinds kinds) {
  PODGPU_ASSIGN_OR_RETURN(Topology topology, discovery_.Discover(connection_.handle()));
  parts_.Fill(connection_.handle(), kinds, topology);
  PODGPU_RETURN_IF_ERROR(watches_.NoteStates(connection_.handle(), topology));
  RenewGroups();
  for (WatchedPart& part : part_watches_) {
    if (Status status = part.watches.NoteStates(connection_.handle(), topology);
        LostConnection(status)) {
      return status;
    }
    if (!part.failure.empty()) {
      absl::StrAppendFormat(&topology.parts_absence, "%s%s: %s",
                            topology.parts_absence.empty() ? "" : "; ", NameOf(part.kind),
                            part.failure);
    }
  }
  return topology;
}

StatusOr<WatchResult> DcgmSource::Watch(const Topology& topology,
                                        const std::vector<const Field*>& fields,
                                        std::chrono::microseconds period) {
  if (!connection_.is_open()) {
    return absl::UnavailableError(connection_.engine_name() + " is not connected");
  }
  const std::string version = DcgmVersionsIn(connection_.Describe()).engine;
  watches_.SetEngineVersion(version);
  util_ratio_is_percent_ = util_ratio_is_percent_of_4_6_ && version.starts_with("4.6.");
  watches_.SetUtilRatioInPercent(util_ratio_is_percent_);
  for (WatchedPart& part : part_watches_) {
    part.watches.SetEngineVersion(version);
  }
  // When only links came or went, the watches of the GPUs stay.
  const bool only_parts =
      watches_.IsWatching(topology, fields, period) && watched_topology_.parts != topology.parts;
  StatusOr<WatchResult> result =
      only_parts || watches_.IsWorthRetrying(topology, fields, period)
          ? watches_.Retry(connection_.handle(), topology)
          : watches_.Start(connection_.handle(), topology, fields, period);
  if (result.ok()) {
    if (Status parts = WatchParts(topology, fields, period, *result); !parts.ok()) {
      result = parts;
    }
  }
  watched_topology_ = topology;
  if (result.ok()) {
    events_.Follow(connection_.handle(), topology,
                   watches_.PeriodOf(field_ids::kClockReasons, period));
    NoteUtilRatio(fields, *result);
  }
  return result.ok() ? std::move(result) : CheckConnection(result.status());
}

void DcgmSource::SetCollections(std::shared_ptr<const FieldCollections> collections) {
  for (WatchedPart& part : part_watches_) {
    part.watches.SetCollections(collections);
  }
  watches_.SetCollections(std::move(collections));
}

void DcgmSource::NoteUtilRatio(const std::vector<const Field*>& fields, WatchResult& result) {
  const bool is_asked =
      std::ranges::find(fields, field_ids::kGpuUtilRatio, &Field::id) != fields.end();
  if (!is_asked || !util_ratio_is_percent_) {
    return;
  }
  result.note = "DCGM_FI_DEV_GPU_UTIL_RATIO is in percent";
  if (!has_told_util_ratio_) {
    has_told_util_ratio_ = true;
    Log(LogLevel::kWarn,
        "DCGM_FI_DEV_GPU_UTIL_RATIO is in percent, as dcgm-exporter 4.8.3 and 4.8.4 have it with "
        "DCGM 4.6. --dcgm-exporter-version=4.9 or --both-names makes it 0 to 1");
  }
}

// A refusal for one kind of part is reported and affects only that kind.
Status DcgmSource::WatchParts(const Topology& topology, const std::vector<const Field*>& fields,
                              std::chrono::microseconds period, WatchResult& result) {
  for (WatchedPart& part : part_watches_) {
    const bool is_asked = std::ranges::any_of(
        fields, [&](const Field* field) { return part.watches.Covers(field->level); });
    part.failure.clear();
    if (!is_asked || part.watches.ColumnsIn(topology).count == 0) {
      if (part.watches.is_started()) {
        part.watches.Stop(connection_.handle());
      }
      continue;
    }
    const StatusOr<WatchResult> watched =
        part.watches.IsWatching(topology, fields, period)
            ? part.watches.Retry(connection_.handle(), topology)
            : part.watches.Start(connection_.handle(), topology, fields, period);
    if (LostConnection(watched.status())) {
      return watched.status();
    }
    result.try_soon = result.try_soon || !watched.ok();
    const std::string reason =
        watched.ok() ? watched->reason : std::string(watched.status().message());
    if (!reason.empty()) {
      result.is_fault = true;
      absl::StrAppendFormat(&result.reason, "%s%s: %s", result.reason.empty() ? "" : "; ",
                            NameOf(part.kind), reason);
    }
  }
  return absl::OkStatus();
}

// A GPU that is back has left the groups of events and health too.
void DcgmSource::RenewGroups() {
  if (watches_.TakeRestored()) {
    events_.Renew(connection_.handle());
    health_.Renew();
  }
}

void DcgmSource::ForgetWatches() {
  watches_.Forget();
  events_.Forget();
  health_.Forget();
  for (WatchedPart& part : part_watches_) {
    part.watches.Forget();
    part.failure.clear();
  }
}

Status DcgmSource::Read(Grid& grid) {
  grid.read_at = clock_.Now();
  grid.read_at_wall = clock_.WallNow();
  if (!connection_.is_open()) {
    return absl::UnavailableError(connection_.engine_name() + " is not connected");
  }
  if (!watches_.is_started()) {
    return absl::FailedPreconditionError(connection_.engine_name() +
                                         " has nothing to watch yet: Watch comes before Read");
  }
  PODGPU_RETURN_IF_ERROR(CheckConnection(reader_.Read(connection_.handle(), watches_, grid)));
  PODGPU_RETURN_IF_ERROR(
      CheckConnection(watches_.WatchAgain(connection_.handle(), reader_.dropped())));
  RenewGroups();
  PODGPU_RETURN_IF_ERROR(CheckConnection(ReadParts(grid)));
  PODGPU_RETURN_IF_ERROR(CheckConnection(events_.Collect(connection_.handle(), grid)));
  PODGPU_RETURN_IF_ERROR(CheckConnection(health_.Read(connection_.handle(), grid)));
  grid.findings.util_ratio_is_percent = util_ratio_is_percent_;
  return DisconnectIfStale(grid);
}

// The cells of a kind that does not answer stay kNotRead.
Status DcgmSource::ReadParts(Grid& grid) {
  for (WatchedPart& part : part_watches_) {
    if (!part.watches.is_started()) {
      continue;
    }
    Status status = part.reader.Read(connection_.handle(), part.watches, grid);
    if (status.ok()) {
      status = part.watches.WatchAgain(connection_.handle(), part.reader.dropped());
    }
    if (LostConnection(status)) {
      return status;
    }
    if (!status.ok() && part.failure.empty()) {
      part.failure = std::string(status.message());
    } else if (status.ok() && !part.failure.empty()) {
      part.failure.clear();
    }
  }
  return absl::OkStatus();
}

Status DcgmSource::DisconnectIfStale(const Grid& grid) {
  if (grid.topology().is_paused) {  // A new connection would get no samples either.
    stale_.Reset();
    return absl::OkStatus();
  }
  // Fresh samples of CPUs do not prove that GPUs are sampled, so on a node with GPUs only theirs
  // count.
  const Topology& topology = grid.topology();
  const auto columns = static_cast<uint16_t>(topology.entities.empty() ? topology.column_count()
                                                                       : topology.entities.size());
  for (uint16_t column = 0; column < columns; ++column) {
    if (grid.HasFreshNumbers(EntityId{column}, stale_after_)) {
      stale_.Reset();
      return absl::OkStatus();
    }
  }
  if (!stale_.IsRestartDue(clock_.Now())) {
    return absl::OkStatus();
  }
  Release();
  return absl::UnavailableError(connection_.engine_name() +
                                " answers but gives no fresh sample of any device; reconnecting");
}

void DcgmSource::Release() {
  ForgetWatches();
  connection_.Close();
}

Status DcgmSource::CheckConnection(const Status& status) {
  if (status.ok()) {
    return status;
  }
  if (LostConnection(status)) {
    Release();
  }
  const std::string message(status.message());
  return Status(status.code(), absl::StrFormat("%s %s", connection_.engine_name(), message));
}

}  // namespace podgpu
