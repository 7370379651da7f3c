#include "cli/flag_table.h"

#include <algorithm>
#include <array>
#include <sys/un.h>

#include "absl/strings/numbers.h"
#include "absl/strings/str_format.h"

#include "base/go_values.h"
#include "base/text.h"
#include "cluster/fleet_links.h"
#include "exporter/routes.h"
#include "http/listen.h"

namespace podgpu {
namespace {

using std::chrono::milliseconds;

constexpr std::string_view kDefaultEngine = "localhost:5555";
constexpr int64_t kShortestIntervalMs =
    100;  // A shorter interval would make sampling itself a load on the workload.
constexpr int64_t kLongestIntervalMs = 3'600'000;  // One hour.
constexpr int64_t kLongestRetentionHours = int64_t{24} * 366 * 10;

// The parser validates the value before it calls `apply`, so the fallbacks are never used.
bool BoolOf(std::string_view value) { return ParseGoBool(value).value_or(false); }
int64_t IntOf(std::string_view value) { return ParseGoInt(value).value_or(0); }
std::chrono::nanoseconds DurationOf(std::string_view value) {
  return ParseGoDuration(value).value_or(std::chrono::nanoseconds(0));
}

template <bool NodeCommand::*member>
Status SetBool(NodeCommand& command, std::string_view value) {
  command.*member = BoolOf(value);
  return absl::OkStatus();
}

template <bool ViewOptions::*member>
Status SetViewBool(NodeCommand& command, std::string_view value) {
  command.exporter.view.*member = BoolOf(value);
  return absl::OkStatus();
}

template <bool JoinOptions::*member>
Status SetJoinBool(NodeCommand& command, std::string_view value) {
  command.exporter.join.*member = BoolOf(value);
  return absl::OkStatus();
}

Status SetKubernetes(NodeCommand& command, std::string_view value) {
  command.exporter.kubernetes = BoolOf(value);
  command.exporter.view.kubernetes = command.exporter.kubernetes;
  return absl::OkStatus();
}

// attribution/device_id.h recognizes every form of id by itself, so the value is only validated.
Status CheckGpuIdType(NodeCommand& /*command*/, std::string_view value) {
  const bool known = value == "uid" || value == "device-name";
  return known ? absl::OkStatus()
               : absl::InvalidArgumentError("must be \"uid\" or \"device-name\"");
}

// Stores a kMilliseconds value in `interval`.
Status TakeInterval(std::string_view value, int64_t least_ms, int64_t most_ms,
                    milliseconds& interval) {
  const milliseconds wanted = MillisecondsOf(value);
  if (wanted < milliseconds(least_ms) || wanted > milliseconds(most_ms)) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "must be %d to %d milliseconds, or as long a duration such as 5s", least_ms, most_ms));
  }
  interval = wanted;
  return absl::OkStatus();
}

Status SetInterval(NodeCommand& command, std::string_view value) {
  return TakeInterval(value, kShortestIntervalMs, kLongestIntervalMs,
                      command.exporter.collect_interval);
}

Status SetStaleAfter(NodeCommand& command, std::string_view value) {
  const auto duration = std::chrono::duration_cast<milliseconds>(DurationOf(value));
  if (duration < milliseconds(kShortestIntervalMs)) {
    return absl::InvalidArgumentError("must be 100ms or more");
  }
  command.exporter.stale_after = duration;
  return absl::OkStatus();
}

Status SetTextFileInterval(NodeCommand& command, std::string_view value) {
  return TakeInterval(value, kShortestIntervalMs, kLongestIntervalMs,
                      command.exporter.text_files.interval);
}

Status SetHostnameLabel(NodeCommand& command, std::string_view value) {
  if (value != "Hostname" && value != "hostname") {
    return absl::InvalidArgumentError("must be \"Hostname\" or \"hostname\"");
  }
  command.hostname_label = std::string(value);
  return absl::OkStatus();
}

Status SetDcgmExporterVersion(NodeCommand& command, std::string_view value) {
  const DcgmExporterVersion* version = FindDcgmExporterVersion(value);
  if (version == nullptr) {
    std::vector<std::string> names;
    for (const DcgmExporterVersion& known : DcgmExporterVersions()) {
      names.emplace_back(known.name);
    }
    return absl::InvalidArgumentError("must be one of " + Listed(names));
  }
  command.exporter.view.version = version;
  return absl::OkStatus();
}

Status SetViews(NodeCommand& command, std::string_view value) {
  std::vector<View> views;
  for (const std::string_view name : Split(value, ',')) {
    const auto* const row = std::ranges::find(kViewNames, Trim(name));
    if (row == kViewNames.end()) {
      return absl::InvalidArgumentError(
          absl::StrFormat("%s is not one of %s", Quoted(Trim(name)),
                          Listed(std::vector<std::string>(kViewNames.begin(), kViewNames.end()))));
    }
    const auto view = static_cast<View>(row - kViewNames.begin());
    if (std::ranges::count(views, view) == 0) {
      views.push_back(view);
    }
  }
  std::ranges::sort(views);
  command.exporter.views = views;
  return absl::OkStatus();
}

template <DeviceSelection DeviceSelections::*member>
Status SetSelection(NodeCommand& command, std::string_view value) {
  const StatusOr<DeviceSelection> selection = ParseDeviceSelection(value);
  if (!selection.ok()) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "%s. It must be f, g, i, g+i, or g or i with ids, such as g:0,2-3 or g:0+i:7",
        selection.status().message()));
  }
  command.exporter.view.selections.*member = *selection;
  return absl::OkStatus();
}

template <std::vector<std::string>& (*list)(NodeCommand&)>
Status AddToList(NodeCommand& command, std::string_view value) {
  for (const std::string_view item : Split(value, ',')) {
    if (!Trim(item).empty()) {
      list(command).emplace_back(Trim(item));
    }
  }
  return absl::OkStatus();
}

template <std::vector<std::string>& (*list)(NodeCommand&)>
void ClearList(NodeCommand& command) {
  list(command).clear();
}

Status SetControl(NodeCommand& command, std::string_view value) {
  command.exporter.enable_control = BoolOf(value);
  return absl::OkStatus();
}

Status AddAllowedHosts(NodeCommand& command, std::string_view value) {
  for (const std::string_view item : Split(value, ',')) {
    const std::string_view host = Trim(item);
    if (host.find_first_of(":/[] ") != std::string_view::npos) {
      return absl::InvalidArgumentError(
          "must be names of hosts, without scheme and port, such as gpu.example.com");
    }
    if (!host.empty()) {
      command.exporter.http.guard.allowed_hosts.emplace_back(host);
    }
  }
  return absl::OkStatus();
}
void ClearAllowedHosts(NodeCommand& command) { command.exporter.http.guard.allowed_hosts.clear(); }

