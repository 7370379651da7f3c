#include "cli/cluster_flags.h"

#include <map>

#include <gtest/gtest.h>

namespace podgpu {
namespace {

StatusOr<ClusterCommand> ParseCluster(const std::vector<std::string>& arguments,
                                      const std::map<std::string, std::string>& variables = {}) {
  return ParseClusterFlags(arguments, [&](const std::string& name) {
    const auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional<std::string>(found->second);
  });
}

TEST(ClusterFlags, FillTheOptions) {
  const auto command = ParseCluster(
      {"--nodes=dns:gpu.svc:80", "-a", ":1", "-node-interval=30s", "--node-timeout", "2s",
       "--nodes-at-once=7", "--node-withdraw-after=2m", "--pod-map-deprecated",
       "--web-config-file=w", "--log-level=debug", "--in-use=pod", "--in-use-listen=:8000",
       "--node-url=http://{node}:9400/", "--dashboard-url=https://grafana/d/gpu?var-node={node}"});
  ASSERT_TRUE(command.ok()) << command.status();
  const ClusterOptions& cluster = command->cluster;
  EXPECT_EQ(cluster.nodes.dns, (HostAndPort{"gpu.svc", 80}));
  EXPECT_EQ(cluster.http.address, ":1");
  EXPECT_EQ(cluster.http.web_config_file, "w");
  EXPECT_EQ(cluster.poller.pace.interval, std::chrono::seconds(30));
  EXPECT_EQ(cluster.poller.client.deadline, std::chrono::seconds(2));
  EXPECT_EQ(cluster.poller.pace.at_once, 7U);
  EXPECT_EQ(cluster.tick.withdraw_after, std::chrono::minutes(2));
  EXPECT_TRUE(cluster.tick.deprecated_map);
  EXPECT_EQ(cluster.tick.in_use, InUseMeaning::kPod);
  EXPECT_EQ(cluster.in_use_address, ":8000");
  EXPECT_EQ(cluster.links.node_url, "http://{node}:9400/");
  EXPECT_EQ(cluster.links.dashboard_url, "https://grafana/d/gpu?var-node={node}");
  EXPECT_EQ(command->log_level, LogLevel::kDebug);
}

TEST(ClusterFlags, ReadEnvironmentVariablesToo) {
  const auto command = ParseCluster({}, {{"PODGPU_NODES", "file:/n"}});
  ASSERT_TRUE(command.ok()) << command.status();
  EXPECT_EQ(command->cluster.nodes.path, "/n");
  EXPECT_EQ(command->cluster.http.address, ":9401");
  EXPECT_EQ(ParseCluster({"--nodes=file:/m"}, {{"PODGPU_NODES", "file:/n"}})->cluster.nodes.path,
            "/m");
}

TEST(ClusterFlags, FindTheApiServerWhenItListsTheNodes) {
  const auto command = ParseCluster(
      {"--nodes=pods:gpu/app=podgpu", "--service-account-dir=/sa"},
      {{"KUBERNETES_SERVICE_HOST", "10.96.0.1"}, {"KUBERNETES_SERVICE_PORT_HTTPS", "6443"}});
  ASSERT_TRUE(command.ok()) << command.status();
  const ApiNodesOption& api = command->cluster.nodes.api;
  EXPECT_EQ(api.name_space + " " + api.selected, "gpu app=podgpu");
  EXPECT_EQ(api.server.host + ":" + api.server.port, "10.96.0.1:6443");
  EXPECT_EQ(api.server.token_path, "/sa/token");
  EXPECT_EQ(api.server.certificate_path, "/sa/ca.crt");
}

TEST(ClusterFlags, FindTheApiServerForTheLabelsOfNodes) {
  const auto command = ParseCluster(
      {"--nodes=file:/n", "--group-labels=pool,example.com/rack", "--service-account-dir=/sa"},
      {{"KUBERNETES_SERVICE_HOST", "10.96.0.1"}, {"KUBERNETES_SERVICE_PORT", "443"}});
  ASSERT_TRUE(command.ok()) << command.status();
  const GroupLabelsOption& groups = command->cluster.groups;
  EXPECT_EQ(groups.keys, (std::vector<std::string>{"pool", "example.com/rack"}));
  EXPECT_EQ(groups.server.host + ":" + groups.server.port, "10.96.0.1:443");
  EXPECT_EQ(groups.server.token_path, "/sa/token");
}

TEST(ClusterFlags, SetUpTheMetricsApi) {
  const std::map<std::string, std::string> pod = {{"KUBERNETES_SERVICE_HOST", "10.96.0.1"}};
  const auto command =
      ParseCluster({"--nodes=file:/n", "--metrics-api-listen=:9443", "--metrics-api-window=90s",
                    "--metrics-api-service=podgpu.gpu", "--metrics-api-node-labels=zone, x.io/pool",
                    "--service-account-dir=/sa"},
                   pod);
  ASSERT_TRUE(command.ok()) << command.status();
  const MetricsApiOptions& api = command->cluster.metrics_api;
  EXPECT_EQ(api.address, ":9443");
  EXPECT_EQ(api.window.length, std::chrono::seconds(90));
  EXPECT_EQ(api.service, (MetricsService{"podgpu", "gpu"}));
  EXPECT_EQ(api.window.label_keys, (std::vector<std::string>{"zone", "x.io/pool"}));
  EXPECT_EQ(api.server.token_path, "/sa/token");
  EXPECT_EQ(ParseCluster({"--nodes=file:/n"})->cluster.metrics_api.address, "");
  struct Row {
    std::vector<std::string> arguments;
    const char* says;
  };
  const Row rows[] = {
      {{}, "--metrics-api-service is missing: give NAME.NAMESPACE of the Service"},
      {{"--metrics-api-cert-file=c"}, "--metrics-api-key-file is missing"},
      {{"--metrics-api-key-file=k"}, "--metrics-api-cert-file is missing"},
      {{"--metrics-api-service=podgpu"}, "must be NAME.NAMESPACE of the Service"},
      {{"--metrics-api-window=5s"}, "must be from 10s to 10m, in whole steps of 5s"},
      {{"--metrics-api-window=61s"}, "must be from 10s to 10m, in whole steps of 5s"},
      {{"--metrics-api-window=15m"}, "must be from 10s to 10m, in whole steps of 5s"},
      {{"--metrics-api-node-labels=a=b"}, "\"a=b\" is not the key of a label"},
  };
  for (const Row& row : rows) {
    std::vector<std::string> arguments = {"--nodes=file:/n", "--metrics-api-listen=:9443"};
    arguments.insert(arguments.end(), row.arguments.begin(), row.arguments.end());
    const Status status = ParseCluster(arguments, pod).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_NE(std::string(status.message()).find(row.says), std::string::npos) << status;
  }
  const Status outside =
      ParseCluster({"--nodes=file:/n", "--metrics-api-listen=:1", "--metrics-api-service=a.b"})
          .status();
  EXPECT_NE(std::string(outside.message()).find("Remove the flag, or run it in a pod"),
            std::string::npos);
  const Status no_nodes =
      ParseCluster({"--in-use-prometheus=http://p:9090", "--metrics-api-listen=:1"}, pod).status();
  EXPECT_NE(std::string(no_nodes.message()).find("works only with --nodes"), std::string::npos);
}

TEST(ClusterFlags, AreRefusedInOneLine) {
  struct Row {
    std::vector<std::string> arguments;
    std::string_view line;
  };
  const Row rows[] = {
      {{},
       "--nodes is missing: give file:PATH, dns:NAME:PORT, "
       "endpoints:NAMESPACE/SERVICE or pods:NAMESPACE/SELECTOR. See podgpu cluster --help"},
      {{"--nodes=x"},
       "--nodes: \"x\" is refused: must be file:PATH, dns:NAME:PORT, endpoints:NAMESPACE/SERVICE "
       "or pods:NAMESPACE/SELECTOR"},
      {{"--nodes=endpoints:gpu/podgpu"},
       "--nodes: KUBERNETES_SERVICE_HOST is not set: podgpu does not run in a pod, so it has "
       "no API server. Write file:PATH or dns:NAME:PORT instead, or run it in a pod"},
      {{"--nodes=file:/n", "extra"},
       "argument \"extra\" is not an argument of podgpu cluster. See podgpu cluster --help"},
      {{"--node"}, "unknown flag \"--node\"; nearest is --nodes. See podgpu cluster --help"},
      {{"--node-url=http://{node}:9400/{gpu}"},
       "--node-url: \"http://{node}:9400/{gpu}\" is refused: knows only {node}, which stands for "
       "the name of the node"},
      {{"--dashboard-url=https://g/{pod}"},
       "--dashboard-url: \"https://g/{pod}\" is refused: knows only {node}, {gpu} and {uuid}: "
       "the name of the node, the number of the GPU and its UUID"},
      {{"--group-labels=pool,,rack"},
       "--group-labels: \"pool,,rack\" is refused: \"\" is not the key of a label; write keys such "
       "as pool,topology.kubernetes.io/zone"},
      {{"--nodes=file:/n", "--group-labels=pool"},
       "--group-labels: KUBERNETES_SERVICE_HOST is not set: podgpu does not run in a pod, so it "
       "has no API server. Remove it, or run it in a pod"},
      {{"--node-url=node:9400"},
       "--node-url: \"node:9400\" is refused: must be http://HOST/ or https://HOST/"},
      {{"--node-interval=0s"}, "--node-interval: \"0s\" is refused: must be from 1s to 1h"},
      {{"--node-timeout=x"},
       "--node-timeout: \"x\" is not a duration such as 5s or 1m30s. See podgpu cluster --help"},
      {{"--nodes-at-once=0"}, "--nodes-at-once: \"0\" is refused: must be from 1 to 4096"},
      {{"--in-use=busy"},
       "--in-use: \"busy\" is refused: must be \"value\", \"pod\" or \"process\""},
      {{"--in-use-prometheus=prometheus:9090"},
       "--in-use-prometheus: \"prometheus:9090\" is refused: must be http://HOST:PORT or "
       "https://HOST:PORT, with a path"},
      {{"--in-use-prometheus=http://prometheus", "--in-use=process"},
       "--in-use=process works only with --nodes: remove --in-use-prometheus, or use "
       "--in-use=pod. See podgpu cluster --help"},
      {{"--node-withdraw-after=1ms"},
       "--node-withdraw-after: \"1ms\" is refused: must be 1s or more"},
  };
  for (const Row& row : rows) {
    const auto command = ParseCluster(row.arguments);
    EXPECT_EQ(command.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_EQ(std::string(command.status().message()), row.line);
  }
}

TEST(ClusterFlags, HelpNeedsNoNodes) {
  EXPECT_TRUE(ParseCluster({"--help"})->wants_help);
  EXPECT_TRUE(ParseCluster({"help"})->wants_help);
  const std::string help = ClusterHelpText();
  for (const auto& flag : ClusterFlagTable()) {
    EXPECT_NE(help.find("--" + std::string(flag.name)), std::string::npos) << flag.name;
  }
}

}  // namespace
}  // namespace podgpu
