// The chart over a release of dcgm-exporter's chart, and what Helm says after an installation: both
// ask a cluster, api_server.py.
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/chart/helm.h"
#include "tests/e2e/child.h"

namespace podgpu {
namespace {

// A cluster with the objects of a folder, and with the Prometheus Operator's kinds if it is asked
// for.
class Cluster {
 public:
  explicit Cluster(const std::string& folder, bool has_operator = false)
      : server_(has_operator ? std::vector<std::string>{"python3", kProgram, folder,
                                                        "monitoring.coreos.com/v1"}
                             : std::vector<std::string>{"python3", kProgram, folder}) {
    const std::optional<std::string> line = server_.AwaitLine("listening on ");
    port_ = line ? line->substr(line->rfind(' ') + 1) : "";
  }
  std::string Address() const { return "http://127.0.0.1:" + port_; }

 private:
  static constexpr char kProgram[] = "tests/chart/api_server.py";

  Child server_;
  std::string port_;
};

// The DaemonSet of a release of dcgm-exporter's chart, with this selector.
std::string OldDaemonSet(const std::string& selector) {
  return R"({"apiVersion":"apps/v1","kind":"DaemonSet",)"
         R"("metadata":{"name":"dcgm-exporter","namespace":"gpu"},)"
         R"("spec":{"selector":{"matchLabels":)" +
         selector + "}}}";
}

constexpr char kDaemonSetFile[] = "apis_apps_v1_namespaces_gpu_daemonsets_dcgm-exporter.json";

// What the chart makes of release "dcgm-exporter" in that cluster.
Rendering Upgraded(const Cluster& cluster, const std::vector<std::string>& values = {}) {
  std::vector<std::string> words = {"--dry-run=server", "--kube-apiserver", cluster.Address()};
  words.insert(words.end(), values.begin(), values.end());
  return Rendering(words, "dcgm-exporter");
}

// A selector that the pods of the same rendering do not carry would be refused by Kubernetes.
void ExpectPodsMatch(const Rendering& rendering) {
  const YAML::Node daemonset = rendering.Object("DaemonSet dcgm-exporter");
  ASSERT_TRUE(daemonset.IsDefined());
  for (const auto& label : daemonset["spec"]["selector"]["matchLabels"]) {
    EXPECT_EQ(daemonset["spec"]["template"]["metadata"]["labels"][label.first.Scalar()].Scalar(),
              label.second.Scalar());
  }
}

// Whether the labels of an object fulfil a selector of the chart: matchLabels, and matchExpressions
// with the operator NotIn.
bool Selects(const YAML::Node& selector, const YAML::Node& labels) {
  for (const auto& label : selector["matchLabels"]) {
    if (TextAt(labels[label.first.Scalar()], "") != label.second.Scalar()) {
      return false;
    }
  }
  for (const auto& expression : selector["matchExpressions"]) {
    EXPECT_EQ(TextAt(expression, "operator"), "NotIn");
    const YAML::Node label = labels[TextAt(expression, "key")];
    for (const auto& value : expression["values"]) {
      if (label.IsDefined() && label.Scalar() == value.Scalar()) {
        return false;
      }
    }
  }
  return true;
}

// How many times Prometheus reads the page of one node: once for each Service of the DaemonSet's
// pods that a ServiceMonitor selects.
size_t EndpointsOfANode(const Rendering& rendering) {
  const YAML::Node pods = rendering.Object("DaemonSet dcgm-exporter")["spec"]["selector"];
  size_t endpoints = 0;
  for (const YAML::Node& monitor : rendering.objects()) {
    if (TextAt(monitor, "kind") != "ServiceMonitor") {
      continue;
    }
    for (const YAML::Node& service : rendering.objects()) {
      const bool is_of_nodes = TextAt(service, "kind") == "Service" &&
                               TextAt(service, "spec/selector") == TextAt(pods, "matchLabels");
      if (is_of_nodes && Selects(monitor["spec"]["selector"], service["metadata"]["labels"])) {
        ++endpoints;
      }
    }
  }
  return endpoints;
}

struct OldRelease {
  const char* name;
  const char* selector;  // JSON, keys in the order of the alphabet.
};
void PrintTo(const OldRelease& row, std::ostream* out) { *out << row.name; }

constexpr OldRelease kOldReleases[] = {
    {"WithoutComponent", R"({"app.kubernetes.io/instance": "dcgm-exporter",)"
                         R"( "app.kubernetes.io/name": "dcgm-exporter"})"},
    {"WithComponent", R"({"app.kubernetes.io/component": "dcgm-exporter",)"
                      R"( "app.kubernetes.io/instance": "dcgm-exporter",)"
                      R"( "app.kubernetes.io/name": "dcgm-exporter"})"},
    {"WithVersion", R"({"app.kubernetes.io/name": "dcgm-exporter",)"
                    R"( "app.kubernetes.io/version": "4.8.2"})"},
    {"OfOneLabel", R"({"app": "nvidia-dcgm-exporter"})"},
};

class UpgradeTest : public ::testing::TestWithParam<OldRelease> {};

TEST_P(UpgradeTest, KeepsTheSelectorAndTheNamesOfTheCluster) {
  const TemporaryFolder objects;
  objects.Write(kDaemonSetFile, OldDaemonSet(GetParam().selector));
  const Cluster cluster(objects.path());
  const Rendering upgraded = Upgraded(cluster, {"--set", "cluster.enabled=true"});
  const YAML::Node old = YAML::Load(GetParam().selector);
  const YAML::Node daemonset = upgraded.Object("DaemonSet dcgm-exporter");
  EXPECT_EQ(TextAt(daemonset, "spec/selector/matchLabels"), TextAt(old, ""));
  EXPECT_EQ(TextAt(upgraded.Object("Service dcgm-exporter"), "spec/selector"), TextAt(old, ""));
  ExpectPodsMatch(upgraded);
}

// With plain templates there is no cluster to ask: the value selectorLabels says what the cluster
// has.
TEST_P(UpgradeTest, PlainTemplatesTakeTheSelectorFromAValue) {
  const TemporaryFolder folder;
  const std::string values =
      folder.Write("values.yaml", std::string("selectorLabels: ") + GetParam().selector);
  const Rendering plain({"-f", values}, "dcgm-exporter");
  EXPECT_EQ(plain.Text("DaemonSet", "spec/selector/matchLabels"),
            TextAt(YAML::Load(GetParam().selector), ""));
  ExpectPodsMatch(plain);
}

// A page that is read twice doubles every sum.
TEST_P(UpgradeTest, PrometheusReadsEachNodeOnce) {
  const TemporaryFolder folder;
  const std::string values =
      folder.Write("values.yaml", std::string("selectorLabels: ") + GetParam().selector);
  const Rendering plain(
      {"-f", values, "--set", "cluster.enabled=true,requestedVsUsed.enabled=true"},
      "dcgm-exporter");
  EXPECT_EQ(EndpointsOfANode(plain), 1U);
}

// The other Services of the release have the label of its instance too.
TEST(Upgrade, PrometheusReadsEachNodeOnceAlsoIfTheSelectorIsTheInstance) {
  const Rendering plain(
      {"--set-json", R"(selectorLabels={"app.kubernetes.io/instance": "dcgm-exporter"})", "--set",
       "cluster.enabled=true,requestedVsUsed.enabled=true"},
      "dcgm-exporter");
  EXPECT_EQ(EndpointsOfANode(plain), 1U);
}

// Kubernetes refuses an object with a key that appears twice.
TEST_P(UpgradeTest, ALabelAppearsOnce) {
  const TemporaryFolder folder;
  const std::string values =
      folder.Write("values.yaml", std::string("selectorLabels: ") + GetParam().selector);
  const Rendering plain({"-f", values, "--set", "cluster.enabled=true"}, "dcgm-exporter");
  for (const YAML::Node& object : plain.objects()) {
    std::set<std::string> keys;
    for (const auto& label : object["metadata"]["labels"]) {
      EXPECT_TRUE(keys.insert(label.first.Scalar()).second) << label.first.Scalar();
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, UpgradeTest, ::testing::ValuesIn(kOldReleases),
                         [](const auto& row) { return std::string(row.param.name); });

// Queries and other programs find the pods of dcgm-exporter by these labels.
TEST(Upgrade, AnInstallationAsDcgmExporterHasItsLabels) {
  const TemporaryFolder empty;
  const Cluster cluster(empty.path());
  const Rendering installed = Upgraded(cluster, {"--set", "cluster.enabled=true"});
  EXPECT_EQ(installed.Text("DaemonSet", "spec/selector/matchLabels"),
            "{app.kubernetes.io/component: dcgm-exporter, "
            "app.kubernetes.io/instance: dcgm-exporter, app.kubernetes.io/name: dcgm-exporter}");
  ExpectPodsMatch(installed);
  EXPECT_EQ(installed.Text("Deployment", "spec/selector/matchLabels"),
            "{app.kubernetes.io/component: cluster, app.kubernetes.io/instance: dcgm-exporter, "
            "app.kubernetes.io/name: dcgm-exporter}");
}

TEST(Upgrade, AnInstallationHasItsOwnSelector) {
  EXPECT_EQ(Rendering().Text("DaemonSet", "spec/selector/matchLabels"),
            "{app.kubernetes.io/component: node, app.kubernetes.io/instance: podgpu, "
            "app.kubernetes.io/name: podgpu}");
  EXPECT_EQ(Rendering({"--set", "nameOverride=gpu"}, "dcgm-exporter")
                .Text("DaemonSet", "spec/selector/matchLabels"),
            "{app.kubernetes.io/component: node, app.kubernetes.io/instance: dcgm-exporter, "
            "app.kubernetes.io/name: gpu}");
}

// Kubernetes lets no selector of a Deployment change either.
TEST(Upgrade, TheClusterRoleKeepsItsSelector) {
  const TemporaryFolder objects;
  objects.Write("apis_apps_v1_namespaces_gpu_deployments_dcgm-exporter-cluster.json",
                R"({"apiVersion":"apps/v1","kind":"Deployment",)"
                R"("metadata":{"name":"dcgm-exporter-cluster","namespace":"gpu"},)"
                R"("spec":{"selector":{"matchLabels":{"app.kubernetes.io/name": "podgpu"}}}})");
  const Cluster cluster(objects.path());
  const Rendering upgraded = Upgraded(cluster, {"--set", "cluster.enabled=true"});
  const YAML::Node deployment = upgraded.Object("Deployment dcgm-exporter-cluster");
  EXPECT_EQ(TextAt(deployment, "spec/selector/matchLabels"), "{app.kubernetes.io/name: podgpu}");
  EXPECT_EQ(TextAt(deployment, "spec/template/metadata/labels"),
            TextAt(deployment, "spec/selector/matchLabels"));
  EXPECT_EQ(TextAt(upgraded.Object("Service dcgm-exporter-cluster"), "spec/selector"),
            TextAt(deployment, "spec/selector/matchLabels"));
}

// Pods of the cluster role never match the DaemonSet's selector.
TEST(Upgrade, TheClusterRoleIsNoPodOfTheDaemonSet) {
  const TemporaryFolder objects;
  objects.Write(kDaemonSetFile, OldDaemonSet(kOldReleases[0].selector));
  const Cluster cluster(objects.path());
  const Rendering upgraded =
      Upgraded(cluster, {"--set", "cluster.enabled=true,nameOverride=dcgm-exporter"});
  const YAML::Node deployment = upgraded.Object("Deployment dcgm-exporter-cluster");
  EXPECT_EQ(TextAt(deployment, "spec/template/metadata/labels/app.kubernetes.io~1name"),
            "dcgm-exporter-cluster");
  EXPECT_EQ(TextAt(deployment, "spec/selector/matchLabels"),
            TextAt(deployment, "spec/template/metadata/labels"));
}

TEST(Upgrade, AGeneratedCertificateIsKept) {
  const TemporaryFolder objects;
  objects.Write("api_v1_namespaces_gpu_secrets_dcgm-exporter-tls.json",
                R"({"apiVersion":"v1","kind":"Secret",)"
                R"("metadata":{"name":"dcgm-exporter-tls","namespace":"gpu"},)"
                R"("data":{"tls.crt":"Y2VydA==","tls.key":"a2V5","ca.crt":"Y2E="}})");
  const Cluster cluster(objects.path());
  const Rendering upgraded = Upgraded(cluster, {"--set", "tlsServerConfig.enabled=true"});
  EXPECT_EQ(TextAt(upgraded.Object("Secret dcgm-exporter-tls"), "data"),
            "{ca.crt: Y2E=, tls.crt: Y2VydA==, tls.key: a2V5}");
}

// A cluster in which a Service has an API.
std::string ApiServiceOf(const std::string& name, const std::string& service) {
  return R"({"apiVersion":"apiregistration.k8s.io/v1","kind":"APIService","metadata":{"name":")" +
         name + R"("},"spec":{"service":)" + service + "}}";
}
constexpr char kExternalFile[] =
    "apis_apiregistration.k8s.io_v1_apiservices_v1beta1.external.metrics.k8s.io.json";