Status SetSource(NodeCommand& command, std::string_view value) {
  constexpr std::pair<std::string_view, SourceKind> kKinds[] = {
      {"auto", SourceKind::kAuto}, {"dcgm", SourceKind::kDcgm}, {"nvml", SourceKind::kNvml}};
  for (const auto& [name, kind] : kKinds) {
    if (value == name) {
      command.source.kind = kind;
      return absl::OkStatus();
    }
  }
  return absl::InvalidArgumentError("must be one of auto, dcgm, nvml");
}

std::vector<std::string>& ResourceNames(NodeCommand& command) {
  return command.exporter.join.extra_resource_names;
}
std::vector<std::string>& IgnoredPodPatterns(NodeCommand& command) {
  return command.ignored_pod_patterns;
}
Status SetFleetUrl(NodeCommand& command, std::string_view value) {
  PODGPU_ASSIGN_OR_RETURN(command.exporter.fleet_url, ParseFleetLink(value));
  return absl::OkStatus();
}

std::vector<std::string>& VisibleNamespaceNames(NodeCommand& command) {
  return command.exporter.visible.chosen;
}
std::vector<std::string>& LabelPatterns(NodeCommand& command) { return command.label_patterns; }

Status SetProcessMetrics(NodeCommand& command, std::string_view value) {
  command.exporter.processes.enabled = IsOn(value);
  return absl::OkStatus();
}

Status SetRequestedVsUsed(NodeCommand& command, std::string_view value) {
  command.exporter.vcuda.enabled = IsOn(value);
  return absl::OkStatus();
}

Status SetVolcanoMemoryFactor(NodeCommand& command, std::string_view value) {
  constexpr int64_t kMostMib = 1 << 20;
  const int64_t mib = ParseGoInt(value).value_or(0);
  if (mib < 1 || mib > kMostMib) {
    return absl::InvalidArgumentError("must be from 1 to 1048576 MiB");
  }
  command.exporter.vcuda.volcano_unit_mib = static_cast<uint64_t>(mib);
  return absl::OkStatus();
}

Status SetQueryAddress(NodeCommand& command, std::string_view value) {
  const bool has_brackets = value.starts_with('[') && value.ends_with(']');
  const std::string host(has_brackets ? value.substr(1, value.size() - 2) : value);
  if (!ParseListenAddress(ToString({.host = host, .port = 0, .path = {}})).ok()) {
    return absl::InvalidArgumentError(
        "must be a host such as 0.0.0.0; the port is that of --query-port");
  }
  command.query_host = host;
  return absl::OkStatus();
}

Status SetQueryPort(NodeCommand& command, std::string_view value) {
  const int64_t port = IntOf(value);
  if (port < 0 || port > UINT16_MAX) {
    return absl::InvalidArgumentError("must be a port, or 0 for any free port");
  }
  command.query_port = static_cast<uint16_t>(port);
  return absl::OkStatus();
}

Status SetProcessPeriod(NodeCommand& command, std::string_view value) {
  const auto period = std::chrono::duration_cast<milliseconds>(DurationOf(value));
  if (period < milliseconds(kShortestIntervalMs) || period > milliseconds(kLongestIntervalMs)) {
    return absl::InvalidArgumentError("must be from 100ms to 1h");
  }
  command.exporter.processes.period = period;
  return absl::OkStatus();
}

Status SetProcessRetention(NodeCommand& command, std::string_view value) {
  const std::chrono::nanoseconds retention = DurationOf(value);
  if (retention < std::chrono::nanoseconds(0)) {
    return absl::InvalidArgumentError("must be 0s or more");
  }
  command.exporter.processes.table.retention = std::chrono::duration_cast<Duration>(retention);
  return absl::OkStatus();
}

Status SetMetricPrefix(NodeCommand& command, std::string_view value) {
  const auto is_letter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == ':';
  };
  const auto is_part = [&](char c) { return is_letter(c) || (c >= '0' && c <= '9'); };
  if (value.empty() || !is_letter(value.front()) || !std::ranges::all_of(value, is_part)) {
    return absl::InvalidArgumentError(
        "must be letters, digits and underscores, and not begin with a digit");
  }
  command.exporter.processes.prefix = std::string(value);
  return absl::OkStatus();
}

Status SetMetricsPath(NodeCommand& command, std::string_view value) {
  const bool is_odd = value.find("//") != std::string_view::npos ||
                      value.find("/.") != std::string_view::npos ||
                      value.find_first_of("?#% ") != std::string_view::npos;
  if (!value.starts_with('/') || is_odd) {
    return absl::InvalidArgumentError("must be a path such as /metrics or /gpu");
  }
  if (value != "/metrics" && IsNodePath(value)) {
    return absl::InvalidArgumentError("another page is served there");
  }
  command.exporter.routes.metrics_path = std::string(value);
  return absl::OkStatus();
}

Status SetKubeletPodsUrl(NodeCommand& command, std::string_view value) {
  command.exporter.kubelet_pods.reset();
  if (!value.empty()) {
    PODGPU_ASSIGN_OR_RETURN(command.exporter.kubelet_pods, ParseKubeletPodsUrl(value));
  }
  return absl::OkStatus();
}

Status SetIdlePower(NodeCommand& command, std::string_view value) {
  constexpr double kMostWatts = 10'000;
  double watts = -1;
  if (!absl::SimpleAtod({value.data(), value.size()}, &watts) ||
      !(watts >= 0 && watts <= kMostWatts)) {
    return absl::InvalidArgumentError("must be watts, from 0 to 10000");
  }
  command.exporter.processes.ledger.idle_power_mw = static_cast<uint64_t>(watts * 1e3);
  return absl::OkStatus();
}

Status SetIdleEnergy(NodeCommand& command, std::string_view value) {
  constexpr std::pair<std::string_view, IdleEnergy> kWhose[] = {
      {"unattributed", IdleEnergy::kUnattributed},
      {"equal", IdleEnergy::kEqual},
      {"allocated", IdleEnergy::kAllocated}};
  const auto* const row =
      std::ranges::find(kWhose, value, &std::pair<std::string_view, IdleEnergy>::first);
  if (row == std::end(kWhose)) {
    return absl::InvalidArgumentError("must be \"unattributed\", \"equal\" or \"allocated\"");
  }
  command.exporter.processes.ledger.idle_energy = row->second;
  return absl::OkStatus();
}

