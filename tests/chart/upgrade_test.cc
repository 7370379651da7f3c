// The chart over a release of dcgm-exporter's chart, and what Helm says after an installation: both
// ask a cluster, api_server.py.
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/chart/helm.h"
#include "tests/e2e/child.h"

namespace podgpu {
namespace {

// A cluster with the objects of a folder.
class Cluster {
 public:
  explicit Cluster(const std::string& folder)
      : server_({"python3", PODGPU_SOURCE_DIR "/tests/chart/api_server.py", folder}) {
    const std::optional<std::string> line = server_.AwaitLine("listening on ");
    port_ = line ? line->substr(line->rfind(' ') + 1) : "";
  }
  std::string Address() const { return "http://127.0.0.1:" + port_; }

 private:
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

INSTANTIATE_TEST_SUITE_P(All, UpgradeTest, ::testing::ValuesIn(kOldReleases),
                         [](const auto& row) { return std::string(row.param.name); });

TEST(Upgrade, AnInstallationHasItsOwnSelector) {
  const TemporaryFolder empty;
  const Cluster cluster(empty.path());
  EXPECT_EQ(Upgraded(cluster).Text("DaemonSet", "spec/selector/matchLabels"),
            "{app.kubernetes.io/component: node, app.kubernetes.io/instance: dcgm-exporter, "
            "app.kubernetes.io/name: podgpu}");
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

// The notes that Helm prints after an installation.
std::string Notes(const std::vector<std::string>& values) {
  const TemporaryFolder empty;
  const Cluster cluster(empty.path());
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
      "Runs:   DaemonSet podgpu, one pod per node, page on port 9400\n"
      "Check:  kubectl -n gpu exec ds/podgpu -- podgpu doctor\n"
      "Look:   kubectl -n gpu port-forward ds/podgpu 9400:9400, then http://localhost:9400/\n"
      "Off:    pod labels (kubernetes.enablePodLabels), claims (DRA) (kubernetesDRA.enabled), "
      "processes and energy (processes.enabled), short processes (accounting.enabled), virtual "
      "GPUs "
      "(kubernetes.virtualGPUs), requested and used (requestedVsUsed.enabled), cluster map "
      "(cluster.enabled), fleet page (fleetPage.enabled), network policy (networkPolicy.enabled)\n"
      "Rules:  this release has no rules or dashboards; docs/operations.md says which values of "
      "which "
      "metrics need an alert\n");
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
