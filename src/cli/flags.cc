#include "cli/flags.h"

#include <algorithm>
#include <cctype>
#include <utility>

#include "absl/strings/str_format.h"

#include "attribution/ignored_pods.h"
#include "attribution/pod_labels.h"
#include "base/go_values.h"
#include "base/text.h"
#include "cli/flag_reader.h"
#include "cli/flag_table.h"
#include "http/listen.h"
#include "source/dcgm/connection.h"

namespace podgpu {
namespace {

constexpr std::string_view kServiceAccount = "/var/run/secrets/kubernetes.io/serviceaccount";

constexpr std::string_view kHint = "See podgpu --help";

void TakeCredentialsIfFound(const std::string& folder, StatusOr<ApiServerOptions>& server) {
  if (server.ok()) {
    TakeCredentials(folder, *server);
  }
}

// Warnings about --kubelet-pods-url and --kubelet-pods-insecure-skip-tls-verify.
void AddKubeletPodsWarnings(const NodeCommand& command, std::vector<std::string>& warnings) {
  const ExporterOptions& exporter = command.exporter;
  const bool wants_pods = exporter.vcuda.enabled || exporter.processes.enabled ||
                          exporter.pod_labels || exporter.view.pod_uid;
  if (exporter.kubelet_pods && !(wants_pods && (exporter.kubernetes || exporter.vcuda.enabled))) {
    warnings.emplace_back(
        "--kubelet-pods-url has no effect without --kubernetes (-k) and one of "
        "--process-metrics=on, --kubernetes-enable-pod-uid and --kubernetes-enable-pod-labels");
  }
  if (exporter.kubelet_pods && command.kubelet_pods_unverified) {
    warnings.emplace_back(
        "--kubelet-pods-insecure-skip-tls-verify: any server that answers at --kubelet-pods-url "
        "gets the token of the service account. Let the cluster sign the certificates of its "
        "kubelets (serverTLSBootstrap)");
  }
  if (!exporter.kubelet_pods && command.kubelet_pods_unverified) {
    warnings.emplace_back(
        "--kubelet-pods-insecure-skip-tls-verify has no effect without --kubelet-pods-url");
  }
}

// --process-metrics adds the view process, and the view process switches processes on.
void ShowProcesses(ExporterOptions& options) {
  const bool on_page = std::ranges::count(options.views, View::kProcess) > 0;
  if (options.processes.enabled && !on_page) {
    options.views.push_back(View::kProcess);
    std::ranges::sort(options.views);
  }
  options.processes.enabled = options.processes.enabled || on_page;
}

// Returns whether one listener would occupy the address of the other.
bool AreOneAddress(const ListenAddress& a, const ListenAddress& b) {
  const auto is_everywhere = [](const ListenAddress& address) {
    return address.host.empty() || address.host == "0.0.0.0" || address.host == "::";
  };
  return a.path.empty() && b.path.empty() && a.port == b.port && a.port != 0 &&
         (a.host == b.host || is_everywhere(a) || is_everywhere(b));
}

// A flag of gpu-manager's listener switches its page on, and that page needs processes.
Status TakeQuery(NodeCommand& command) {
  constexpr uint16_t kUsualPort = 5678;
  ExporterOptions& options = command.exporter;
  if (command.query_host || command.query_port) {
    const ListenAddress query{.host = command.query_host.value_or("localhost"),
                              .port = command.query_port.value_or(kUsualPort),
                              .path = {}};
    const StatusOr<ListenAddress> main = ParseListenAddress(options.http.address);
    if (main.ok() && !command.systemd_socket && AreOneAddress(*main, query)) {
      return absl::InvalidArgumentError(absl::StrFormat(
          "--query-port: %s is already the port of --address (%s). Choose another port",
          ToString(query), options.http.address));
    }
    options.query_address = ToString(query);
    options.vcuda.enabled = true;
  }
  options.processes.enabled = options.processes.enabled || options.vcuda.enabled;
  return absl::OkStatus();
}

void TakeDefaultsOf(CalledAs called_as, ExporterOptions& options) {
  const bool is_my_gpu = called_as == CalledAs::kMyGpuExporter;
  const bool is_legacy = called_as == CalledAs::kPodGpuMetricsExporter;
  options.kubernetes = is_my_gpu || is_legacy;
  options.view.kubernetes = options.kubernetes;
  options.processes.enabled = is_my_gpu;
  options.legacy_from_start = is_legacy;
  if (is_legacy) {
    options.collect_interval = std::chrono::seconds(1);
  }
}

// Removes the flags of Go's glog, the only flags that pod-gpu-metrics-exporter has; its -v is a
// number, while podgpu's -v prints the version.
void RemoveLoggingFlags(std::vector<std::string>& arguments) {
  struct LoggingFlag {
    std::string_view name;
    bool takes_value;
  };
  constexpr LoggingFlag kLoggingFlags[] = {
      {"alsologtostderr", false}, {"log_backtrace_at", true}, {"log_dir", true},
      {"logtostderr", false},     {"stderrthreshold", true},  {"v", true},
      {"vmodule", true},
  };
  std::vector<std::string> rest;
  for (size_t i = 0; i < arguments.size(); ++i) {
    std::string_view name = arguments[i];
    name.remove_prefix(std::min(name.find_first_not_of('-'), name.size()));
    const size_t equals = name.find('=');
    const auto* const known =
        std::ranges::find(kLoggingFlags, name.substr(0, equals), &LoggingFlag::name);
    if (!arguments[i].starts_with('-') || known == std::end(kLoggingFlags)) {
      rest.push_back(arguments[i]);
    } else if (known->takes_value && equals == std::string_view::npos) {
      ++i;
    }
  }
  arguments = std::move(rest);
}

// Every client that reaches the port may change state, unless a password or a certificate is
// required. A socket in the file system is protected by its permissions.
void AddControlWarning(const NodeCommand& command, std::vector<std::string>& warnings) {
  const HttpServerOptions& http = command.exporter.http;
  if (command.exporter.enable_control && http.web_config_file.empty() && !command.systemd_socket &&
      !http.address.starts_with("unix:")) {
    warnings.emplace_back(
        "--web-enable-control without --web-config-file: every client that reaches the port may "
        "release the devices and pause profiling. Ask for a password or a client certificate "
        "there, or listen on a unix socket");
  }
}

// The patterns are compiled even while no labels are shown, to report a mistake at once.
Status TakeLabelPatterns(NodeCommand& command) {
  StatusOr<std::shared_ptr<const LabelAllowlist>> allowlist =
      LabelAllowlist::Compile(command.label_patterns);
  if (!allowlist.ok()) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "--kubernetes-pod-label-allowlist-regex: %s. Correct it (a comma begins the next "
        "pattern), or remove the flag to show all labels",
        allowlist.status().message()));
  }
  if (command.exporter.pod_labels) {
    command.exporter.join.pod_labels = *std::move(allowlist);
  }
  return absl::OkStatus();
}