// The refusal of `helm upgrade` in the cluster of `objects`; empty when it refuses nothing.
std::string RefusalOf(const TemporaryFolder& objects, const std::string& set) {
  const Cluster cluster(objects.path());
  const HelmResult result = RunHelm(
      {"template", "podgpu", ChartFolder(), "-n", "gpu", "--dry-run=server", "--kube-apiserver",
       cluster.Address(), "--set", "cluster.enabled=true,metricsApi.enabled=true" + set});
  const size_t at = result.output.find("podgpu: metricsApi.");
  EXPECT_EQ(result.exit_code == 0, at == std::string::npos) << result.output;
  return at == std::string::npos ? std::string()
                                 : result.output.substr(at, result.output.find('\n', at) - at);
}

TEST(MetricsApiOwner, AnotherServerKeepsItsApi) {
  const TemporaryFolder objects;
  objects.Write(kExternalFile,
                ApiServiceOf("v1beta1.external.metrics.k8s.io",
                             R"({"name":"keda-operator-metrics-apiserver","namespace":"keda"})"));
  EXPECT_EQ(RefusalOf(objects, ""),
            "podgpu: metricsApi.external: v1beta1.external.metrics.k8s.io belongs to Service "
            "keda/keda-operator-metrics-apiserver, and a cluster has one server of that API. Set "
            "metricsApi.external to false, or remove that server");
  EXPECT_EQ(RefusalOf(objects, ",metricsApi.external=false"), "");
}

