// The command line: one table of flags, and a parser for the grammar that dcgm-exporter's users
// know.
//
// One or two dashes for any name, --name=value or --name value, booleans in Go's forms, lists that
// append and split on commas, and the first positional argument ends the flags.  Every flag may
// come from an environment variable; the command line wins.  What cannot be understood is refused
// with one line that names it and what helps.  The table also makes --help and docs/flags.md.  Pure
// functions: the environment is handed in; main.cc calls them once.
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
#include "cli/flag_reader.h"
#include "exporter/counters_source.h"
#include "exporter/exporter.h"
#include "fields/metric_patterns.h"
#include "kube/pod_resources.h"
#include "source/open_source.h"

namespace podgpu {

// What the command line asks for.
struct NodeCommand {
  enum class Action { kRun, kShowHelp, kShowVersion, kValidate };
  Action action = Action::kRun;
  std::vector<std::string> ignored_arguments;  // Positional ones; dcgm-exporter ignores them too.

  CountersSourceOptions counters;  // Path empty: the default one if there is a file, else built in.
  std::vector<std::string> idle_flags;  // Accepted, and without effect: a line each, why.
  bool dcgm_log = false;                // Of an embedded engine, on standard output.
  std::string dcgm_log_level = "NONE";
  MetricPatterns patterns;
  bool no_hostname = false;
  bool systemd_socket = false;
  std::optional<std::string> query_host;  // Of gpu-manager's listener, where one is asked for.
  std::optional<uint16_t> query_port;
  std::vector<std::string> label_patterns;  // Of the pod labels that are wanted.
  std::string service_account;           // Folder of token and certificate; empty: the usual one.
  bool kubelet_pods_unverified = false;  // Any certificate will do there.
  std::string sysfs_root = "/sys";
  LogLevel log_level = LogLevel::kInfo;
  LogForm log_form = LogForm::kText;

  ExporterOptions exporter;
  SourceOptions source;
  KubeletClientOptions kubelet;
};

// Under which name the program was called, which decides on defaults.
enum class CalledAs : uint8_t {
  kPodgpu,
  kDcgmExporter,           // No sub-commands.
  kMyGpuExporter,          // The same; processes and Kubernetes are on.
  kPodGpuMetricsExporter,  // The same; a reading a second, its page's fields from the start on,
                           // Kubernetes is on, and flags of its logging library are ignored.
};
// By the last segment of `program`, argv[0].
CalledAs CalledBy(std::string_view program);

// Reads `arguments` (without the program's name) and the environment.  kInvalidArgument with the
// complete line to print; the exit code for that is 2.
StatusOr<NodeCommand> ParseFlags(std::span<const std::string> arguments,
                                 const Environment& environment,
                                 CalledAs called_as = CalledAs::kPodgpu);

// What was given on the command line and does nothing, one line each with the remedy.
std::vector<std::string> FlagWarnings(const NodeCommand& command);

// The value of the hostname label: NODE_NAME or the system's name on the node itself, the host part
// of a remote engine's address without Kubernetes; empty with --no-hostname.
std::string HostnameLabelValue(const NodeCommand& command, const Environment& environment,
                               std::string_view system_hostname);

// The pod that this program runs in: POD_NAME and POD_NAMESPACE, else what Kubernetes puts into
// each pod, its name as the system's and `namespace` beside the token.  No name outside of a pod.
OwnPod FindOwnPod(const NodeCommand& command, const Environment& environment,
                  std::string_view system_hostname, const Files& files);

// The text of --help.
std::string HelpText();

// docs/flags.md.
std::string FlagsDocument();

}  // namespace podgpu
