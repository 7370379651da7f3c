#include "cli/machine_options.h"

#include <functional>
#include <utility>

#include "http/inherited_socket.h"

namespace podgpu {
namespace {

// Empty if podgpu chooses the source when it starts.
std::string_view SourceNameOf(SourceKind kind) {
  switch (kind) {
    case SourceKind::kDcgm:
      return "dcgm";
    case SourceKind::kNvml:
      return "nvml";
    case SourceKind::kAuto:
      break;
  }
  return "";
}

}  // namespace

void TakeCounters(NodeCommand& command, Counters counters, const std::vector<std::string>& warnings,
                  WallTime loaded_at) {
  ExporterOptions& exporter = command.exporter;
  exporter.config = NotesOn(counters, warnings, loaded_at);
  exporter.collections = std::move(counters.collections);
  exporter.counters = std::move(counters.counters);
  command.source.fields = FieldsToRead(exporter.counters, exporter.views);
  command.source.asked = FindingsToRead(exporter.counters, exporter.windows);
}

Status TakeMachine(NodeCommand& command, const Machine& machine) {
  ExporterOptions& exporter = command.exporter;
  const Environment& environment = machine.environment;
  exporter.view.hostname = HostnameLabelValue(command, environment, machine.hostname);
  exporter.node = exporter.view.hostname.empty() ? machine.hostname : exporter.view.hostname;
  exporter.http.guard.own_names = {machine.hostname, environment("NODE_NAME").value_or(""),
                                   environment("POD_NAME").value_or("")};
  exporter.join.ignored.own = FindOwnPod(command, environment, machine.hostname, machine.files);
  command.kubelet.own_pod = exporter.join.ignored.own;
  command.source.stale_after = StaleAfter(exporter);
  exporter.routes.source = SourceNameOf(command.source.kind);
  if (command.systemd_socket) {
    PODGPU_ASSIGN_OR_RETURN(
        exporter.http.inherited_socket,
        InheritedSocket(environment("LISTEN_FDS"), environment("LISTEN_PID"), machine.pid));
  }
  return absl::OkStatus();
}

void TakeMachine(ClusterCommand& command, const std::string& hostname) {
  command.cluster.poller.seed = static_cast<uint32_t>(std::hash<std::string>()(hostname));
  command.cluster.nodes.api.seed = command.cluster.poller.seed;
  command.cluster.groups.seed = command.cluster.poller.seed;
  command.cluster.metrics_api.seed = command.cluster.poller.seed + 1;
}

}  // namespace podgpu
