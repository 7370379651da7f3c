#include "source/dcgm_source.h"

#include <utility>

#include "absl/strings/str_format.h"

namespace podgpu {

DcgmSource::DcgmSource(abi::DcgmLibrary library, DcgmEndpoint endpoint,
                       std::chrono::milliseconds connect_timeout, NvmlIdentity nvml, Clock& clock)
    : library_(std::move(library)),
      clock_(clock),
      connection_(library_, std::move(endpoint), connect_timeout),
      discovery_(library_),
      watches_(library_, clock_),
      reader_(library_),
      nvml_(std::move(nvml)) {}

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
  nvml_.Fill(*topology);
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
  StatusOr<WatchResult> result = watches_.Start(connection_.handle(), topology, fields, period);
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
  return Noticed(reader_.Read(connection_.handle(), watches_, grid));
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
