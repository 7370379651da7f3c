#include "cli/cluster_flags.h"

#include "absl/strings/str_format.h"

#include "base/go_values.h"
#include "base/text.h"
#include "base/version.h"

namespace podgpu {
namespace {

using std::chrono::milliseconds;

constexpr std::string_view kClusterHint = "See podgpu cluster --help";
constexpr milliseconds kShortestInterval{1'000};
constexpr milliseconds kLongestInterval{3'600'000};
constexpr milliseconds kShortestDeadline{100};
constexpr int64_t kMostAtOnce = 4'096;

// The parser validates the value before it calls `apply`, so the fallbacks are never used.
milliseconds DurationInMs(std::string_view value) {
  return std::chrono::duration_cast<milliseconds>(
      ParseGoDuration(value).value_or(std::chrono::nanoseconds(0)));
}

Status SetNodes(ClusterCommand& command, std::string_view value) {
  PODGPU_ASSIGN_OR_RETURN(command.cluster.nodes, ParseNodesOption(value));
  command.has_nodes = true;
  return absl::OkStatus();
}

Status SetNodeInterval(ClusterCommand& command, std::string_view value) {
  const milliseconds interval = DurationInMs(value);
  if (interval < kShortestInterval || interval > kLongestInterval) {
    return absl::InvalidArgumentError("must be from 1s to 1h");
  }
  command.cluster.poller.pace.interval = interval;
  return absl::OkStatus();
}

Status SetNodeTimeout(ClusterCommand& command, std::string_view value) {
  const milliseconds deadline = DurationInMs(value);
  if (deadline < kShortestDeadline || deadline > kLongestInterval) {
    return absl::InvalidArgumentError("must be from 100ms to 1h");
  }
  command.cluster.poller.client.deadline = deadline;
  return absl::OkStatus();
}

Status SetNodesAtOnce(ClusterCommand& command, std::string_view value) {
  const int64_t count = ParseGoInt(value).value_or(0);
  if (count < 1 || count > kMostAtOnce) {
    return absl::InvalidArgumentError(absl::StrFormat("must be from 1 to %d", kMostAtOnce));
  }
  command.cluster.poller.pace.at_once = static_cast<size_t>(count);
  return absl::OkStatus();
}

Status SetWithdrawAfter(ClusterCommand& command, std::string_view value) {
  const milliseconds limit = DurationInMs(value);
  if (limit < kShortestInterval) {
    return absl::InvalidArgumentError("must be 1s or more");
  }
  command.cluster.withdraw_after = limit;
  return absl::OkStatus();
}

Status SetPrometheus(ClusterCommand& command, std::string_view value) {
  PODGPU_ASSIGN_OR_RETURN(command.cluster.prometheus.url, ParsePrometheusUrl(value));
  return absl::OkStatus();
}

using ClusterFlag = FlagOf<ClusterCommand>;

constexpr ClusterFlag kClusterFlags[] = {
    {"nodes", "", "PODGPU_NODES", FlagKind::kString, "",
     "The nodes: file:PATH (one HOST, HOST:PORT or [IPV6]:PORT per line, default port 9400, # "
     "begins a comment; read again every 10 s), dns:NAME:PORT (every address of the name, such as "
     "a headless Service), endpoints:NAMESPACE/SERVICE (the ready endpoints of a Service, from the "
     "API server) or pods:NAMESPACE/SELECTOR (pods by their labels). The last two need a Role "
     "(list and watch of endpointslices or of pods there), use the port named metrics, or the "
     "one that :PORT behind them names, and know each node's name. Required.",
     SetNodes},
    {"service-account-dir", "", "PODGPU_SERVICE_ACCOUNT_DIR", FlagKind::kString,
     "/var/run/secrets/kubernetes.io/serviceaccount",
     "Folder with token and ca.crt for the API server, if it is not the one that Kubernetes "
     "mounts.",
     [](ClusterCommand& command, std::string_view value) {
       command.service_account = std::string(value);
       return absl::OkStatus();
     }},
    {"address", "a", "PODGPU_CLUSTER_LISTEN", FlagKind::kString, ":9401",
     "Address to listen on: host:port, :port, [v6]:port, or unix:/path.",
     [](ClusterCommand& command, std::string_view value) {
       command.cluster.http.address = std::string(value);
       return absl::OkStatus();
     }},
    {"web-config-file", "", "PODGPU_CLUSTER_WEB_CONFIG_FILE", FlagKind::kString, "",
     "TLS, passwords, headers and a rate limit for HTTP clients, as on nodes.",
     [](ClusterCommand& command, std::string_view value) {
       command.cluster.http.web_config_file = std::string(value);
       return absl::OkStatus();
     }},
    {"node-web-config", "", "PODGPU_NODE_WEB_CONFIG", FlagKind::kString, "",
     "How to connect to nodes that require TLS or a password: a YAML file with tls_config, "
     "authorization or basic_auth, as in Prometheus. Read again every 10 s, with the files that it "
     "names.",
     [](ClusterCommand& command, std::string_view value) {
       command.cluster.poller.node_web_config = std::string(value);
       return absl::OkStatus();
     }},
    {"node-interval", "", "PODGPU_NODE_INTERVAL", FlagKind::kDuration, "15s",
     "How often each node is queried. A node that fails is queried less often, down to once a "
     "minute.",
     SetNodeInterval},
    {"node-timeout", "", "PODGPU_NODE_TIMEOUT", FlagKind::kDuration, "5s",
     "How long a node may take, from connecting to the last byte.", SetNodeTimeout},
    {"nodes-at-once", "", "PODGPU_NODES_AT_ONCE", FlagKind::kInt, "256",
     "How many nodes are queried at the same time.", SetNodesAtOnce},
    {"node-withdraw-after", "", "PODGPU_NODE_WITHDRAW_AFTER", FlagKind::kDuration, "",
     "How long the last answer of a node counts while it does not answer; default four intervals, "
     "at least a minute.",
     SetWithdrawAfter},
    {"pod-map-deprecated", "", "PODGPU_POD_MAP_DEPRECATED", FlagKind::kBool, "false",
     "Show the map also in its deprecated form, a family POD_GPU_MAP_INFO_n for each line.",
     [](ClusterCommand& command, std::string_view value) {
       command.cluster.deprecated_map = ParseGoBool(value).value_or(false);
       return absl::OkStatus();
     }},
    {"in-use", "", "PODGPU_IN_USE", FlagKind::kString, "value",
     "When a device counts as in use for podgpu_in_use_ratio and podgpu_workload_in_use_ratio: "
     "value (its averaged measure is not zero), pod (a pod holds it) or process (a process runs on "
     "it; needs nodes with --process-metrics=on). avg_GPU_utilization always uses value.",
     [](ClusterCommand& command, std::string_view value) {
       PODGPU_ASSIGN_OR_RETURN(command.cluster.in_use, ParseInUseMeaning(value));
       return absl::OkStatus();
     }},
    {"in-use-listen", "", "PODGPU_IN_USE_LISTEN", FlagKind::kString, "",
     "Also serve avg_GPU_utilization and its related families alone, under every path of this "
     "address, such as :8000. Off without the flag.",
     [](ClusterCommand& command, std::string_view value) {
       command.cluster.in_use_address = std::string(value);
       return absl::OkStatus();
     }},
    {"in-use-prometheus", "", "PODGPU_IN_USE_PROMETHEUS", FlagKind::kString, "",
     "Read utilization from the Prometheus, Thanos or Mimir at this URL, such as "
     "http://prometheus.monitoring:9090, which has the families of dcgm-exporter, and not from the "
     "nodes; queried each --node-interval, within --node-timeout. --nodes is not needed then.",
     SetPrometheus},
    {"in-use-matchers", "", "PODGPU_IN_USE_MATCHERS", FlagKind::kString, "",
     "Label matchers of PromQL for these queries, such as cluster=\"west\",job=\"gpu\".",
     [](ClusterCommand& command, std::string_view value) {
       command.cluster.prometheus.matchers = std::string(value);
       return absl::OkStatus();
     }},
    {"in-use-tenant", "", "PODGPU_IN_USE_TENANT", FlagKind::kString, "",
     "The tenant of these queries: the header X-Scope-OrgID of Mimir.",
     [](ClusterCommand& command, std::string_view value) {
       command.cluster.prometheus.tenant = std::string(value);
       return absl::OkStatus();
     }},
    {"in-use-web-config", "", "PODGPU_IN_USE_WEB_CONFIG", FlagKind::kString, "",
     "How to connect to it if it requires TLS or a password: a file as for --node-web-config.",
     [](ClusterCommand& command, std::string_view value) {
       command.cluster.prometheus.web_config = std::string(value);
       return absl::OkStatus();
     }},
    {"log-format", "", "PODGPU_LOG_FORMAT", FlagKind::kString, "text", "text or json.",
     [](ClusterCommand& command, std::string_view value) {
       return ReadLogForm(value, command.log_form);
     }},
    {"log-level", "", "PODGPU_LOG_LEVEL", FlagKind::kString, "info", "debug, info, warn or error.",
     [](ClusterCommand& command, std::string_view value) {
       return ReadLogLevel(value, command.log_level);
     }},
    {"help", "h", "", FlagKind::kBool, "false", "Print this text.",
     [](ClusterCommand& command, std::string_view value) {
       command.wants_help = ParseGoBool(value).value_or(false);
       return absl::OkStatus();
     }},
};

}  // namespace

StatusOr<ClusterCommand> ParseClusterFlags(std::span<const std::string> arguments,
                                           const Environment& environment) {
  ClusterCommand command;
  command.cluster.http.address = ":9401";
  PODGPU_ASSIGN_OR_RETURN(
      const std::vector<std::string> rest,
      ReadFlags(BindFlags(ClusterFlagTable(), command), arguments, environment, kClusterHint));
  if (command.wants_help || (!rest.empty() && rest.front() == "help")) {
    command.wants_help = true;
    return command;
  }
  if (!rest.empty()) {
    return absl::InvalidArgumentError(
        absl::StrFormat("argument %s is not an argument of podgpu cluster. %s",
                        Quoted(rest.front()), kClusterHint));
  }
  if (command.cluster.prometheus.url && command.cluster.in_use == InUseMeaning::kProcess) {
    return absl::InvalidArgumentError(
        absl::StrFormat("--in-use=process works only with --nodes: remove --in-use-prometheus, or "
                        "use --in-use=pod. %s",
                        kClusterHint));
  }
  if (!command.has_nodes && command.cluster.prometheus.url) {
    command.cluster.nodes.kind = NodesOption::Kind::kNone;
  } else if (!command.has_nodes) {
    return absl::InvalidArgumentError(
        absl::StrFormat("--nodes is missing: give file:PATH, dns:NAME:PORT, "
                        "endpoints:NAMESPACE/SERVICE or pods:NAMESPACE/SELECTOR. %s",
                        kClusterHint));
  }
  if (NodesOption& nodes = command.cluster.nodes; nodes.kind == NodesOption::Kind::kApi) {
    StatusOr<ApiServerOptions> server = FindClusterServer(environment);
    if (!server.ok()) {
      return absl::InvalidArgumentError(absl::StrFormat(
          "--nodes: %s. Write file:PATH or dns:NAME:PORT instead, or run it in a pod",
          server.status().message()));
    }
    TakeCredentials(command.service_account, *server);
    nodes.api.server = *std::move(server);
  }
  return command;
}

std::span<const FlagOf<ClusterCommand>> ClusterFlagTable() { return kClusterFlags; }

std::string ClusterHelpText() {
  return absl::StrFormat(
      "podgpu %s: the map of GPUs and their pods in the whole cluster\n\nUsage: podgpu cluster "
      "--nodes=... [flags]\n\nFlags (one dash or two; --name=value or --name value):\n%s\nExit "
      "codes: 0 after a signal, 2 for usage and configuration errors (including a port in use), 1 "
      "for any other fatal error.\n",
      kVersion, FlagHelp(FlagTexts(ClusterFlagTable())));
}

}  // namespace podgpu