Status SetProcessScope(NodeCommand& command, std::string_view value) {
  if (value != "containers" && value != "all") {
    return absl::InvalidArgumentError("must be \"containers\" or \"all\"");
  }
  command.exporter.processes.table.all_processes = value == "all";
  return absl::OkStatus();
}

Status SetLogForm(NodeCommand& command, std::string_view value) {
  return ReadLogForm(value, command.log_form);
}

Status SetLogLevel(NodeCommand& command, std::string_view value) {
  return ReadLogLevel(value, command.log_level);
}

Status SetAction(NodeCommand& command, std::string_view value, NodeCommand::Action action) {
  if (BoolOf(value)) {
    command.action = action;
  }
  return absl::OkStatus();
}

// A flag of dcgm-exporter that is accepted without effect; `why` tells the alternative.
Status TakeIdle(NodeCommand& command, std::string_view flag, std::string_view why) {
  const std::string line = absl::StrFormat("%s %s", flag, why);
  if (std::ranges::count(command.idle_flags, line) == 0) {  // The variable and the flag.
    command.idle_flags.push_back(line);
  }
  return absl::OkStatus();
}

Status TakeKeepLimit(NodeCommand& command, std::string_view flag, std::string_view value) {
  if (value.starts_with('-')) {
    return absl::InvalidArgumentError("must be 0 or more");
  }
  return TakeIdle(command, flag,
                  "has no effect: podgpu asks DCGM to keep three samples of a field, and XIDs for "
                  "ten minutes, because it counts each once. Remove it");
}

// Dcgm-exporter starts with the default when a timeout is zero, negative or no duration.
Status TakeTimeout(NodeCommand& command, std::string_view flag, std::string_view value,
                   milliseconds& timeout) {
  const std::optional<std::chrono::nanoseconds> wanted = ParseGoDuration(value);
  const auto whole = std::chrono::ceil<milliseconds>(wanted.value_or(milliseconds(0)));
  if (whole <= milliseconds(0) || whole > milliseconds(kLongestIntervalMs)) {
    command.idle_flags.push_back(absl::StrFormat(
        "%s=%s has no effect: it is no duration above 0 and up to one hour, such as 10s. %d "
        "seconds apply; correct or remove it",
        flag, Quoted(value), std::chrono::floor<std::chrono::seconds>(timeout).count()));
    return absl::OkStatus();
  }
  // The command line wins over a wrong variable, which was read before.
  std::erase_if(command.idle_flags, [&](const std::string& line) {
    return line.starts_with(absl::StrFormat("%s=", flag));
  });
  timeout = whole;
  return absl::OkStatus();
}

template <std::vector<std::string> MetricPatterns::*member>
Status SetPatterns(NodeCommand& command, std::string_view value) {
  std::vector<std::string>& patterns = command.patterns.*member;
  patterns.clear();
  for (const std::string_view pattern : Split(value, ',')) {
    if (!Trim(pattern).empty()) {
      patterns.emplace_back(Trim(pattern));
    }
  }
  return absl::OkStatus();
}

Status SetSeriesBudget(NodeCommand& command, std::string_view value) {
  const int64_t budget = IntOf(value);
  if (budget < 0) {
    return absl::InvalidArgumentError("must be 0 (no budget) or more");
  }
  command.exporter.series_budget = static_cast<size_t>(budget);
  return absl::OkStatus();
}

template <std::chrono::milliseconds FindingsAsked::*member>
Status SetWindow(NodeCommand& command, std::string_view value) {
  constexpr int64_t kShortestMs = 1'000;
  constexpr int64_t kLongestMs = 86'400'000;
  return TakeInterval(value, kShortestMs, kLongestMs, command.exporter.windows.*member);
}

Status SetDcgmLogLevel(NodeCommand& command, std::string_view value) {
  constexpr std::string_view kLevels[] = {"NONE", "FATAL", "ERROR", "WARN",
                                          "INFO", "DEBUG", "VERB"};
  if (std::ranges::count(kLevels, value) == 0) {
    return absl::InvalidArgumentError("must be one of NONE, FATAL, ERROR, WARN, INFO, DEBUG, VERB");
  }
  command.dcgm_log_level = std::string(value);
  return absl::OkStatus();
}

Status SetConfigMap(NodeCommand& command, std::string_view value) {
  command.counters.config_map.reset();
  command.names_no_config_map = value == "none";
  if (value != "none") {
    PODGPU_ASSIGN_OR_RETURN(command.counters.config_map, ParseConfigMapName(value));
  }
  return absl::OkStatus();
}

// DOCKER_HOST has the form with a scheme.
Status SetContainerSocket(NodeCommand& command, std::string_view value) {
  constexpr std::string_view kScheme = "unix://";
  if (value.starts_with(kScheme)) {
    value.remove_prefix(kScheme.size());
  }
  constexpr size_t kLongestSocketPath = sizeof sockaddr_un().sun_path - 1;
  if (!value.empty() && (!value.starts_with('/') || value.size() > kLongestSocketPath)) {
    return absl::InvalidArgumentError(
        absl::StrFormat("must be the path of a Unix socket, such as /var/run/docker.sock, with at "
                        "most %d bytes",
                        kLongestSocketPath));
  }
  command.container_socket = std::string(value);
  return absl::OkStatus();
}

