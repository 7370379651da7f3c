// The metrics APIs of the cluster role: what registers them, who signs the certificate, which
// rights they need, and that they take over no API of another server.
#include <fstream>
#include <iterator>
#include <set>
#include <string>

#include <gtest/gtest.h>

#include "metrics_api/values/metric_names.h"
#include "tests/chart/helm.h"

namespace podgpu {
namespace {

constexpr char kExternal[] = "APIService v1beta1.external.metrics.k8s.io";
constexpr char kCustom[] = "APIService v1beta2.custom.metrics.k8s.io";

bool HasArgument(const Rendering& rendering, const std::string& argument) {
  const std::string all = rendering.Text("Deployment", kArguments);
  return all.find(argument + ",") != std::string::npos ||
         all.find(argument + "]") != std::string::npos;
}

std::set<std::string> TextsOf(const YAML::Node& list) {
  std::set<std::string> texts;
  for (const YAML::Node& text : list) {
    texts.insert(text.Scalar());
  }
  return texts;
}

TEST(MetricsApi, IsOffByDefault) {
  const Rendering rendering({"--set", "cluster.enabled=true"});
  EXPECT_FALSE(rendering.Object(kExternal).IsDefined());
  EXPECT_EQ(rendering.Text("Deployment", kArguments).find("metrics-api"), std::string::npos);
  EXPECT_EQ(TextAt(rendering.Object("Service podgpu-cluster"), "spec/ports").find("443"),
            std::string::npos);
}

TEST(MetricsApi, LeadsFromTheApiServicesToTheContainer) {
  const Rendering rendering = Rendering::OfSet("metrics-api");
  for (const char* const name : {kExternal, kCustom}) {
    const YAML::Node api = rendering.Object(name);
    EXPECT_EQ(TextAt(api, "spec/service"), "{name: podgpu-cluster, namespace: gpu, port: 443}");
    EXPECT_EQ(TextAt(api, "spec/caBundle"), "") << "podgpu writes it";
    EXPECT_EQ(TextAt(api, "spec/insecureSkipTLSVerify"), "");
  }
  EXPECT_EQ(TextAt(rendering.Object("Service podgpu-cluster"), "spec/ports/2"),
            "{name: metrics-api, port: 443, targetPort: metrics-api, protocol: TCP}");
  EXPECT_EQ(rendering.Text("Deployment", "spec/template/spec/containers/0/ports/2"),
            "{name: metrics-api, containerPort: 9443, protocol: TCP}");
  for (const char* const argument :
       {"--metrics-api-listen=:9443", "--metrics-api-service=podgpu-cluster.gpu",
        "--metrics-api-window=1m"}) {
    EXPECT_TRUE(HasArgument(rendering, argument)) << argument;
  }
  EXPECT_NE(rendering.Text("Deployment", kArguments)
                .find("--metrics-api-node-labels=topology.kubernetes.io/zone,"
                      "nvidia.com/gpu.product"),
            std::string::npos);
}

// The API server is no pod, so no source can name it; callers identify themselves.
TEST(MetricsApi, IsReachableThroughTheNetworkPolicy) {
  const Rendering rendering({"--set",
                             "cluster.enabled=true,metricsApi.enabled=true,networkPolicy.enabled="
                             "true,networkPolicy.ingress.from[0].podSelector.matchLabels.a=b"});
  EXPECT_EQ(TextAt(rendering.Object("NetworkPolicy podgpu-cluster"), "spec/ingress/1"),
            "{ports: [{port: metrics-api, protocol: TCP}]}");
}

TEST(MetricsApi, LetsTheAutoscalerReadWhatIsRegistered) {
  const std::string name = "ClusterRole podgpu-cluster-metrics-api-reader";
  const Rendering external({"--set",
                            "cluster.enabled=true,metricsApi.enabled=true,"
                            "metricsApi.custom=false,metricsApi.autoscaler.namespace=cm"});
  EXPECT_EQ(TextAt(external.Object(name), "rules"),
            "[{apiGroups: [external.metrics.k8s.io], resources: [avg_gpu_utilization, gpu_free, "
            "gpu_idle_pods, gpu_memory_used_bytes, gpu_power_watts], verbs: [get, list]}]");
  EXPECT_FALSE(external.Object(kCustom).IsDefined());
  EXPECT_EQ(
      TextAt(external.Object("ClusterRoleBinding podgpu-cluster-metrics-api-reader"), "subjects"),
      "[{kind: ServiceAccount, name: horizontal-pod-autoscaler, namespace: cm}]");
  const Rendering custom = Rendering::OfSet("metrics-api-cert-manager");
  EXPECT_EQ(TextAt(custom.Object(name), "rules"),
            "[{apiGroups: [custom.metrics.k8s.io], resources: [pods/gpu_energy_rate_watts, "
            "pods/gpu_memory_used_bytes, pods/gpu_power_watts, pods/gpu_sm_active, "
            "pods/gpu_utilization], verbs: [get, list]}]");
  EXPECT_FALSE(custom.Object(kExternal).IsDefined());
}

// The program's own tables are the truth; the chart and the checker of manifests name them too.
TEST(MetricsApi, EveryMetricOfTheProgramCanBeReadByTheAutoscaler) {
  const Rendering rendering = Rendering::OfSet("metrics-api");
  const YAML::Node rules =
      rendering.Object("ClusterRole podgpu-cluster-metrics-api-reader")["rules"];
  std::set<std::string> external;
  std::set<std::string> of_pods;
  for (const auto& row : ExternalMetrics()) {
    external.emplace(row.name);
  }
  for (const auto& row : PodMetrics()) {
    of_pods.insert("pods/" + std::string(row.name));
  }
  EXPECT_EQ(TextsOf(rules[0]["resources"]), external);
  EXPECT_EQ(TextsOf(rules[1]["resources"]), of_pods);
  std::ifstream file("tests/chart/deploycheck/made.go");
  const std::string checker(std::istreambuf_iterator<char>(file), {});
  for (const std::string& name : external) {
    EXPECT_NE(checker.find("\"" + name + "\""), std::string::npos) << name;
  }
  for (const std::string& name : of_pods) {
    EXPECT_NE(checker.find("\"" + name.substr(name.find('/') + 1) + "\""), std::string::npos)
        << name;
  }
}

constexpr char kMetricsApiRole[] = "ClusterRole podgpu-cluster-metrics-api";
constexpr char kPodsRule[] = "{apiGroups: [\"\"], resources: [pods], verbs: [list, watch]}";

TEST(MetricsApi, ItsOwnCertificateNeedsTheRightToWriteItsAuthority) {
  const Rendering own({"--set", "cluster.enabled=true,metricsApi.enabled=true"});
  EXPECT_EQ(TextAt(own.Object(kMetricsApiRole), "rules"),
            "[" + std::string(kPodsRule) +
                ", {apiGroups: [apiregistration.k8s.io], resources: [apiservices], resourceNames: "
                "[v1beta1.external.metrics.k8s.io, v1beta2.custom.metrics.k8s.io], verbs: [get, "
                "patch]}]");
  const Rendering given = Rendering::OfSet("metrics-api-certificate");
  EXPECT_EQ(TextAt(given.Object(kMetricsApiRole), "rules"), "[" + std::string(kPodsRule) + "]");
}

TEST(MetricsApi, NodeLabelsNeedTheRightToReadNodes) {
  const Rendering rendering = Rendering::OfSet("metrics-api");
  EXPECT_EQ(TextAt(rendering.Object(kMetricsApiRole), "rules/1"),
            "{apiGroups: [\"\"], resources: [nodes], verbs: [list, watch]}");
}

TEST(MetricsApi, HasATokenAlsoWhenNodesAreFoundWithoutOne) {
  const Rendering rendering(
      {"--set", "cluster.enabled=true,cluster.discovery=dns,metricsApi.enabled=true"});
  EXPECT_EQ(rendering.Text("Deployment", "spec/template/spec/automountServiceAccountToken"),
            "true");
  EXPECT_EQ(
      TextAt(rendering.Object("ServiceAccount podgpu-cluster"), "automountServiceAccountToken"),
      "true");
}

TEST(MetricsApi, CertManagerWritesTheAuthority) {
  const Rendering rendering = Rendering::OfSet("metrics-api-cert-manager");
  EXPECT_EQ(TextAt(rendering.Object(kCustom), "metadata/annotations"),
            "{cert-manager.io/inject-ca-from: gpu/podgpu-cluster-metrics-api}");
  EXPECT_EQ(TextAt(rendering.Object("Certificate podgpu-cluster-metrics-api"), "spec"),
            "{secretName: podgpu-cluster-metrics-api, dnsNames: [podgpu-cluster.gpu.svc], "
            "issuerRef: {name: cluster-ca, kind: ClusterIssuer, group: cert-manager.io}}");
  EXPECT_EQ(rendering.Text("Deployment", "spec/template/spec/volumes"),
            "[{name: metrics-api, secret: {secretName: podgpu-cluster-metrics-api}}]");
  EXPECT_TRUE(HasArgument(rendering, "--metrics-api-cert-file=/etc/podgpu/metrics-api/tls.crt"));
  EXPECT_TRUE(HasArgument(rendering, "--metrics-api-key-file=/etc/podgpu/metrics-api/tls.key"));
}

TEST(MetricsApi, TakesACertificateWithItsAuthority) {
  const Rendering rendering = Rendering::OfSet("metrics-api-certificate");
  EXPECT_EQ(TextAt(rendering.Object(kExternal), "spec/caBundle").substr(0, 36),
            "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0t");
  EXPECT_TRUE(HasArgument(rendering, "--metrics-api-listen=:8443"));
  EXPECT_TRUE(HasArgument(rendering, "--metrics-api-window=2m30s"));
}

TEST(MetricsApi, MakesNoRoleWithoutTheSwitchOfRoles) {
  const Rendering rendering(
      {"--set", "cluster.enabled=true,metricsApi.enabled=true,kubernetes.rbac.create=false"});
  EXPECT_FALSE(rendering.Object(kMetricsApiRole).IsDefined());
  EXPECT_TRUE(rendering.Object(kExternal).IsDefined());
}

}  // namespace
}  // namespace podgpu