Status TakeIgnoredPods(NodeCommand& command) {
  if (command.ignored_pod_patterns.empty()) {
    return absl::OkStatus();
  }
  StatusOr<std::shared_ptr<const PodPatterns>> named =
      PodPatterns::Compile(command.ignored_pod_patterns);
  if (!named.ok()) {
    return absl::InvalidArgumentError(
        absl::StrFormat("--ignore-pods: %s. Correct it (a comma begins the next pattern)",
                        named.status().message()));
  }
  command.exporter.join.ignored.named = *std::move(named);
  return absl::OkStatus();
}

// Kubernetes gives each pod variables about the Services of its namespace, such as
// DCGM_EXPORTER_PORT_9400_TCP_ADDR about dcgm-exporter.
bool IsOfAService(std::string_view name) {
  constexpr std::string_view kPort = "_PORT_";
  const size_t port = name.find(kPort);
  const bool has_number = port != std::string_view::npos && port + kPort.size() < name.size() &&
                          std::isdigit(static_cast<unsigned char>(name[port + kPort.size()])) != 0;
  return has_number || name.ends_with("_PORT") || name.ends_with("_SERVICE_HOST") ||
         name.find("_SERVICE_PORT") != std::string_view::npos;
}

void AddVirtualGpuWarnings(const ExporterOptions& options, std::vector<std::string>& warnings) {
  if (!options.view.virtual_gpus) {
    return;
  }
  if (!options.kubernetes) {
    warnings.emplace_back("--kubernetes-virtual-gpus has no effect without --kubernetes (-k)");
    return;
  }
  if (!options.processes.enabled) {
    warnings.emplace_back(
        "--kubernetes-virtual-gpus: the usage of each pod on a shared GPU is known only with "
        "--process-metrics=on; without it DCGM_FI_DEV_GPU_UTIL and DCGM_FI_DEV_FB_USED have the "
        "row of the device and none per pod");
  }
  if (options.pod_labels) {
    warnings.emplace_back("labels of pods are not shown with --kubernetes-virtual-gpus");
  }
  if (options.join.claims) {
    warnings.emplace_back(
        "claims (--kubernetes-enable-dra) are not on DCGM rows with --kubernetes-virtual-gpus");
  }
}