// tidy: table
constexpr Flag kPage[] = {
    {"collect-interval", "c", "DCGM_EXPORTER_INTERVAL", FlagKind::kMilliseconds, "30000",
     "How often device values are sampled and pages are made: 100 to 3600000 milliseconds, or a "
     "duration such as 5s.",
     SetInterval},
    {"stale-after", "", "PODGPU_STALE_AFTER", FlagKind::kDuration, "three intervals, at least 5s",
     "Samples older than this are removed from the page instead of being repeated; those of a "
     "group "
     "of --config-file after three of its intervals, if that is longer.",
     SetStaleAfter},
    {"metrics-views", "", "PODGPU_METRICS_VIEWS", FlagKind::kString, "dcgm,core,self",
     "What /metrics shows: dcgm (dcgm-exporter's rows and no others), core (facts, holders, states "
     "and XIDs of GPUs), native (core, and clean names in base units for every measure), process "
     "(see --process-metrics; GPUs, pods and each process), self (this program).",
     SetViews},
    {"series-budget", "", "PODGPU_SERIES_BUDGET", FlagKind::kInt, "0",
     "Maximum number of series on /metrics; above it DCGM families are left out, the last ones "
     "on the page first. 0: no limit.",
     SetSeriesBudget},
    {"xid-count-window-size", "x", "DCGM_EXPORTER_XID_COUNT_WINDOW_SIZE", FlagKind::kMilliseconds,
     "300000",
     "How long DCGM_EXP_XID_ERRORS_COUNT counts an XID: 1000 to 86400000 milliseconds, or a "
     "duration such as 5m.",
     SetWindow<&FindingsAsked::xid_window>},
    {"clock-events-count-window-size", "", "DCGM_EXPORTER_CLOCK_EVENTS_COUNT_WINDOW_SIZE",
     FlagKind::kMilliseconds, "300000",
     "How long DCGM_EXP_CLOCK_EVENTS_COUNT counts a sample, in the same form.",
     SetWindow<&FindingsAsked::clock_window>},
    {"hpc-job-mapping-dir", "", "DCGM_HPC_JOB_MAPPING_DIR", FlagKind::kString, "",
     "Directory in which a batch system keeps a file per device (\"0\", or \"0.7\" for MIG "
     "instance 7 of GPU 0) with one job id per line: each row of the device is shown once per job, "
     "with hpc_job.",
     [](NodeCommand& command, std::string_view value) {
       command.exporter.job_directory = std::string(value);
       return absl::OkStatus();
     }},
    {"container-labels", "", "DCGM_EXPORTER_CONTAINER_LABELS", FlagKind::kBool, "false",
     "Outside Kubernetes: each row of a device is shown once per container that was given the "
     "device, with container. Needs --container-runtime-socket.",
     SetBool<&NodeCommand::container_labels>},
    {"container-runtime-socket", "", "DCGM_CONTAINER_RUNTIME_SOCKET", FlagKind::kString, "",
     "Socket of a container runtime with Docker's API, such as /var/run/docker.sock or "
     "/run/podman/podman.sock, for --container-labels. Who can write to it controls the machine.",
     SetContainerSocket},
    {"dcgm-exporter-version", "", "PODGPU_DCGM_EXPORTER_VERSION", FlagKind::kString, "4.8.2",
     "The release of dcgm-exporter whose page podgpu writes: 4.8.2; 4.8.3 (label hostname, numbers "
     "in the shortest form, families and lines in the order of their names); 4.8.4; or 4.9, whose "
     "default metrics have new names and units.",
     SetDcgmExporterVersion},
    {"both-names", "", "PODGPU_BOTH_NAMES", FlagKind::kBool, "false",
     "Show each metric that dcgm-exporter 4.9 renames under its old and its new name, with the "
     "value in the unit of each, so that dashboards can move one by one.",
     [](NodeCommand& command, std::string_view value) {
       command.patterns.both_names = BoolOf(value);
       return absl::OkStatus();
     }},
    {"hostname-label", "", "PODGPU_HOSTNAME_LABEL", FlagKind::kString, "",
     "Spelling of the hostname label on DCGM rows: Hostname or hostname. The default is that of "
     "--dcgm-exporter-version: Hostname in 4.8.2, hostname later.",
     SetHostnameLabel},
    {"no-hostname", "n", "DCGM_EXPORTER_NO_HOSTNAME", FlagKind::kBool, "false",
     "Leave the hostname label out.", SetBool<&NodeCommand::no_hostname>},
    {"use-old-namespace", "o", "DCGM_EXPORTER_USE_OLD_NAMESPACE", FlagKind::kBool, "false",
     "Old label names on DCGM rows: uuid, pod_name, pod_namespace, container_name.",
     SetViewBool<&ViewOptions::use_old_namespace>},
    {"replace-blanks-in-model-name", "rbmn", "DCGM_EXPORTER_REPLACE_BLANKS_IN_MODEL_NAME",
     FlagKind::kBool, "false", "Replace each run of blanks in the model name by one dash.",
     SetViewBool<&ViewOptions::replace_blanks_in_model_name>},
    {"textfile-device", "", "PODGPU_TEXTFILE_DEVICE", FlagKind::kString, "",
     "Write the legacy page without pods to this file, for node-exporter's textfile collector.",
     [](NodeCommand& command, std::string_view value) {
       command.exporter.text_files.device_path = std::string(value);
       return absl::OkStatus();
     }},
    {"textfile-pod", "", "PODGPU_TEXTFILE_POD", FlagKind::kString, "",
     "The same with the labels of pods, as /gpu/metrics shows it.",
     [](NodeCommand& command, std::string_view value) {
       command.exporter.text_files.pod_path = std::string(value);
       return absl::OkStatus();
     }},
    {"textfile-interval", "", "PODGPU_TEXTFILE_INTERVAL", FlagKind::kMilliseconds, "1000",
     "Shortest interval between two writes of a text file: 100 to 3600000 milliseconds, or a "
     "duration. A file is written when there is a newer reading (--collect-interval).",
     SetTextFileInterval},
};

constexpr Flag kFields[] = {
    {"collectors", "f", "DCGM_EXPORTER_COLLECTORS", FlagKind::kString, kDefaultCountersPath,
     "Counters file: one line per metric (field, type, help). The program contains the three lists "
     "of dcgm-exporter's image, default-counters.csv, dcp-metrics-included.csv and "
     "1.x-compatibility-metrics.csv, and the default list with the names of 4.9, "
     "default-counters-4.9.csv. It uses them for these paths in /etc/dcgm-exporter/ if no such "
     "file exists.",
     [](NodeCommand& command, std::string_view value) {
       command.counters.path = std::string(value);
       return absl::OkStatus();
     }},
    {"metrics-include", "", "PODGPU_METRICS_INCLUDE", FlagKind::kString, "",
     "Names of DCGM fields to serve in addition to the counters file, with * and ?, separated by "
     "commas.",
     SetPatterns<&MetricPatterns::include>},
    {"metrics-exclude", "", "PODGPU_METRICS_EXCLUDE", FlagKind::kString, "",
     "Names of lines to remove from the counters file, in the same form.",
     SetPatterns<&MetricPatterns::exclude>},
    {"configmap-data", "m", "DCGM_EXPORTER_CONFIGMAP_DATA", FlagKind::kString, "none",
     "ConfigMap of the API server, as NAMESPACE:NAME, whose key \"metrics\" holds the counters "
     "file; until it can be read, --collectors is used. Needs the right to get it, and to watch it "
     "to notice changes at once. A mounted ConfigMap needs neither.",
     SetConfigMap},
    {"config-file", "", "DCGM_EXPORTER_CONFIG_FILE", FlagKind::kString, "",
     "YAML configuration of dcgm-exporter, version 1 or 2: the list of metrics, intervals of "
     "groups "
     "of fields, and some flags. A flag or variable wins over it. A changed list and changed "
     "groups "
     "are used at once.",
     [](NodeCommand& command, std::string_view value) {
       command.config_file = std::string(Trim(value));
       return command.config_file.empty()
                  ? absl::InvalidArgumentError("must be the path of a YAML file")
                  : absl::OkStatus();
     }},
};