// Autoscalers choose one version for all metrics of a group.
TEST(MetricsApiOwner, IsAskedForEachApiAndEachOfItsVersions) {
  for (const std::string version : {"v1beta1", "v1beta2"}) {
    const TemporaryFolder objects;
    const std::string name = version + ".custom.metrics.k8s.io";
    objects.Write("apis_apiregistration.k8s.io_v1_apiservices_" + name + ".json",
                  ApiServiceOf(name, R"({"name":"prometheus-adapter","namespace":"monitoring"})"));
    EXPECT_NE(RefusalOf(objects, "").find("belongs to Service monitoring/prometheus-adapter"),
              std::string::npos)
        << version;
    EXPECT_EQ(RefusalOf(objects, ",metricsApi.custom=false"), "");
  }
}

TEST(MetricsApiOwner, PodgpuItselfMayBeUpgraded) {
  const TemporaryFolder objects;
  objects.Write(kExternalFile, ApiServiceOf("v1beta1.external.metrics.k8s.io",
                                            R"({"name":"podgpu-cluster","namespace":"gpu"})"));
  EXPECT_EQ(RefusalOf(objects, ""), "");
  EXPECT_NE(RefusalOf(objects, ",namespaceOverride=other"), "") << "that is another installation";
}

// The notes that Helm prints after an installation.
std::string Notes(const std::vector<std::string>& values, bool has_operator = false) {
  const TemporaryFolder empty;
  const Cluster cluster(empty.path(), has_operator);
  std::vector<std::string> words = {"install",
                                    "podgpu",
                                    ChartFolder(),
                                    "-n",
                                    "gpu",
                                    "--dry-run=client",
                                    "--kube-apiserver",
                                    cluster.Address(),
                                    "--disable-openapi-validation"};
  words.insert(words.end(), values.begin(), values.end());
  const HelmResult result = RunHelm(words);
  EXPECT_EQ(result.exit_code, 0) << result.output;
  const size_t at = result.output.find("NOTES:\n");
  EXPECT_NE(at, std::string::npos);
  return at == std::string::npos ? "" : result.output.substr(at + 7);
}