// In Kubernetes the kubelet knows better.
Status TakeContainerSocket(NodeCommand& command) {
  if (!command.container_labels || command.exporter.kubernetes) {
    return absl::OkStatus();
  }
  if (command.container_socket.empty()) {
    return absl::InvalidArgumentError(
        "--container-labels requires --container-runtime-socket (or "
        "DCGM_CONTAINER_RUNTIME_SOCKET), for example /var/run/docker.sock. Add it or remove "
        "--container-labels");
  }
  command.exporter.container_socket = command.container_socket;
  return absl::OkStatus();
}

void AddContainerWarnings(const NodeCommand& command, std::vector<std::string>& warnings) {
  if (!command.container_labels) {
    if (!command.container_socket.empty()) {
      warnings.emplace_back("--container-runtime-socket has no effect without --container-labels");
    }
  } else if (command.exporter.kubernetes) {
    warnings.emplace_back(
        "--container-labels has no effect with --kubernetes (-k): the kubelet names the "
        "containers");
  } else if (!command.source.rows_are_of_this_node) {
    warnings.emplace_back(
        "--container-labels gives the rows of the engine that --remote-hostengine-info names the "
        "containers of this machine: right only if the engine runs here too, as in a container");
  }
}

// A flag of its own wins over what the version of dcgm-exporter says.
void TakeVersion(NodeCommand& command) {
  ViewOptions& view = command.exporter.view;
  view.hostname_label = command.hostname_label.value_or(std::string(view.version->hostname_label));
  command.counters.release = view.version->lists;
  command.patterns.release = view.version->lists;
  // Who asks for both names wants those of 4.9 with their meaning there.
  command.source.util_ratio_is_percent_of_4_6 =
      view.version->util_ratio_is_percent_of_4_6 && !command.patterns.both_names;
}

}  // namespace

CalledAs CalledBy(std::string_view program) {
  constexpr std::pair<std::string_view, CalledAs> kNames[] = {
      {"dcgm-exporter", CalledAs::kDcgmExporter},
      {"my-gpu-exporter", CalledAs::kMyGpuExporter},
      {"pod-gpu-metrics-exporter", CalledAs::kPodGpuMetricsExporter},
  };
  const std::string_view name = program.substr(program.rfind('/') + 1);
  const auto* const known =
      std::ranges::find(kNames, name, &std::pair<std::string_view, CalledAs>::first);
  return known == std::end(kNames) ? CalledAs::kPodgpu : known->second;
}

StatusOr<NodeCommand> ParseFlags(std::span<const std::string> arguments,
                                 const Environment& environment, CalledAs called_as) {
  NodeCommand command;
  TakeDefaultsOf(called_as, command.exporter);
  std::vector<std::string> ours(arguments.begin(), arguments.end());
  if (called_as == CalledAs::kPodGpuMetricsExporter) {
    RemoveLoggingFlags(ours);
  }
  PODGPU_ASSIGN_OR_RETURN(command.ignored_arguments,
                          ReadFlags(BindFlags(FlagTable(), command), ours, environment, kHint));
  const std::vector<std::string>& rest = command.ignored_arguments;
  if (!rest.empty() && (rest.front() == "help" || rest.front() == "h")) {
    command.action = NodeCommand::Action::kShowHelp;
    command.help_topic = rest.size() > 1 ? rest[1] : "";
    command.help_metric = rest.size() > 2 ? rest[2] : "";
  }
  PODGPU_RETURN_IF_ERROR(CompleteFlags(command, environment));
  return command;
}