constexpr Flag kDevices[] = {
    {"devices", "d", "DCGM_EXPORTER_DEVICES_STR", FlagKind::kString, "f",
     "GPUs and MIG instances on DCGM rows: f (instances, or the GPU if it has none), g (GPUs), i "
     "(instances), g+i (both); g:0,2-4 by GPU id, i:7 by DCGM's entity id, g:0+i:7. NVLinks of "
     "GPUs are shown with f, g and g+i.",
     SetSelection<&DeviceSelections::gpus>},
    {"switch-devices", "s", "DCGM_EXPORTER_OTHER_DEVICES_STR", FlagKind::kString, "f",
     "NVSwitches on DCGM rows: f (with their links), g or g:0,2-4 (without), i (none), g+i (as f).",
     SetSelection<&DeviceSelections::switches>},
    {"cpu-devices", "p", "DCGM_EXPORTER_CPU_DEVICES_STR", FlagKind::kString, "f",
     "CPUs on DCGM rows: f (with their cores), g or g:0,2-4 (without), i (none), g+i (as f).",
     SetSelection<&DeviceSelections::cpus>},
};

constexpr Flag kKubernetes[] = {
    {"kubernetes", "k", "DCGM_EXPORTER_KUBERNETES", FlagKind::kBool, "false",
     "Put pod, namespace and container on the DCGM rows of devices that have exactly one owner.",
     SetKubernetes, nullptr, "kubernetes-enabled"},
    {"pod-resources-kubelet-socket", "", "DCGM_POD_RESOURCES_KUBELET_SOCKET", FlagKind::kString,
     "/var/lib/kubelet/pod-resources/kubelet.sock",
     "The kubelet's pod-resources socket. Mount its directory, not the file.",
     [](NodeCommand& command, std::string_view value) {
       command.kubelet.socket = std::string(value);
       return absl::OkStatus();
     },
     nullptr, "pod-resources-socket"},
    {"nvidia-resource-names", "", "NVIDIA_RESOURCE_NAMES", FlagKind::kList, "",
     "Resource names that are GPUs, in addition to nvidia.com/gpu and nvidia.com/mig-*, and both "
     "with .shared.",
     AddToList<ResourceNames>, ClearList<ResourceNames>},
    {"ignore-pods", "", "PODGPU_IGNORE_PODS", FlagKind::kList, "",
     "NAMESPACE/REGEX of pods that hold GPUs without using them, such as "
     "kai-resource-reservation/.*: they are no owners. The expression must match the whole name of "
     "the pod. podgpu's own pod is never an owner.",
     AddToList<IgnoredPodPatterns>, ClearList<IgnoredPodPatterns>},
    {"kubernetes-enable-pod-uid", "", "DCGM_EXPORTER_KUBERNETES_ENABLE_POD_UID", FlagKind::kBool,
     "false",
     "With --kubernetes: put pod_uid on the DCGM rows of devices that have exactly one owner. Asks "
     "the API server for this node's pods; needs NODE_NAME and the right to list and watch pods.",
     SetViewBool<&ViewOptions::pod_uid>},
    {"kubernetes-enable-pod-labels", "", "DCGM_EXPORTER_KUBERNETES_ENABLE_POD_LABELS",
     FlagKind::kBool, "false",
     "With --kubernetes: put the labels of the pod on the same rows; in their names every "
     "character except letters, digits and underscores becomes an underscore. Needs the same "
     "rights.",
     [](NodeCommand& command, std::string_view value) {
       command.exporter.pod_labels = BoolOf(value);
       return absl::OkStatus();
     }},
    {"kubernetes-pod-label-allowlist-regex", "",
     "DCGM_EXPORTER_KUBERNETES_POD_LABEL_ALLOWLIST_REGEX", FlagKind::kList, "",
     "Patterns (RE2, searched anywhere in the key) of the pod labels to show; without the flag, "
     "all are shown.",
     AddToList<LabelPatterns>, ClearList<LabelPatterns>},
    {"kubernetes-virtual-gpus", "", "KUBERNETES_VIRTUAL_GPUS", FlagKind::kBool, "false",
     "With --kubernetes: repeat each DCGM row of a shared GPU for each container that holds it, "
     "with vgpu, the number of its share, and without labels of pods. A sum over the copies counts "
     "the GPU several times: podgpu_allocation_info is the better way to join.",
     SetViewBool<&ViewOptions::virtual_gpus>},
    {"kubernetes-enable-dra", "", "KUBERNETES_ENABLE_DRA", FlagKind::kBool, "false",
     "With --kubernetes: put the claims of dynamic resource allocation on DCGM rows (dra_*), one "
     "row per container that holds the device through a claim. Asks the API server for this node's "
     "ResourceSlices; needs NODE_NAME and the right to list and watch resourceslices. No effect "
     "with --kubernetes-virtual-gpus.",
     SetJoinBool<&JoinOptions::claims>},
    {"service-account-dir", "", "PODGPU_SERVICE_ACCOUNT_DIR", FlagKind::kString,
     "/var/run/secrets/kubernetes.io/serviceaccount",
     "Folder with token and ca.crt for the API server, if it is not the one that Kubernetes "
     "mounts.",
     [](NodeCommand& command, std::string_view value) {
       command.service_account = std::string(value);
       return absl::OkStatus();
     }},
    {"kubelet-pods-url", "", "PODGPU_KUBELET_PODS_URL", FlagKind::kString, "",
     "Read this node's pods from the kubelet at this address, such as "
     "https://$(HOST_IP):10250/pods, instead of the API server: for names of processes, uids and "
     "labels. Needs the right to get nodes/pods (Kubernetes 1.33 and newer), and no NODE_NAME.",
     SetKubeletPodsUrl},
    {"kubelet-pods-insecure-skip-tls-verify", "", "PODGPU_KUBELET_PODS_INSECURE_SKIP_TLS_VERIFY",
     FlagKind::kBool, "false",
     "Accept any certificate of the kubelet, also a self-signed one. Then any server that answers "
     "at that address gets the token.",
     [](NodeCommand& command, std::string_view value) {
       command.kubelet_pods_unverified = BoolOf(value);
       return absl::OkStatus();
     }},
};

