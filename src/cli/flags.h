// The command line of the node: one flag table, and a parser with dcgm-exporter's grammar.
//
// One or two dashes for any name, --name=value or --name value, booleans in Go's forms, lists that
// append and split on commas; the first positional argument ends the flags. Every flag can also be
// set by an environment variable; the command line wins. An invalid setting is refused with one
// line that names it and a remedy. The table also makes --help and docs/flags.md (help.h). Pure
// functions: the caller passes the environment; main.cc calls them once.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/files.h"
#include "base/log.h"
#include "base/status.h"
#include "cli/config_file.h"
#include "cli/flag_reader.h"
#include "exporter/counters_source.h"
#include "exporter/exporter.h"
#include "fields/metric_patterns.h"
#include "kube/pod_resources.h"
#include "source/open_source.h"

namespace podgpu {

// The parsed command line.
struct NodeCommand {
  enum class Action { kRun, kShowHelp, kShowVersion, kValidate };
  Action action = Action::kRun;
  std::string help_topic;   // Of kShowHelp: a group of flags, "all" or "metrics"; see help.h.
  std::string help_metric;  // With the topic "metrics"; see metric_help.h.
  std::vector<std::string>
      ignored_arguments;  // Positional arguments; dcgm-exporter ignores them too.

  CountersSourceOptions counters;    // Empty path: the default file, else the built-in set.
  bool names_no_config_map = false;  // --configmap-data=none: not the list of the configuration.
  std::string config_file;           // dcgm-exporter's YAML configuration; empty: none.
  ConfigFile config;                 // Its content, once config_flags.h has read it.
  // One line per accepted flag or variable without effect, with the reason.
  std::vector<std::string> idle_flags;
  bool dcgm_log = false;  // Log of an embedded engine, on standard output.
  std::string dcgm_log_level = "NONE";
  MetricPatterns patterns;
  std::optional<std::string> hostname_label;  // Nothing: that of the version of dcgm-exporter.
  bool no_hostname = false;
  bool systemd_socket = false;
  std::optional<std::string> query_host;  // Host of gpu-manager's listener, if requested.
  std::optional<uint16_t> query_port;
  bool container_labels = false;
  std::string container_socket;             // Of the container runtime; empty: none.
  std::vector<std::string> label_patterns;  // Patterns of the pod labels to show.
  std::vector<std::string> ignored_pod_patterns;
  std::string service_account;  // Folder of token and certificate; empty: the default folder.
  bool kubelet_pods_unverified = false;  // Accept any certificate of the kubelet.
  std::string sysfs_root = "/sys";
  LogLevel log_level = LogLevel::kInfo;
  LogForm log_form = LogForm::kText;

  ExporterOptions exporter;
  SourceOptions source;
  KubeletClientOptions kubelet;
};

// The name under which the program was called; it selects defaults.
enum class CalledAs : uint8_t {
  kPodgpu,
  kDcgmExporter,           // No subcommands.
  kMyGpuExporter,          // No subcommands; processes and Kubernetes are on.
  kPodGpuMetricsExporter,  // No subcommands; one reading a second, the legacy page from the start,
                           // Kubernetes is on, and flags of glog are ignored.
};
// Returns the name by the last segment of `program`, argv[0].
CalledAs CalledBy(std::string_view program);

// Reads `arguments` (without the program's name) and the environment. On failure kInvalidArgument
// with the complete line to print; the exit code is then 2.
StatusOr<NodeCommand> ParseFlags(std::span<const std::string> arguments,
                                 const Environment& environment,
                                 CalledAs called_as = CalledAs::kPodgpu);

// Completes `command` after its flags were read: settings that follow from others, and the
// addresses and credentials of the cluster.  ParseFlags calls it; commands with further flags do
// too.
Status CompleteFlags(NodeCommand& command, const Environment& environment);

// Returns one line with a remedy per setting on the command line that has no effect.
std::vector<std::string> FlagWarnings(const NodeCommand& command);

// Returns one line for each of `names`, environment variables, that begins with DCGM_EXPORTER_ and
// belongs to no flag, so that it has no effect.  Variables that Kubernetes makes from the Service
// dcgm-exporter are no settings.
std::vector<std::string> UnknownVariables(std::span<const std::string> names);

// Returns the value of the hostname label: NODE_NAME or the system's name on the node itself; the
// host part of the address of another machine's engine without Kubernetes; empty with
// --no-hostname.
std::string HostnameLabelValue(const NodeCommand& command, const Environment& environment,
                               std::string_view system_hostname);

// Returns the pod of this program: POD_NAME and POD_NAMESPACE, otherwise the data that Kubernetes
// puts into each pod: its name as the host name, and the file `namespace` next to the token. The
// name is empty outside a pod, where neither POD_NAME nor Kubernetes' own variables are set.
OwnPod FindOwnPod(const NodeCommand& command, const Environment& environment,
                  std::string_view system_hostname, const Files& files);

}  // namespace podgpu