TEST(Notes, EndWithFiveLines) {
  EXPECT_EQ(
      Notes({"--set", "serviceMonitor.enabled=false"}),
      "Runs:   DaemonSet podgpu, one pod on each node that it selects, page on port 9400\n"
      "Check:  kubectl -n gpu exec ds/podgpu -- podgpu doctor\n"
      "Look:   kubectl -n gpu port-forward ds/podgpu 9400:9400, then http://localhost:9400/\n"
      "Off:    pod labels (kubernetes.enablePodLabels), claims (DRA) (kubernetesDRA.enabled), "
      "processes and energy (processes.enabled), short processes (accounting.enabled), virtual "
      "GPUs (kubernetes.virtualGPUs), requested and used (requestedVsUsed.enabled), cluster map "
      "(cluster.enabled), metrics for autoscalers (metricsApi.enabled), fleet page "
      "(fleetPage.enabled), alert rules (prometheusRule.enabled), dashboards (dashboards.enabled), "
      "network policy (networkPolicy.enabled)\n"
      "Rules:  none installed; deploy/rules and deploy/dashboards have the files; "
      "docs/operations.md explains each alert\n");
}

// The notes in a cluster with the Prometheus Operator, when rules and dashboards are asked for.
std::string NotesOnRules(const std::string& set) {
  return Notes({"--set", "prometheusRule.enabled=true,dashboards.enabled=true" + set}, true);
}

