#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_format.h"

#include "doctor/checks.h"
#include "doctor/doctor_fields.h"
#include "doctor/words.h"
#include "process/proc_reader.h"
#include "source/open_source.h"

namespace podgpu {
namespace {

constexpr std::string_view kHostPid =
    "kubectl patch clusterpolicy cluster-policy --type merge \\\n"
    "-p '{\"spec\":{\"dcgmExporter\":{\"hostPID\":true}}}'";

bool AsksForProcesses(const Session& session) {
  return session.command().exporter.processes.enabled;
}

// Returns the severity of a missing part: it costs a requested feature, or one that could be
// requested.
Severity Missing(const Session& session) {
  return AsksForProcesses(session) ? Severity::kWarn : Severity::kNote;
}

Status ReadProcesses(Session& session) {
  SourceOptions options = session.node().source;
  options.sysfs = &session.sysfs;
  options.enable_accounting = false;  // The doctor changes nothing.
  PODGPU_ASSIGN_OR_RETURN(const std::unique_ptr<NvmlProcesses> processes,
                          OpenProcesses(options, session.loader, session.seams.files,
                                        session.seams.clock, session.written_off));
  ProcessesFacts facts;
  PODGPU_RETURN_IF_ERROR(processes->Read(facts.reading));
  facts.uuids = processes->uuids();
  session.processes.Set(std::make_shared<const ProcessesFacts>(std::move(facts)));
  return absl::OkStatus();
}

struct FoundProcesses {
  size_t listed = 0, found = 0, in_containers = 0;
};

FoundProcesses CountsIn(const ProcessesFacts& facts) {
  FoundProcesses counts;
  for (const DeviceReading& device : facts.reading.devices) {
    for (const ListedProcess& process : device.processes) {
      ++counts.listed;
      counts.found += process.identity != nullptr ? 1U : 0U;
      counts.in_containers +=
          process.identity != nullptr && !process.identity->place.container_id.empty() ? 1U : 0U;
    }
  }
  return counts;
}

size_t BusyGpus(const Session& session) {
  const std::shared_ptr<const DriverFacts> driver = session.driver.Get();
  const std::optional<FieldRow> row =
      driver == nullptr ? std::nullopt : driver->grid->RowOf(doctor_fields::Utilization()->id);
  if (!row) {
    return 0;
  }
  const std::vector<Value>& cells = driver->grid->cells();
  const ColumnRange columns = driver->grid->ColumnsOf(*row);
  size_t busy = 0;
  for (size_t i = 0; i < columns.count; ++i) {
    const EntityId id{static_cast<uint16_t>(columns.first + i)};
    const Value& value = cells[driver->grid->CellIndex(*row, id)];
    busy += value.present() && value.number() > 0 ? 1U : 0U;
  }
  return busy;
}

std::string_view ViewWords(ProcView view) {
  switch (view) {
    case ProcView::kOwnNamespace:
      return "own PID namespace";
    case ProcView::kHidden:
      return "/proc hides the processes of other users (hidepid)";
    case ProcView::kMissing:
      return "no /proc is mounted";
    case ProcView::kHost:
      break;
  }
  return "host PIDs visible";
}

}  // namespace

Finding CheckNamespace(Session& session) {
  if (const Status status = ReadProcesses(session); !status.ok()) {
    return Failed(Missing(session), status, {"process_view", "process_energy", "shared_split"},
                  "look for NVRM in the kernel log of the node: dmesg");
  }
  const std::string& root = session.command().source.proc_root;
  const ProcView view = ProcReader(session.seams.files, root).View();
  const FoundProcesses counts = CountsIn(*session.processes.Get());
  if (view == ProcView::kHost) {
    return Finding::Ok(absl::StrFormat("host PIDs visible: %s, %d found in %s",
                                       Counted(counts.listed, "GPU process"), counts.found, root));
  }
  Finding finding = {.severity = Missing(session),
                     .fact = absl::StrFormat(
                         "%s: the driver lists %d processes, %d found in %s, while %d GPUs "
                         "are busy",
                         ViewWords(view), counts.listed, counts.found, root, BusyGpus(session)),
                     .lose = {"process_view", "process_energy", "shared_split", "idle_by_process"},
                     .remedy = std::string(kHostPid),
                     .change = "hostPID for the exporter",
                     .blocks = true};
  if (view == ProcView::kHidden) {
    finding.remedy = "run as root, or with the group of gid= in the options of that mount";
    finding.change = "a /proc that shows all processes";
  }
  return finding;
}

Finding CheckCgroups(Session& session) {
  const FoundProcesses counts = CountsIn(*session.processes.Get());
  Finding finding = Finding::Ok(
      absl::StrFormat("%d of %d lead to a container", counts.in_containers, counts.found));
  for (const DeviceReading& device : session.processes.Get()->reading.devices) {
    for (const ListedProcess& process : device.processes) {
      if (process.identity != nullptr && process.identity->place.container_id.empty()) {
        finding.evidence.emplace_back("in no container", absl::StrFormat("pid %d", process.pid));
      }
    }
  }
  if (counts.in_containers < counts.found) {
    finding.severity = Severity::kNote;
    finding.lose = {"process_pods"};
  }
  return finding;
}

Finding CheckAccounting(Session& session) {
  const std::shared_ptr<const ProcessesFacts> facts = session.processes.Get();
  if (facts == nullptr) {
    return {.severity = Severity::kSkip, .caused_by = "process.namespace", .blocks = true};
  }
  const std::vector<DeviceReading>& devices = facts->reading.devices;
  const auto count = [&](Accounting mode) {
    return static_cast<size_t>(std::ranges::count(devices, mode, &DeviceReading::accounting));
  };
  const size_t on = count(Accounting::kOn);
  const size_t able = devices.size() - count(Accounting::kNotSupported);
  if (able == 0) {
    return Finding::Skip(absl::StrFormat("none of %s has it", Counted(devices.size(), "GPU")));
  }
  if (on == able) {
    return Finding::Ok(
        absl::StrFormat("on for all %d; processes shorter than a reading are counted", able));
  }
  const bool asked = session.command().source.enable_accounting && AsksForProcesses(session);
  const bool can_switch = session.seams.system.uid == 0;
  Finding finding = {.severity = asked && !can_switch ? Severity::kWarn : Severity::kNote,
                     .fact = absl::StrFormat("off on %d of %s", able - on, Counted(able, "GPU")),
                     .lose = {"short_processes"},
                     .remedy = "set PODGPU_ENABLE_ACCOUNTING=true in the exporter's environment"};
  if (asked) {
    finding.fact +=
        can_switch ? "; the exporter switches it on when it starts"
                   : absl::StrFormat("; uid %d may not switch it on", session.seams.system.uid);
    finding.remedy =
        can_switch ? "" : "in an init container as root: podgpu doctor --enable-accounting";
  }
  return finding;
}

Finding CheckProcessNames(Session& session) {
  const ExporterOptions& exporter = session.command().exporter;
  if (!exporter.kubernetes) {
    return Finding::Skip("not asked for: --kubernetes is off");
  }
  if (exporter.kubelet_pods) {
    return Finding::Ok("container names from the pod list of the kubelet, --kubelet-pods-url");
  }
  if (exporter.api_server.ok()) {
    return Finding::Ok("container names from the API server at " + exporter.api_server->host);
  }
  return {.severity = Severity::kNote,
          .fact = "container names from pod-resources only",
          .lose = {"container_names"}};
}

}  // namespace podgpu