Status CompleteFlags(NodeCommand& command, const Environment& environment) {
  PODGPU_RETURN_IF_ERROR(TakeLabelPatterns(command));
  PODGPU_RETURN_IF_ERROR(TakeIgnoredPods(command));
  ShowProcesses(command.exporter);
  TakeVersion(command);
  command.source.rows_are_of_this_node =
      command.exporter.kubernetes || OtherHostOf(command.source.address).empty();
  PODGPU_RETURN_IF_ERROR(TakeQuery(command));
  PODGPU_RETURN_IF_ERROR(TakeContainerSocket(command));
  command.exporter.api_server = FindApiServer(environment);
  command.counters.server = FindClusterServer(environment);
  TakeCredentialsIfFound(command.service_account, command.exporter.api_server);
  TakeCredentialsIfFound(command.service_account, command.counters.server);
  if (std::optional<KubeletPodsOptions>& pods = command.exporter.kubelet_pods) {
    TakeCredentials(command.service_account, pods->server);
    pods->server.verifies = !command.kubelet_pods_unverified;
  }
  return absl::OkStatus();
}

std::vector<std::string> FlagWarnings(const NodeCommand& command) {
  std::vector<std::string> warnings = command.idle_flags;
  const std::vector<std::string>& ignored = command.ignored_arguments;
  if (!ignored.empty()) {
    warnings.push_back(absl::StrFormat(
        "argument %s ends the flags; it is ignored%s. Flags must begin with a dash; correct it or "
        "remove it",
        Quoted(ignored.front()),
        ignored.size() == 1 ? "" : absl::StrFormat(", with the %d behind it", ignored.size() - 1)));
  }
  if (!command.exporter.kubernetes &&
      (command.exporter.pod_labels || command.exporter.view.pod_uid)) {
    warnings.emplace_back("labels and uids of pods have no effect without --kubernetes (-k)");
  }
  if (command.exporter.join.claims && !command.exporter.kubernetes) {
    warnings.emplace_back("--kubernetes-enable-dra has no effect without --kubernetes (-k)");
  }
  if (command.source.enable_accounting && !command.exporter.processes.enabled) {
    warnings.emplace_back("--enable-accounting has no effect without --process-metrics=on");
  }
  AddKubeletPodsWarnings(command, warnings);
  AddContainerWarnings(command, warnings);
  AddControlWarning(command, warnings);
  AddVirtualGpuWarnings(command.exporter, warnings);
  return warnings;
}

std::vector<std::string> UnknownVariables(std::span<const std::string> names) {
  constexpr std::string_view kPrefix = "DCGM_EXPORTER_";
  std::vector<std::string_view> known;
  for (const Flag& flag : FlagTable()) {
    known.push_back(flag.variable);
  }
  std::vector<std::string> lines;
  for (const std::string& name : names) {
    if (!name.starts_with(kPrefix) || IsOfAService(name) ||
        std::ranges::find(known, name) != known.end()) {
      continue;
    }
    const std::optional<std::string_view> nearest = Nearest(name, known);
    lines.push_back(absl::StrFormat(
        "the environment variable %s is unknown and has no effect%s. Correct it or remove it",
        Quoted(name), nearest ? absl::StrFormat("; nearest is %s", *nearest) : ""));
  }
  return lines;
}

std::string HostnameLabelValue(const NodeCommand& command, const Environment& environment,
                               std::string_view system_hostname) {
  if (command.no_hostname) {
    return {};
  }
  if (!command.source.rows_are_of_this_node) {
    return OtherHostOf(command.source.address);
  }
  const std::optional<std::string> node_name = environment("NODE_NAME");
  return node_name && !node_name->empty() ? *node_name : std::string(system_hostname);
}

OwnPod FindOwnPod(const NodeCommand& command, const Environment& environment,
                  std::string_view system_hostname, const Files& files) {
  OwnPod own{environment("POD_NAME").value_or(""), environment("POD_NAMESPACE").value_or("")};
  if (!environment("KUBERNETES_SERVICE_HOST")) {
    return own.name.empty() ? OwnPod() : own;
  }
  if (own.name.empty()) {
    own.name = system_hostname;
  }
  if (own.name_space.empty()) {
    const std::string folder =
        command.service_account.empty() ? std::string(kServiceAccount) : command.service_account;
    own.name_space = Trim(files.Read(folder + "/namespace").value_or(""));
  }
  return own;
}

}  // namespace podgpu
