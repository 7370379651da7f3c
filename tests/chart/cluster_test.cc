// The cluster role: how it finds and reaches the nodes, and who may reach it.
#include <string>

#include <gtest/gtest.h>

#include "tests/chart/helm.h"

namespace podgpu {
namespace {

std::string ArgumentsWith(const std::string& set) {
  return Rendering({"--set", "cluster.enabled=true," + set}).Text("Deployment", kArguments);
}

TEST(ClusterRole, FindsTheNodesInThreeWays) {
  const std::string others = ", --node-interval=15s, --in-use=value, --in-use-listen=:8000]";
  EXPECT_EQ(ArgumentsWith("cluster.discovery=endpoints"),
            "[cluster, --nodes=endpoints:gpu/podgpu-nodes" + others);
  EXPECT_EQ(ArgumentsWith("cluster.discovery=dns"),
            "[cluster, --nodes=dns:podgpu-nodes.gpu.svc:9400" + others);
  EXPECT_EQ(ArgumentsWith("cluster.discovery=pods"),
            "[cluster, \"--nodes=pods:gpu/app.kubernetes.io/component=node,"
            "app.kubernetes.io/instance=podgpu,app.kubernetes.io/name=podgpu\"" +
                others);
}

TEST(ClusterRole, TakesFurtherFlags) {
  EXPECT_EQ(ArgumentsWith("cluster.inUsePort=0,cluster.nodeInterval=30s,cluster.inUse=pod,"
                          "cluster.webConfigSecret=web,cluster.arguments={--log-level=debug}"),
            "[cluster, --nodes=endpoints:gpu/podgpu-nodes, --node-interval=30s, --in-use=pod, "
            "--web-config-file=/etc/podgpu/web/web-config.yaml, --log-level=debug]");
}

TEST(ClusterRole, LinksToPagesOfNodes) {
  const std::string arguments = ArgumentsWith(
      "cluster.inUsePort=0,cluster.nodeUrl=http://{node}:9400/,cluster.dashboardUrl=https://g/d");
  EXPECT_NE(arguments.find("--node-url=http://{node}:9400/"), std::string::npos) << arguments;
  EXPECT_NE(arguments.find("--dashboard-url=https://g/d"), std::string::npos) << arguments;
  const Rendering back({"--set", "cluster.fleetUrl=https://podgpu.example/"});
  EXPECT_NE(back.Text("DaemonSet", "spec/template/spec/containers/0/env")
                .find("{name: PODGPU_FLEET_URL, value: https://podgpu.example/}"),
            std::string::npos);
}

TEST(ClusterRole, MayReadTheLabelsOfNodesOnlyIfTheyAreAskedFor) {
  const Rendering rendering({"--set", "cluster.enabled=true,cluster.discovery=dns", "--set-json",
                             R"(cluster.groupLabels=["pool","example.com/rack"])"});
  EXPECT_NE(rendering.Text("Deployment", kArguments).find("--group-labels=pool,example.com/rack"),
            std::string::npos);
  EXPECT_EQ(rendering.Text("Deployment", "spec/template/spec/automountServiceAccountToken"),
            "true");
  EXPECT_EQ(TextAt(rendering.Object("ClusterRole podgpu-cluster-node-labels"), "rules"),
            "[{apiGroups: [\"\"], resources: [nodes], verbs: [list, watch]}]");
  EXPECT_EQ(TextAt(rendering.Object("ClusterRoleBinding podgpu-cluster-node-labels"), "subjects"),
            "[{kind: ServiceAccount, name: podgpu-cluster, namespace: gpu}]");
  const Rendering without({"--set", "cluster.enabled=true,cluster.discovery=dns"});
  EXPECT_EQ(without.Text("Deployment", "spec/template/spec/automountServiceAccountToken"), "false");
  EXPECT_FALSE(without.Object("ClusterRole podgpu-cluster-node-labels").IsDefined());
}

// A node that is not ready stays on the map, and no monitor of the nodes reads this Service too.
TEST(ClusterRole, HasAHeadlessServiceOfAllNodes) {
  const Rendering rendering({"--set", "cluster.enabled=true,requestedVsUsed.enabled=true"});
  const YAML::Node service = rendering.Object("Service podgpu-nodes");
  EXPECT_EQ(TextAt(service, "spec/clusterIP"), "None");
  EXPECT_EQ(TextAt(service, "spec/publishNotReadyAddresses"), "true");
  EXPECT_EQ(TextAt(service, "spec/ports/1/port"), "5678");
  EXPECT_EQ(TextAt(service, "spec/selector"),
            TextAt(rendering.Object("DaemonSet podgpu"), "spec/selector/matchLabels"));
  EXPECT_NE(TextAt(service, "metadata/labels/app.kubernetes.io~1component"),
            TextAt(rendering.Object("ServiceMonitor podgpu"),
                   "spec/selector/matchLabels/app.kubernetes.io~1component"));
}

TEST(ClusterRole, NeedsNoRightOfTheNode) {
  const Rendering rendering({"--set", "cluster.enabled=true"});
  const std::string pod = "spec/template/spec/";
  EXPECT_EQ(rendering.Text("Deployment", pod + "securityContext/runAsUser"), "65532");
  EXPECT_EQ(rendering.Text("Deployment", pod + "containers/0/securityContext/capabilities"),
            "{drop: [ALL]}");
  EXPECT_EQ(rendering.Text("Deployment", pod + "volumes"), "");
}

TEST(ClusterRole, ShowsTheFleetPageOutside) {
  const Rendering ingress = Rendering::OfSet("cluster");
  EXPECT_EQ(ingress.Text("Ingress", "spec/rules/0/http/paths/0/backend"),
            "{service: {name: podgpu-cluster, port: {name: metrics}}}");
  EXPECT_EQ(ingress.Text("Ingress", "spec/tls"), "[{hosts: [gpus.example.com], secretName: gpus}]");
  const Rendering route = Rendering::OfSet("openshift");
  EXPECT_EQ(TextAt(route.Object("Route podgpu-cluster"), "spec/tls"),
            "{termination: edge, insecureEdgeTerminationPolicy: Redirect}");
}

TEST(ClusterRole, ReachesTheNodesThroughTheNetworkPolicy) {
  const Rendering rendering = Rendering::OfSet("cluster");
  const YAML::Node nodes = rendering.Object("NetworkPolicy podgpu");
  EXPECT_EQ(TextAt(nodes, "spec/ingress/1/from/0/podSelector/matchLabels"),
            TextAt(rendering.Object("Deployment podgpu-cluster"), "spec/selector/matchLabels"));
  EXPECT_EQ(TextAt(rendering.Object("NetworkPolicy podgpu-cluster"), "spec/ingress"),
            "[{ports: [{port: metrics, protocol: TCP}, {port: in-use, protocol: TCP}]}]");
}

// Everything that refers to the container's port by name follows it; the Services keep their own.
TEST(ClusterRole, ReachesTheNodesAtAPortOfAnotherName) {
  const Rendering rendering = Rendering::OfSet("port-name");
  const YAML::Node daemonset = rendering.Object("DaemonSet podgpu");
  EXPECT_EQ(TextAt(daemonset, "spec/template/spec/containers/0/ports/0/name"), "gpu-metrics");
  EXPECT_EQ(TextAt(daemonset, "spec/template/spec/containers/0/livenessProbe/httpGet/port"),
            "gpu-metrics");
  for (const char* service : {"Service podgpu", "Service podgpu-nodes"}) {
    EXPECT_EQ(TextAt(rendering.Object(service), "spec/ports/0/name"), "metrics");
    EXPECT_EQ(TextAt(rendering.Object(service), "spec/ports/0/targetPort"), "gpu-metrics");
  }
  EXPECT_EQ(TextAt(rendering.Object("PodMonitor podgpu"), "spec/podMetricsEndpoints/0/port"),
            "gpu-metrics");
  EXPECT_EQ(TextAt(rendering.Object("NetworkPolicy podgpu"), "spec/ingress/1/ports/0/port"),
            "gpu-metrics");
  const std::string arguments = TextAt(rendering.Object("Deployment podgpu-cluster"), kArguments);
  EXPECT_NE(arguments.find("=podgpu:gpu-metrics"), std::string::npos) << arguments;
}

TEST(ClusterRole, HasABudgetForDrains) {
  const Rendering rendering = Rendering::OfSet("cluster");
  EXPECT_EQ(rendering.Text("PodDisruptionBudget", "spec/maxUnavailable"), "1");
  EXPECT_EQ(rendering.Text("PodDisruptionBudget", "spec/selector"),
            rendering.Text("Deployment", "spec/selector"));
}

}  // namespace
}  // namespace podgpu
