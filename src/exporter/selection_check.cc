#include "exporter/selection_check.h"

#include <optional>

#include "absl/strings/str_format.h"

#include "base/worker.h"
#include "health/selected_gpus.h"

namespace podgpu {
namespace {

StatusOr<Topology> ListDevices(const SourceOpener& open) {
  PODGPU_ASSIGN_OR_RETURN(const std::unique_ptr<Source> source, open());
  StatusOr<Topology> topology = source->Discover(PartKinds{});
  source->LetGo();
  return topology;
}

}  // namespace

SelectionCheck CheckSelection(const DeviceSelections& selections, const SourceOpener& open,
                              std::chrono::milliseconds patience, Clock& clock,
                              const ThreadTally& written_off) {
  if (selections.gpus.all) {
    return {};
  }
  ForeignCalls calls(1, written_off);
  Worker timer;
  timer.Start([&, deadline = clock.Now() + patience](const std::stop_token& stop) {
    if (clock.WaitUntil(deadline, stop)) {
      calls.GiveUp();
    }
  });
  const std::optional<StatusOr<Topology>> topology = calls.Run<StatusOr<Topology>>(
      [open] { return ListDevices(open); }, [](const StatusOr<Topology>& /*late*/) {});
  timer.RequestStop();
  timer.JoinWithin(patience);
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