constexpr Flag kProcesses[] = {
    {"process-metrics", "", "PODGPU_PROCESS_METRICS", FlagKind::kSwitch, "off",
     "on: show each process on each GPU (the view process) and its share of the GPU's energy. The "
     "energy of a GPU is measured. Processes that share a GPU get shares by SM time; the shares "
     "add up, but a single share can be wrong by more than 100 % when different kinds of work "
     "share a GPU. Needs the host's pids (hostPID).",
     SetProcessMetrics},
    {"process-interval", "", "PODGPU_PROCESS_INTERVAL", FlagKind::kDuration, "1s",
     "How often processes, their use and the energy counters of their GPUs are read, from 100ms "
     "to 1h; pages are made as often.",
     SetProcessPeriod, nullptr, "dcgm-update-frequency"},
    {"process-scope", "", "PODGPU_PROCESS_SCOPE", FlagKind::kString, "containers",
     "Which processes have rows: those in containers (on a node of Kubernetes, in those of pods), "
     "or all. The energy of others is outside_kubernetes.",
     SetProcessScope},
    {"metric-prefix", "", "PODGPU_METRIC_PREFIX", FlagKind::kString, kProcessPrefix,
     "Prefix of the names of the process families.", SetMetricPrefix},
    {"metric-retention", "", "PODGPU_METRIC_RETENTION", FlagKind::kDuration, "5m",
     "How long a process that has ended stays on the page, with its last numbers.",
     SetProcessRetention},
    {"enable-accounting", "", "PODGPU_ENABLE_ACCOUNTING", FlagKind::kBool, "false",
     "With --process-metrics=on: switch on the driver's accounting on every GPU that is not in MIG "
     "mode, and again after each load of the driver. Then processes that begin and end between two "
     "readings are counted, and have rows with --process-scope=all. Energy does not need it. Needs "
     "root (see podgpu doctor).",
     [](NodeCommand& command, std::string_view value) {
       command.source.enable_accounting = BoolOf(value);
       return absl::OkStatus();
     }},
    {"gpu-idle-power", "", "PODGPU_GPU_IDLE_POWER", FlagKind::kString, "0",
     "Power of an idle GPU in watts; this part is set aside before energy is shared out.",
     SetIdlePower},
    {"idle-energy", "", "PODGPU_IDLE_ENERGY", FlagKind::kString, "unattributed",
     "Receiver of the energy that is set aside: unattributed; equal: the processes on the GPU, in "
     "equal parts; or allocated: the pods that hold the GPU, in equal parts, whether they run or "
     "not (shown for pods only).",
     SetIdleEnergy},
    {"proc-root", "", "PODGPU_PROC_ROOT", FlagKind::kString, "/proc",
     "Mount point of the /proc with the host's pids; it tells the name, the container and the pod "
     "of a process.",
     [](NodeCommand& command, std::string_view value) {
       command.source.proc_root = std::string(value);
       return absl::OkStatus();
     }},
    {"requested-vs-used", "", "PODGPU_REQUESTED_VS_USED", FlagKind::kSwitch, "off",
     "on: serve under /metric the GPU resources that containers request next to those that they "
     "use, as gpu-manager does. Reads processes as --process-metrics does; asks the API server for "
     "this node's pods, which needs NODE_NAME and the right to list and watch pods.",
     SetRequestedVsUsed},
    {"volcano-memory-factor", "", "PODGPU_VOLCANO_MEMORY_FACTOR", FlagKind::kInt, "",
     "MiB of one unit of volcano.sh/vgpu-memory, for --requested-vs-used: the --gpu-memory-factor "
     "of Volcano's device plugin, 1 if it has none. Without the flag the unit is unknown, and the "
     "memory that such containers request is left out.",
     SetVolcanoMemoryFactor},
    {"query-addr", "", "PODGPU_QUERY_ADDR", FlagKind::kString, "localhost",
     "Also serve that page, and no other, at this host and --query-port; turns it on. TLS and "
     "passwords are those of --web-config-file.",
     SetQueryAddress},
    {"query-port", "", "PODGPU_QUERY_PORT", FlagKind::kInt, "5678",
     "The port of --query-addr; this listener is off unless one of the two flags is given.",
     SetQueryPort},
};

constexpr Flag kSource[] = {
    {"source", "", "PODGPU_SOURCE", FlagKind::kString, "auto",
     "Source of device metrics: dcgm; or nvml, which needs only the driver's libnvidia-ml and has "
     "profiling metrics on Hopper and later. auto uses DCGM if a remote engine or --libdcgm is "
     "given; otherwise NVML if it has every requested metric; otherwise DCGM.",
     SetSource},
    {"remote-hostengine-info", "r", "DCGM_REMOTE_HOSTENGINE_INFO", FlagKind::kString,
     kDefaultEngine,
     "Use the DCGM host engine at this address (host:port; unix:///path, which is faster; or "
     "vsock://CID:port) instead of an embedded one. Setting it at all selects the remote engine. "
     "Without libdcgm, which has its client, NVML is read in its place, with state degraded.",
     [](NodeCommand& command, std::string_view value) {
       command.source.address = std::string(value.empty() ? kDefaultEngine : value);
       return absl::OkStatus();
     }},
    {"libdcgm", "", "PODGPU_LIBDCGM", FlagKind::kString, "searched",
     "Path of libdcgm.so.4 (or .so.3) if it is not in a usual place.",
     [](NodeCommand& command, std::string_view value) {
       command.source.dcgm_library = std::string(value);
       return absl::OkStatus();
     }},
    {"libnvidia-ml", "", "PODGPU_LIBNVIDIA_ML", FlagKind::kString, "searched",
     "Path of libnvidia-ml.so.1 if it is not in a usual place.",
     [](NodeCommand& command, std::string_view value) {
       command.source.nvml_library = std::string(value);
       return absl::OkStatus();
     }},
    {"sysfs-root", "", "PODGPU_SYSFS_ROOT", FlagKind::kString, "/sys",
     "Mount point of the kernel's sysfs; its PCI bus tells how many GPUs this node should have.",
     [](NodeCommand& command, std::string_view value) {
       command.sysfs_root = std::string(value);
       return absl::OkStatus();
     }},
};