constexpr char kViews[] = "Views:  the rules or dashboards that you asked for need more";

TEST(Notes, SayWhichRulesAndDashboardsAreThere) {
  for (const char* const set :
       {",metricsViews=dcgm\\,native", ",arguments={--metrics-views=native}",
        ",extraEnv[0].name=PODGPU_METRICS_VIEWS,extraEnv[0].value=self\\,native"}) {
    const std::string notes = NotesOnRules(set);
    EXPECT_EQ(notes.find(kViews), std::string::npos) << notes;
    EXPECT_TRUE(
        notes.ends_with("\nRules:  PrometheusRule podgpu, 7 dashboards with the label "
                        "grafana_dashboard; docs/operations.md explains each alert\n"))
        << notes;
  }
}

TEST(Notes, SayThatThePageLacksWhatTheRulesNeed) {
  EXPECT_NE(NotesOnRules("").find(kViews), std::string::npos);
  EXPECT_NE(NotesOnRules(",prometheusRule.names=dcgm").find(kViews), std::string::npos);
  const std::string notes = NotesOnRules(",prometheusRule.names=dcgm,dashboards.names=dcgm");
  EXPECT_EQ(notes.find(kViews), std::string::npos) << notes;
  EXPECT_NE(notes.find(", 6 dashboards with"), std::string::npos) << notes;
}

TEST(Notes, SayThatTheClusterHasNoPrometheusRule) {
  const std::string notes = Notes({"--set", "prometheusRule.enabled=true"});
  EXPECT_NE(notes.find("Alerts: this cluster has no monitoring.coreos.com/v1"), std::string::npos)
      << notes;
  EXPECT_NE(notes.find("Rules:  none installed"), std::string::npos) << notes;
}

TEST(Notes, SayWhichMetricsApisAreRegistered) {
  const std::string scale = "Scale:  v1beta2.custom.metrics.k8s.io from Service podgpu-cluster;";
  const std::string set = "cluster.enabled=true,metricsApi.enabled=true,metricsApi.external=false";
  const std::string alone = Notes({"--set", set});
  EXPECT_NE(alone.find(scale), std::string::npos) << alone;
  EXPECT_NE(alone.find("set cluster.replicas to 2."), std::string::npos) << alone;
  const std::string both = Notes({"--set", set + ",cluster.replicas=2"});
  EXPECT_NE(both.find(scale), std::string::npos) << both;
  EXPECT_EQ(both.find("cluster.replicas"), std::string::npos) << both;
}

// Without a repository of your own the tag is not the reason.
TEST(Notes, AdviseWhatMakesTheImageYours) {
  const std::string tag = ",image.tag=4.5.3-4.8.2-distroless";
  const auto advice = [&tag](const std::string& repository) {
    const std::string notes = Notes({"--set", "image.repository=" + repository + tag});
    const size_t at = notes.find(" runs. ");
    return at == std::string::npos ? notes : notes.substr(at + 7, notes.find('\n', at) - at - 7);
  };
  constexpr char kRepository[] = "Set image.repository to your copy of podgpu's image.";
  EXPECT_EQ(advice("podgpu"), kRepository);
  EXPECT_EQ(advice("nvcr.io/nvidia/k8s/dcgm-exporter"), kRepository);
  EXPECT_EQ(advice("registry.example.com/podgpu"), "Remove image.tag from your values.");
}

TEST(Notes, SayWhatWasNotDoneAsAsked) {
  const std::string notes =
      Notes({"--set", "image.repository=nvidia/dcgm-exporter,image.tag=2.2.9-2.4.1-ubuntu18.04"});
  EXPECT_NE(
      notes.find("Image:  nvidia/dcgm-exporter:2.2.9-2.4.1-ubuntu18.04 is dcgm-exporter's and "
                 "is not used; podgpu:"),
      std::string::npos)
      << notes;
  EXPECT_NE(notes.find("Scrape: this cluster has no monitoring.coreos.com/v1, so no ServiceMonitor "
                       "was made."),
            std::string::npos)
      << notes;
}

}  // namespace
}  // namespace podgpu
