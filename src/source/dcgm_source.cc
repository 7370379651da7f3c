#include "source/dcgm_source.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_format.h"

namespace podgpu {
namespace {

using std::chrono::seconds;

// A driver that arrives is found within this time; starting an engine without one costs some
// milliseconds.
constexpr seconds kEmptyPatience{10};
// For a node whose devices tell nothing at all that was asked for.
constexpr seconds kLongestMutePatience{60};

}  // namespace

DcgmSource::DcgmSource(abi::DcgmLibrary library, DcgmSourceOptions options, NvmlIdentity nvml,
                       Clock& clock)
    : library_(std::move(library)),
      clock_(clock),
      connection_(library_, std::move(options.endpoint), options.connect_timeout,
                  std::move(options.written_off)),
      discovery_(library_),
      watches_(library_, clock_),
      reader_(library_),
      nvml_(std::move(nvml)),
      mute_after_(options.mute_after),
      empty_(kEmptyPatience, kEmptyPatience),
      mute_(mute_after_, std::max<std::chrono::milliseconds>(kLongestMutePatience, mute_after_)) {}

StatusOr<Topology> DcgmSource::Discover() {
  if (!connection_.is_open()) {
    PODGPU_RETURN_IF_ERROR(connection_.Open());
    discovery_.ForgetEngine();
    watches_.Forget();
  }
  StatusOr<Topology> topology = Look();
  if (!topology.ok()) {
    return Noticed(topology.status());
  }
  if (!topology->gpus.empty()) {
    empty_.Break();
  } else if (connection_.is_embedded() && empty_.IsOver(clock_.Now())) {
    connection_.Close();  // The next look starts another engine, which asks the driver again.
  }
  nvml_.Fill(*topology, clock_.Now());
  return topology;
}

StatusOr<Topology> DcgmSource::Look() {
  PODGPU_ASSIGN_OR_RETURN(Topology topology, discovery_.Discover(connection_.handle()));
  PODGPU_RETURN_IF_ERROR(watches_.NoteStates(connection_.handle(), topology));
  return topology;
}

StatusOr<WatchResult> DcgmSource::Watch(const Topology& topology,
                                        const std::vector<const Field*>& fields,
                                        std::chrono::microseconds period) {
  if (!connection_.is_open()) {
    return absl::UnavailableError(connection_.engine_name() + " is not connected");
  }
  StatusOr<WatchResult> result =
      watches_.IsWorthRetrying(topology, fields, period)
          ? watches_.Retry(connection_.handle(), topology, fields)
          : watches_.Start(connection_.handle(), topology, fields, period);
  return result.ok() ? std::move(result) : Noticed(result.status());
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
  PODGPU_RETURN_IF_ERROR(Noticed(reader_.Read(connection_.handle(), watches_, grid)));
  return BreakOffIfMute(grid);
}

Status DcgmSource::BreakOffIfMute(const Grid& grid) {
  const auto columns = static_cast<uint16_t>(grid.topology().entities.size());
  for (uint16_t column = 0; column < columns; ++column) {
    if (grid.HasFreshNumbers(EntityId{column}, mute_after_)) {
      mute_.Break();
      return absl::OkStatus();
    }
  }
  if (!mute_.IsOver(clock_.Now())) {
    return absl::OkStatus();
  }
  watches_.Forget();
  connection_.Close();
  return absl::UnavailableError(connection_.engine_name() +
                                " answers without a fresh number of any device, and is begun anew");
}

Status DcgmSource::Noticed(const Status& status) {
  if (status.ok()) {
    return status;
  }
  if (LostConnection(status)) {
    watches_.Forget();
    connection_.Close();
  }
  const std::string message(status.message());
  return Status(status.code(), absl::StrFormat("%s %s", connection_.engine_name(), message));
}

}  // namespace podgpu