constexpr Flag kWeb[] = {
    {"address", "a", "DCGM_EXPORTER_LISTEN", FlagKind::kString, ":9400",
     "Address to listen on: host:port, :port, [v6]:port, or unix:/path.",
     [](NodeCommand& command, std::string_view value) {
       command.exporter.http.address = std::string(value);
       return absl::OkStatus();
     },
     nullptr, "listen-address"},
    {"metrics-path", "", "", FlagKind::kString, "",
     "Serve /metrics under this path too, as my-gpu-exporter does.", SetMetricsPath},
    {"web-config-file", "", "DCGM_EXPORTER_WEB_CONFIG_FILE", FlagKind::kString, "",
     "TLS, passwords, headers and a rate limit for HTTP clients: the YAML file that all Prometheus "
     "exporters share. Read again when it changes.",
     [](NodeCommand& command, std::string_view value) {
       command.exporter.http.web_config_file = std::string(value);
       return absl::OkStatus();
     }},
    {"web-read-timeout", "", "DCGM_EXPORTER_WEB_READ_TIMEOUT", FlagKind::kString, "10s",
     "Time for a whole request to arrive; the connection is closed after it.",
     [](NodeCommand& command, std::string_view value) {
       return TakeTimeout(command, "--web-read-timeout", value,
                          command.exporter.http.request_timeout);
     }},
    {"web-write-timeout", "", "DCGM_EXPORTER_WEB_WRITE_TIMEOUT", FlagKind::kString, "30s",
     "Time for a whole answer to leave; the connection is closed after it.",
     [](NodeCommand& command, std::string_view value) {
       return TakeTimeout(command, "--web-write-timeout", value,
                          command.exporter.http.response_timeout);
     }},
    {"web-systemd-socket", "", "DCGM_EXPORTER_SYSTEMD_SOCKET", FlagKind::kBool, "false",
     "Serve the socket that systemd hands over instead of --address.",
     SetBool<&NodeCommand::systemd_socket>},
    {"web-allowed-hosts", "", "PODGPU_WEB_ALLOWED_HOSTS", FlagKind::kList, "",
     "Host names that clients may use, in addition to addresses, localhost and this machine's own "
     "name; a request with any other Host gets 403, on all paths. * allows all. Without the flag, "
     "only the paths of --web-enable-control require an address, localhost or this machine's name. "
     "Protects against DNS rebinding: a web site that points its own name at this address to reach "
     "it through a browser.",
     AddAllowedHosts, ClearAllowedHosts},
    {"web-enable-control", "", "PODGPU_WEB_ENABLE_CONTROL", FlagKind::kBool, "false",
     "Clients that may read /metrics may also POST: /api/v1/profiling?state=paused&for=10m leaves "
     "the profiling counters to another program; /api/v1/devices?state=released&for=30s releases "
     "the devices. Both end after that time, or at once with state=running or state=held.",
     SetControl},
    {"api-namespaces", "", "PODGPU_API_NAMESPACES", FlagKind::kList, "",
     "Namespaces whose pods are named on /, /explain and under /api/v1; of other namespaces they "
     "show only that pods exist. Without the flag, all are named. /metrics names all.",
     AddToList<VisibleNamespaceNames>, ClearList<VisibleNamespaceNames>},
    {"fleet-url", "", "PODGPU_FLEET_URL", FlagKind::kString, "",
     "Address of the fleet page (podgpu cluster), as a browser reaches it, such as "
     "http://podgpu.example/. The page of this node links back to it; without the flag it has no "
     "such link.",
     SetFleetUrl},
};

constexpr Flag kCompatibility[] = {
    {"kubernetes-gpu-id-type", "", "DCGM_EXPORTER_KUBERNETES_GPU_ID_TYPE", FlagKind::kString, "uid",
     "Accepted: uid or device-name (nvidia<N>, as on GKE). dcgm-exporter needs it to match device "
     "ids; podgpu recognizes both forms.",
     CheckGpuIdType},
    {"process-scan-interval", "", "", FlagKind::kDuration, "",
     "Accepted without effect: every reading lists the processes.",
     [](NodeCommand&, std::string_view) { return absl::OkStatus(); }},
    {"process-energy", "", "PODGPU_PROCESS_ENERGY", FlagKind::kString, "apportioned",
     "Accepted, without effect: DCGM's figure is the energy of the whole GPU (docs/energy.md).",
     [](NodeCommand& command, std::string_view) {
       return TakeIdle(command, "--process-energy",
                       "has no effect: DCGM's energy of a process is that of its whole GPU, so it "
                       "is not served. Remove the flag; podgpu_process_energy_joules_total has the "
                       "energy of each process");
     }},
    {"enable-energy-estimation", "", "", FlagKind::kBool, "true",
     "Accepted without effect: energy is always measured for a process that is alone on a GPU, and "
     "shared out otherwise.",
     [](NodeCommand&, std::string_view) { return absl::OkStatus(); }},
    {"disable-startup-validate", "", "DISABLE_STARTUP_VALIDATE", FlagKind::kBool, "false",
     "Accepted without effect: podgpu always starts and reports what is missing.",
     [](NodeCommand&, std::string_view) { return absl::OkStatus(); }},
    {"enable-gpu-bind-unbind-watch", "", "DCGM_EXPORTER_ENABLE_GPU_BIND_UNBIND_WATCH",
     FlagKind::kBool, "false",
     "Accepted without effect: added and removed devices are always noticed.",
     [](NodeCommand&, std::string_view) { return absl::OkStatus(); }},
    {"gpu-bind-unbind-poll-interval", "", "DCGM_EXPORTER_GPU_BIND_UNBIND_POLL_INTERVAL",
     FlagKind::kString, "1s", "Accepted: see above.",
     [](NodeCommand&, std::string_view) { return absl::OkStatus(); }},
    {"watch-max-keep-age", "", "DCGM_EXPORTER_WATCH_MAX_KEEP_AGE", FlagKind::kDuration, "10m",
     "Accepted without effect: podgpu asks DCGM to keep three samples of a field, and XIDs for ten "
     "minutes.",
     [](NodeCommand& command, std::string_view value) {
       return TakeKeepLimit(command, "--watch-max-keep-age", value);
     }},
    {"watch-max-keep-samples", "", "DCGM_EXPORTER_WATCH_MAX_KEEP_SAMPLES", FlagKind::kInt, "0",
     "Accepted without effect: see above.",
     [](NodeCommand& command, std::string_view value) {
       return TakeKeepLimit(command, "--watch-max-keep-samples", value);
     }},
    {"max-concurrent-scrapes", "", "DCGM_EXPORTER_MAX_CONCURRENT_SCRAPES", FlagKind::kInt, "16",
     "Accepted without effect: a scrape gets a copy of a finished page and starts no reading.",
     [](NodeCommand& command, std::string_view value) {
       if (IntOf(value) <= 0) {
         return Status(absl::InvalidArgumentError("must be 1 or more"));
       }
       return TakeIdle(command, "--max-concurrent-scrapes",
                       "has no effect: a scrape gets a copy of a finished page and starts no "
                       "reading, so none is refused. Remove it");
     }},
    {"enable-exporter-metrics", "", "DCGM_EXPORTER_ENABLE_EXPORTER_METRICS", FlagKind::kBool,
     "false", "Accepted without effect: podgpu_* and process_* are always served; there is no Go.",
     [](NodeCommand& command, std::string_view value) {
       return BoolOf(value)
                  ? TakeIdle(command, "--enable-exporter-metrics",
                             "has no effect: podgpu_* and process_* are always served, and podgpu "
                             "has no Go runtime for go_* and promhttp_*. Remove it")
                  : absl::OkStatus();
     }},
    {"fake-gpus", "", "DCGM_EXPORTER_USE_FAKE_GPUS", FlagKind::kBool, "false",
     "Accepted without effect: podgpu-sim is the simulated node.",
     [](NodeCommand& command, std::string_view value) {
       return BoolOf(value) ? TakeIdle(command, "--fake-gpus",
                                       "has no effect: podgpu does not simulate devices. Use "
                                       "podgpu-sim for a simulated node")
                            : absl::OkStatus();
     }},
    {"enable-pprof", "", "DCGM_EXPORTER_ENABLE_PPROF", FlagKind::kBool, "false",
     "Accepted without effect: there is no Go runtime; use podgpu's own metrics and perf.",
     [](NodeCommand& command, std::string_view value) {
       return BoolOf(value)
                  ? TakeIdle(command, "--enable-pprof",
                             "has no effect: there is no Go runtime to profile. Look at "
                             "podgpu_tick_seconds and process_*, or run perf on the process")
                  : absl::OkStatus();
     }},
};

