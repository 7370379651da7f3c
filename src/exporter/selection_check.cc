#include "exporter/selection_check.h"

#include <optional>

#include "absl/strings/str_format.h"

#include "exporter/call_within.h"
#include "health/selected_gpus.h"

namespace podgpu {
namespace {

StatusOr<Topology> ListDevices(const SourceOpener& open) {
  PODGPU_ASSIGN_OR_RETURN(const std::unique_ptr<Source> source, open());
  StatusOr<Topology> topology = source->Discover(PartKinds{});
  source->Release();
  return topology;
}

}  // namespace

SelectionCheck CheckSelection(const DeviceSelections& selections, const SourceOpener& open,
                              std::chrono::milliseconds patience, Clock& clock,
                              const ThreadTally& written_off) {
  if (!selections.gpus.has_list()) {
    return {};
  }
  const std::optional<StatusOr<Topology>> topology = CallWithin<StatusOr<Topology>>(
      [open] { return ListDevices(open); }, patience, clock, written_off);
  if (!topology) {
    return {{},
            absl::StrFormat("the driver has not answered for %g s",
                            std::chrono::duration<double>(patience).count())};
  }
  if (!topology->ok()) {
    return {{}, std::string(topology->status().message())};
  }
  return {SelectionWarnings(selections, **topology), ""};
}

}  // namespace podgpu
