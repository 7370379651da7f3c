#include "cli/cluster_flags.h"

#include "absl/strings/str_format.h"

#include "base/go_values.h"
#include "base/text.h"
#include "base/version.h"
#include "metrics_api/values/label_selector.h"

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
  command.cluster.tick.withdraw_after = limit;
  return absl::OkStatus();
}

Status SetPrometheus(ClusterCommand& command, std::string_view value) {
  PODGPU_ASSIGN_OR_RETURN(command.cluster.prometheus.url, ParsePrometheusUrl(value));
  return absl::OkStatus();
}

Status SetNodeUrl(ClusterCommand& command, std::string_view value) {
  PODGPU_ASSIGN_OR_RETURN(command.cluster.links.node_url, ParseNodeLink(value));
  return absl::OkStatus();
}

Status SetDashboardUrl(ClusterCommand& command, std::string_view value) {
  PODGPU_ASSIGN_OR_RETURN(command.cluster.links.dashboard_url, ParseDashboardLink(value));
  return absl::OkStatus();
}

Status SetMetricsWindow(ClusterCommand& command, std::string_view value) {
  constexpr milliseconds kShortestWindow{10'000};
  constexpr milliseconds kLongestWindow{600'000};
  const milliseconds window = DurationInMs(value);
  if (window < kShortestWindow || window > kLongestWindow || window.count() % kWindowStepMs != 0) {
    return absl::InvalidArgumentError("must be from 10s to 10m, in whole steps of 5s");
  }
  command.cluster.metrics_api.window.length = window;
  return absl::OkStatus();
}

Status SetMetricsService(ClusterCommand& command, std::string_view value) {
  PODGPU_ASSIGN_OR_RETURN(command.cluster.metrics_api.service, ParseMetricsService(value));
  return absl::OkStatus();
}

Status SetNodeLabelKeys(ClusterCommand& command, std::string_view value) {
  constexpr size_t kMostKeys = 16;
  std::vector<std::string>& keys = command.cluster.metrics_api.window.label_keys;
  keys.clear();
  for (const std::string_view key : Split(value, ',')) {
    const StatusOr<LabelSelector> selector = ParseLabelSelector(Trim(key));
    if (!selector.ok() || selector->requirements.size() != 1 ||
        selector->requirements.front().op != LabelRequirement::Operator::kExists) {
      return absl::InvalidArgumentError(absl::StrFormat(
          "%s is not the key of a label, such as topology.kubernetes.io/zone", Quoted(Trim(key))));
    }
    keys.push_back(selector->requirements.front().key);
  }
  return keys.size() <= kMostKeys
             ? absl::OkStatus()
             : absl::InvalidArgumentError(absl::StrFormat("at most %d keys", kMostKeys));
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
    {"node-url", "", "PODGPU_NODE_URL", FlagKind::kString, "",
     "Address of a node's page, as a browser reaches it, such as http://{node}:9400/; {node} "
     "stands for the name of the node. The fleet page links to it; without the flag it has no such "
     "link.",
     SetNodeUrl},
    {"dashboard-url", "", "PODGPU_DASHBOARD_URL", FlagKind::kString, "",
     "Likewise for a dashboard, such as "
     "https://grafana.example/d/gpu?var-node={node}&var-gpu={gpu}; "
     "{gpu} stands for the number of the GPU on its node, {uuid} for its UUID.",
     SetDashboardUrl},
    {"group-labels", "", "PODGPU_GROUP_LABELS", FlagKind::kString, "",
     "Labels of nodes that make groups on the fleet page, such as "
     "pool,topology.kubernetes.io/rack; "
     "read from the API server, which needs a ClusterRole: list and watch of nodes. Without the "
     "flag no labels are read.",
     [](ClusterCommand& command, std::string_view value) {
       PODGPU_ASSIGN_OR_RETURN(command.cluster.groups.keys, ParseGroupLabels(value));
       return absl::OkStatus();
     }},
    {"pod-map-deprecated", "", "PODGPU_POD_MAP_DEPRECATED", FlagKind::kBool, "false",
     "Show the map also in its deprecated form, a family POD_GPU_MAP_INFO_n for each line.",
     [](ClusterCommand& command, std::string_view value) {
       command.cluster.tick.deprecated_map = ParseGoBool(value).value_or(false);
       return absl::OkStatus();
     }},
    {"in-use", "", "PODGPU_IN_USE", FlagKind::kString, "value",
     "When a device counts as in use for podgpu_in_use_ratio and podgpu_workload_in_use_ratio: "
     "value (its averaged measure is not zero), pod (a pod holds it) or process (a process runs on "
     "it; needs nodes with --process-metrics=on). avg_GPU_utilization always uses value.",
     [](ClusterCommand& command, std::string_view value) {
       PODGPU_ASSIGN_OR_RETURN(command.cluster.tick.in_use, ParseInUseMeaning(value));
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
    {"metrics-api-listen", "", "PODGPU_METRICS_API_LISTEN", FlagKind::kString, "",
     "Also serve external.metrics.k8s.io and custom.metrics.k8s.io for autoscalers, over HTTPS, at "
     "this address, such as :9443. Off without the flag. Needs --nodes, a pod, and the rights in "
     "docs/metrics-api.md.",
     [](ClusterCommand& command, std::string_view value) {
       command.cluster.metrics_api.address = std::string(value);
       return absl::OkStatus();
     }},
    {"metrics-api-window", "", "PODGPU_METRICS_API_WINDOW", FlagKind::kDuration, "1m",
     "Rolling window of the values of that API, from 10s to 10m in whole steps of 5s; also the "
     "longest window of /api/v1/in-use.",
     SetMetricsWindow},
    {"metrics-api-service", "", "PODGPU_METRICS_API_SERVICE", FlagKind::kString, "",
     "NAME.NAMESPACE of the Service in front of that API: podgpu makes a certificate for it and "
     "writes the authority into the APIService objects that name this Service. Not needed with "
     "--metrics-api-cert-file.",
     SetMetricsService},
    {"metrics-api-cert-file", "", "PODGPU_METRICS_API_CERT_FILE", FlagKind::kString, "",
     "Certificate of that API in PEM, in place of a self-made one; read again when it changes.",
     [](ClusterCommand& command, std::string_view value) {
       command.cluster.metrics_api.certificate_file = std::string(value);
       return absl::OkStatus();
     }},
    {"metrics-api-key-file", "", "PODGPU_METRICS_API_KEY_FILE", FlagKind::kString, "",
     "The key of --metrics-api-cert-file.",
     [](ClusterCommand& command, std::string_view value) {
       command.cluster.metrics_api.key_file = std::string(value);
       return absl::OkStatus();
     }},
    {"metrics-api-node-labels", "", "PODGPU_METRICS_API_NODE_LABELS", FlagKind::kString, "",
     "Keys of node labels, separated by commas, that selectors of that API may use. Needs list and "
     "watch of nodes by a ClusterRole.",
     SetNodeLabelKeys},
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

// The API server and the credentials of the pod, for a flag that needs them.
StatusOr<ApiServerOptions> ApiServerFor(std::string_view flag, std::string_view remedy,
                                        const std::string& service_account,
                                        const Environment& environment) {
  StatusOr<ApiServerOptions> server = FindClusterServer(environment);
  if (!server.ok()) {
    return absl::InvalidArgumentError(
        absl::StrFormat("%s: %s. %s, or run it in a pod", flag, server.status().message(), remedy));
  }
  TakeCredentials(service_account, *server);
  return server;
}

Status CompleteMetricsApi(const Environment& environment, ClusterCommand& command) {
  MetricsApiOptions& api = command.cluster.metrics_api;
  if (api.address.empty()) {
    return absl::OkStatus();
  }
  if (command.cluster.nodes.kind == NodesOption::Kind::kNone) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "--metrics-api-listen works only with --nodes: add --nodes. %s", kClusterHint));
  }
  if (api.certificate_file.empty() != api.key_file.empty()) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "%s is missing: give certificate and key, or none of them. %s",
        api.key_file.empty() ? "--metrics-api-key-file" : "--metrics-api-cert-file", kClusterHint));
  }
  if (api.certificate_file.empty() && !api.service) {
    return absl::InvalidArgumentError(
        absl::StrFormat("--metrics-api-service is missing: give NAME.NAMESPACE of the Service, or "
                        "--metrics-api-cert-file and --metrics-api-key-file. %s",
                        kClusterHint));
  }
  PODGPU_ASSIGN_OR_RETURN(api.server, ApiServerFor("--metrics-api-listen", "Remove the flag",
                                                   command.service_account, environment));
  return absl::OkStatus();
}

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
  if (command.cluster.prometheus.url && command.cluster.tick.in_use == InUseMeaning::kProcess) {
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
    PODGPU_ASSIGN_OR_RETURN(nodes.api.server,
                            ApiServerFor("--nodes", "Write file:PATH or dns:NAME:PORT instead",
                                         command.service_account, environment));
  }
  if (GroupLabelsOption& groups = command.cluster.groups; !groups.keys.empty()) {
    PODGPU_ASSIGN_OR_RETURN(groups.server, ApiServerFor("--group-labels", "Remove it",
                                                        command.service_account, environment));
  }
  PODGPU_RETURN_IF_ERROR(CompleteMetricsApi(environment, command));
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