constexpr Flag kLogs[] = {
    {"log-level", "", "PODGPU_LOG_LEVEL", FlagKind::kString, "info", "debug, info, warn or error.",
     SetLogLevel},
    {"log-format", "", "DCGM_EXPORTER_LOG_FORMAT", FlagKind::kString, "text", "text or json.",
     SetLogForm},
    {"debug", "", "DCGM_EXPORTER_DEBUG", FlagKind::kBool, "false", "The same as --log-level=debug.",
     [](NodeCommand& command, std::string_view value) {
       if (BoolOf(value)) {
         command.log_level = LogLevel::kDebug;
       }
       return absl::OkStatus();
     }},
    {"enable-dcgm-log", "", "DCGM_EXPORTER_ENABLE_DCGM_LOG", FlagKind::kBool, "false",
     "Let an embedded engine log to standard output.", SetBool<&NodeCommand::dcgm_log>},
    {"dcgm-log-level", "", "DCGM_EXPORTER_DCGM_LOG_LEVEL", FlagKind::kString, "NONE",
     "Level of that log: NONE, FATAL, ERROR, WARN, INFO, DEBUG or VERB.", SetDcgmLogLevel},
    {"dump-enabled", "", "DCGM_EXPORTER_DUMP_ENABLED", FlagKind::kBool, "false",
     "Write each reading as JSON files, to trace where a number came from.",
     [](NodeCommand& command, std::string_view value) {
       command.exporter.dumps.enabled = BoolOf(value);
       return absl::OkStatus();
     }},
    {"dump-directory", "", "DCGM_EXPORTER_DUMP_DIRECTORY", FlagKind::kString,
     "/tmp/dcgm-exporter-debug", "Directory of the dumps; created if missing.",
     [](NodeCommand& command, std::string_view value) {
       command.exporter.dumps.directory = std::string(value);
       return absl::OkStatus();
     }},
    {"dump-retention", "", "DCGM_EXPORTER_DUMP_RETENTION", FlagKind::kInt, "24",
     "Hours after which dumps, and no other files, are removed; 0: only when there are 10000 of "
     "them.",
     [](NodeCommand& command, std::string_view value) {
       command.exporter.dumps.retention =
           std::chrono::hours(std::clamp<int64_t>(IntOf(value), 0, kLongestRetentionHours));
       return absl::OkStatus();
     }},
    {"dump-compression", "", "DCGM_EXPORTER_DUMP_COMPRESSION", FlagKind::kBool, "true",
     "Compress them with gzip.",
     [](NodeCommand& command, std::string_view value) {
       command.exporter.dumps.compression = BoolOf(value);
       return absl::OkStatus();
     }},
};

constexpr Flag kProgram[] = {
    {"validate", "", "", FlagKind::kBool, "",
     "Check flags and files, print what would be served and its series and bytes by GPU and "
     "family, and "
     "exit: 0 if all is valid, otherwise 2.",
     [](NodeCommand& command, std::string_view value) {
       return SetAction(command, value, NodeCommand::Action::kValidate);
     }},
    {"help", "h", "", FlagKind::kOptional, "",
     "Print the flags that most people use; with =GROUP those of a group, with =all all of them.",
     [](NodeCommand& command, std::string_view value) {
       // dcgm-exporter's form is a boolean.
       const std::optional<bool> wanted = ParseGoBool(value);
       command.action = wanted.value_or(true) ? NodeCommand::Action::kShowHelp : command.action;
       command.help_topic = wanted ? "" : std::string(value);
       return absl::OkStatus();
     }},
    {"version", "v", "", FlagKind::kBool, "", "Print the version.",
     [](NodeCommand& command, std::string_view value) {
       return SetAction(command, value, NodeCommand::Action::kShowVersion);
     }},
};

constexpr FlagGroup kGroups[] = {
    {"page", "Page", "how often devices are read, views and labels of a page", kPage},
    {"fields", "Fields", "which DCGM fields are served", kFields},
    {"devices", "Devices", "which GPUs, MIG instances, NVSwitches and CPUs have rows", kDevices},
    {"kubernetes", "Kubernetes", "pods, labels and claims on the rows of devices", kKubernetes},
    {"processes", "Processes and energy", "rows of processes, and their share of a GPU's energy",
     kProcesses},
    {"source", "Source", "DCGM or NVML, and where their libraries are", kSource},
    {"web", "Web", "address, TLS, passwords, and what clients may do", kWeb},
    {"compatibility", "Compatibility", "flags of the replaced programs without an effect here",
     kCompatibility},
    {"logs", "Logs", "log lines, and dumps of what was read", kLogs},
    {"program", "Program", "check the configuration, print help or the version", kProgram},
};

// Returns the flags of all groups.
std::vector<Flag> Joined() {
  std::vector<Flag> all;
  for (const FlagGroup& group : kGroups) {
    all.insert(all.end(), group.flags.begin(), group.flags.end());
  }
  return all;
}

}  // namespace

std::span<const FlagGroup> FlagGroups() { return kGroups; }

std::span<const Flag> FlagTable() {
  static const std::vector<Flag> all = Joined();
  return all;
}

}  // namespace podgpu
