// The chart through Helm: it is without faults for every value set, and each value of
// dcgm-exporter's chart does the same as there.
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "cli/config_file.h"
#include "tests/chart/helm.h"
#include "tests/e2e/child.h"

namespace podgpu {
namespace {

std::string TextOf(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

TEST(Helm, IsTheVersionOfItsModule) {
  const HelmResult result = RunHelm({"version", "--template", "{{.Version}}"});
  const std::string module = TextOf("tests/chart/helm/go.mod");
  EXPECT_NE(module.find("helm.sh/helm/v3 " + result.output + " "), std::string::npos)
      << result.output << ": ./dev chart builds the Helm of tests/chart/helm/go.mod";
}

TEST(Chart, HasTheCountersThatPodgpuInstalls) {
  EXPECT_EQ(TextOf(ChartFolder() + "/files/default-counters.csv"),
            TextOf("deploy/default-counters.csv"));
}

TEST(Chart, HasAtLeastTwelveValueSets) { EXPECT_GE(ValueSets().size(), 12U); }

class ValueSetTest : public ::testing::TestWithParam<std::string> {};

TEST_P(ValueSetTest, PassesHelmsStrictLint) {
  const HelmResult result = RunHelm(
      {"lint", "--strict", ChartFolder(), "-f", ValueSetFolder() + "/" + GetParam() + ".yaml"});
  EXPECT_EQ(result.exit_code, 0) << result.output;
  EXPECT_NE(result.output.find("1 chart(s) linted, 0 chart(s) failed"), std::string::npos)
      << result.output;
}

// Each object once, with the labels of the release, in the namespace of the release if its kind has
// one.  The right to read one ConfigMap of kube-system must be there.
TEST_P(ValueSetTest, RendersWholeObjects) {
  const std::set<std::string> of_the_cluster = {"APIService", "ClusterRole", "ClusterRoleBinding",
                                                "RuntimeClass", "SecurityContextConstraints"};
  const std::set<std::string> of_kube_system = {"Role podgpu-cluster-metrics-api",
                                                "RoleBinding podgpu-cluster-metrics-api"};
  const Rendering rendering = Rendering::OfSet(GetParam());
  const std::vector<std::string> names = rendering.Names();
  EXPECT_EQ(std::set<std::string>(names.begin(), names.end()).size(), names.size());
  for (const YAML::Node& object : rendering.objects()) {
    const std::string kind = TextAt(object, "kind");
    const std::string name = kind + " " + TextAt(object, "metadata/name");
    EXPECT_NE(TextAt(object, "apiVersion"), "") << name;
    EXPECT_EQ(TextAt(object, "metadata/namespace"), of_the_cluster.contains(kind)   ? ""
                                                    : of_kube_system.contains(name) ? "kube-system"
                                                                                    : "gpu")
        << name;
    EXPECT_EQ(TextAt(object, "metadata/labels/app.kubernetes.io~1instance"), "podgpu") << name;
    EXPECT_EQ(TextAt(object, "metadata/labels/app.kubernetes.io~1managed-by"), "Helm") << name;
    EXPECT_EQ(TextAt(object, "metadata/labels/helm.sh~1chart").substr(0, 7), "podgpu-") << name;
  }
}

INSTANTIATE_TEST_SUITE_P(All, ValueSetTest, ::testing::ValuesIn(ValueSets()), [](const auto& row) {
  std::string name = row.param;
  std::erase(name, '-');
  return name;
});

TEST(Chart, MakesMonitorsOnlyWhereTheClusterHasThem) {
  const HelmResult result =
      RunHelm({"template", "podgpu", ChartFolder(), "--set", "cluster.enabled=true"});
  EXPECT_EQ(result.exit_code, 0) << result.output;
  EXPECT_EQ(result.output.find("kind: ServiceMonitor"), std::string::npos);
  EXPECT_NE(result.output.find("kind: DaemonSet"), std::string::npos);
}

TEST(Chart, MakesMonitorsWithoutAClusterIfTheyAreForced) {
  const HelmResult result =
      RunHelm({"template", "podgpu", ChartFolder(), "--set",
               "cluster.enabled=true,prometheusRule.enabled=true,serviceMonitor.force=true"});
  EXPECT_EQ(result.exit_code, 0) << result.output;
  std::multiset<std::string> kinds;
  for (const YAML::Node& object : YAML::LoadAll(result.output)) {
    kinds.insert(TextAt(object, "kind"));
  }
  EXPECT_EQ(kinds.count("ServiceMonitor"), 2U);
  EXPECT_EQ(kinds.count("PrometheusRule"), 1U);
}

TEST(Chart, HasFurtherObjectsOfTheUser) {
  const Rendering rendering(
      {"--set-json",
       R"(extraManifests=[{"apiVersion": "v1", "kind": "ConfigMap",)"
       R"( "metadata": {"name": "{{ .Release.Name }}-note"}, "data": {"port": "9400"}},)"
       R"( "kind: Secret\nmetadata: {name: {{ include \"podgpu.fullname\" . }}-text}"])"});
  EXPECT_EQ(TextAt(rendering.Object("ConfigMap podgpu-note"), "data"), "{port: 9400}");
  EXPECT_TRUE(rendering.Object("Secret podgpu-text").IsDefined());
}

// The kubelet updates a mounted folder, and podgpu follows it, but for the interval of all fields.
// A file with subPath is not updated.
TEST(Chart, RestartsPodsForAChangedConfigurationOnlyWhereItIsNeeded) {
  const auto checksum = [](const std::string& path, const std::string& data) {
    return Rendering({"--set", "config.enabled=true", "--set-string", "config.mountPath=" + path,
                      "--set-json", "config.data=\"" + data + "\""})
        .Text("DaemonSet", "spec/template/metadata/annotations/checksum~1config");
  };
  const std::string none = "version: 2";
  const std::string all = "{version: 2, collections: [{every: 9s, metrics: {include: ['*']}}]}";
  const std::string other = "{version: 2, collections: [{every: 9s, metrics: {include: [X]}}]}";
  EXPECT_EQ(checksum("", none), checksum("", "{version: 2, metrics: {file: /x}}"));
  EXPECT_EQ(checksum("", none), checksum("", other));
  EXPECT_NE(checksum("", none), checksum("", all));
  EXPECT_EQ(checksum("", all), checksum("", "{version: 1, collection: {interval: 9s}}"));
  EXPECT_NE(checksum("/c.yaml", none), checksum("/c.yaml", other));
  const Rendering rendering({"--set", "config.enabled=true"}, "gpus");
  const std::string file =
      TextAt(rendering.Object("ConfigMap gpus-podgpu-config"), "data/config.yaml");
  EXPECT_TRUE(ParseConfigFile(file, "config.yaml").ok()) << file;
}

// -- names of objects

struct Name {
  const char* release;
  const char* set;
  const char* name;
};

constexpr Name kNames[] = {
    {"podgpu", "hostPID=false", "podgpu"},
    {"gpus", "hostPID=false", "gpus-podgpu"},
    {"gpus", "nameOverride=map", "gpus-map"},
    {"gpus-map", "nameOverride=map", "gpus-map"},
    // As dcgm-exporter's chart.
    {"dcgm-exporter", "hostPID=false", "dcgm-exporter"},
    {"nvidia-dcgm-exporter", "hostPID=false", "nvidia-dcgm-exporter"},
    {"dcgm-exporter", "nameOverride=gpu", "dcgm-exporter-gpu"},
    {"dcgm-exporter", "nameOverride=dcgm", "dcgm-exporter"},
    {"dcgm-exporter", "fullnameOverride=gpu", "gpu"},
    {"dcgm-exporter-of-the-team-for-machine-learning-in-ulm", "hostPID=false",
     "dcgm-exporter-of-the-team-for-machine-learning-in-ulm"},
};

TEST(Names, AreThoseOfDcgmExportersChart) {
  for (const Name& row : kNames) {
    const Rendering rendering({"--set", row.set}, row.release);
    EXPECT_EQ(rendering.Text("DaemonSet", "metadata/name"), row.name) << row.set;
    EXPECT_EQ(rendering.Text("Service", "metadata/name"), row.name) << row.set;
  }
}

// Kubernetes refuses names of Services and values of labels with more than 63 characters.
TEST(Names, FitIntoALabelWithTheirSuffix) {
  const std::string longest(63, 'a');
  const Rendering rendering({"-f", ValueSetFolder() + "/everything.yaml", "--set",
                             "fullnameOverride=" + longest + "bc,nameOverride=" + longest + "bc"});
  EXPECT_EQ(rendering.Text("DaemonSet", "metadata/name"), longest);
  EXPECT_TRUE(rendering.Object("Service " + longest.substr(0, 57) + "-nodes").IsDefined());
  const std::vector<std::string> names = rendering.Names();
  EXPECT_EQ(std::set<std::string>(names.begin(), names.end()).size(), names.size());
  for (const YAML::Node& object : rendering.objects()) {
    EXPECT_LE(TextAt(object, "metadata/name").size(), 63U) << TextAt(object, "metadata/name");
    for (const auto& label : object["metadata"]["labels"]) {
      EXPECT_LE(label.second.Scalar().size(), 63U) << label.first.Scalar();
    }
  }
}

// -- the drop-in: a value of dcgm-exporter's chart, and where it must arrive

struct Value {
  const char* set;
  const char* kind;
  const char* path;
  const char* text;
};

constexpr Value kValues[] = {
    {"image.repository=r.example/p,image.tag=v2", "DaemonSet", "containers/0/image",
     "r.example/p:v2"},
    {"image.repository=r.example/p,image.tag=v2,image.digest=sha256:"
     "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
     "DaemonSet", "containers/0/image",
     "r.example/p@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"},
    {"image.pullPolicy=Always", "DaemonSet", "containers/0/imagePullPolicy", "Always"},
    {"image.pullPolicy=Never", "DaemonSet", "containers/0/name", "exporter"},
    {"arguments={-f,/x.csv,-d,g:0}", "DaemonSet", "containers/0/args", "[-f, /x.csv, -d, g:0]"},
    {"imagePullSecrets[0].name=s", "DaemonSet", "imagePullSecrets", "[{name: s}]"},
    {"hostNetwork=true", "DaemonSet", "dnsPolicy", "ClusterFirstWithHostNet"},
    {"hostPID=true", "DaemonSet", "hostPID", "true"},
    {"runtimeClassName=nvidia", "DaemonSet", "runtimeClassName", "nvidia"},
    {"priorityClassName=high", "DaemonSet", "priorityClassName", "high"},
    {"hostPID=false", "DaemonSet", "priorityClassName", "system-node-critical"},
    {"serviceAccount.name=sa", "DaemonSet", "serviceAccountName", "sa"},
    {"serviceAccount.create=false", "DaemonSet", "serviceAccountName", "default"},
    {"nodeSelector.node=gpu", "DaemonSet", "nodeSelector", "{node: gpu}"},
    {"hostPID=false", "DaemonSet", "tolerations",
     "[{effect: NoSchedule, key: node-role.kubernetes.io/control-plane, operator: Exists}]"},
    {"podSecurityContext.fsGroup=2000", "DaemonSet", "securityContext", "{fsGroup: 2000}"},
    {"securityContext.capabilities.add={SYS_ADMIN}", "DaemonSet",
     "containers/0/securityContext/capabilities", "{add: [SYS_ADMIN], drop: [ALL]}"},
    {"resources.limits.cpu=1", "DaemonSet", "containers/0/resources/limits/cpu", "1"},
    // Patches name variables by their place.
    {"kubeletPods.enabled=true", "DaemonSet", "containers/0/env/0/name",
     "DCGM_EXPORTER_KUBERNETES"},
    {"kubeletPods.enabled=true", "DaemonSet", "containers/0/env/1/name", "DCGM_EXPORTER_LISTEN"},
    {"kubeletPods.enabled=true", "DaemonSet", "containers/0/env/2/name", "NODE_NAME"},
    {"kubeletPath=/k", "DaemonSet", "volumes/0/hostPath/path", "/k"},
    {"kubeletPath=/k", "DaemonSet", "containers/0/volumeMounts/0/mountPath",
     "/var/lib/kubelet/pod-resources"},
    {"service.address=0.0.0.0:9500", "DaemonSet", "containers/0/ports/0",
     "{name: metrics, containerPort: 9500, protocol: TCP}"},
    {"livenessProbe.initialDelaySeconds=45", "DaemonSet", "containers/0/livenessProbe",
     "{httpGet: {path: /healthz, port: metrics, scheme: HTTP}, initialDelaySeconds: 45, "
     "periodSeconds: 10}"},
    {"tlsServerConfig.enabled=true", "DaemonSet", "containers/0/readinessProbe/httpGet",
     "{path: \"/readyz?exclude=devices\", port: metrics, scheme: HTTPS}"},
    {"basicAuth.users.a=b", "DaemonSet", "containers/0/readinessProbe/tcpSocket",
     "{port: metrics}"},
    {"initContainers[0].name=i,initContainers[0].image=x", "DaemonSet", "initContainers",
     "[{image: x, name: i}]"},
    {"service.port=9800", "Service", "spec/ports/0/port", "9800"},
    {"service.type=NodePort", "Service", "spec/type", "NodePort"},
    {"service.clusterIP=None", "Service", "spec/clusterIP", "None"},
    {"service.internalTrafficPolicy=Local", "Service", "spec/internalTrafficPolicy", "Local"},
    {"service.annotations.a=b", "Service", "metadata/annotations", "{a: b}"},
    {"service.enable=false", "Service", "kind", ""},
    {"namespaceOverride=other", "Service", "metadata/namespace", "other"},
    {"fullnameOverride=gpus", "Service", "metadata/name", "gpus"},
    {"nameOverride=gpus", "Service", "metadata/labels/app.kubernetes.io~1name", "gpus"},
    {"serviceAccount.annotations.a=b", "ServiceAccount", "metadata/annotations", "{a: b}"},
    {"customMetrics=DCGM_FI_DEV_GPU_TEMP\\, gauge\\, x.", "ConfigMap", "data/metrics",
     "DCGM_FI_DEV_GPU_TEMP, gauge, x.\n"},
    {"hostPID=false", "ConfigMap", "metadata/name", "exporter-metrics-config-map"},
    {"serviceMonitor.enabled=false", "ServiceMonitor", "kind", ""},
    {"serviceMonitor.interval=30s", "ServiceMonitor", "spec/endpoints/0/interval", "30s"},
    {"serviceMonitor.scrapeTimeout=9s", "ServiceMonitor", "spec/endpoints/0/scrapeTimeout", "9s"},
    {"hostPID=false", "ServiceMonitor", "spec/endpoints/0/interval", "15s"},
    {"hostPID=false", "ServiceMonitor", "spec/endpoints/0/scrapeTimeout", "10s"},
    {"compatibility.version=4.8.3", "ServiceMonitor", "spec/endpoints/0/interval", "30s"},
    {"compatibility.version=4.8.3", "ServiceMonitor", "spec/endpoints/0/scrapeTimeout", "25s"},
    {"serviceMonitor.interval=5s", "ServiceMonitor", "spec/endpoints/0/scrapeTimeout", "5s"},
    {"serviceMonitor.honorLabels=true", "ServiceMonitor", "spec/endpoints/0/honorLabels", "true"},
    {"serviceMonitor.additionalLabels.release=p", "ServiceMonitor", "metadata/labels/release", "p"},
    {"hostPID=false", "ServiceMonitor", "spec/endpoints/0/relabelings/0",
     "{sourceLabels: [__meta_kubernetes_pod_node_name], targetLabel: node}"},
    {"serviceMonitor.relabelings[0].action=drop", "ServiceMonitor",
     "spec/endpoints/0/relabelings/1", "{action: drop}"},
    {"serviceMonitor.metricRelabelings[0].action=drop", "ServiceMonitor",
     "spec/endpoints/0/metricRelabelings", "[{action: drop}]"},
    {"tlsServerConfig.enabled=true", "ServiceMonitor", "spec/endpoints/0/scheme", "https"},
    {"hostPID=false", "ServiceMonitor", "spec/attachMetadata", ""},
    {"serviceMonitor.attachMetadata.node=true", "ServiceMonitor", "spec/attachMetadata",
     "{node: true}"},
    {"serviceMonitor.attachMetadata.node=true,serviceMonitor.enabled=false,podMonitor.enabled=true",
     "PodMonitor", "spec/attachMetadata", "{node: true}"},
    {"serviceMonitor.interval=1m30s,serviceMonitor.scrapeTimeout=90s", "ServiceMonitor",
     "spec/endpoints/0/scrapeTimeout", "90s"},
    // A monitor that is not made is not checked.
    {"serviceMonitor.interval=5s,serviceMonitor.enabled=false", "ServiceMonitor", "kind", ""},
    {"createRuntimeClass=true,runtimeClassName=nvidia", "RuntimeClass", "handler", "nvidia"},
    {"networkPolicy.enabled=true", "NetworkPolicy", "spec/ingress",
     "[{ports: [{port: 9400, protocol: TCP}]}]"},
    {"networkPolicy.enabled=true,networkPolicy.ingress.from[0].podSelector.matchLabels.a=b",
     "NetworkPolicy", "spec/ingress/0/from", "[{podSelector: {matchLabels: {a: b}}}]"},
    {"rollingUpdate.maxUnavailable=2", "DaemonSet", "/spec/updateStrategy/rollingUpdate",
     "{maxUnavailable: 2, maxSurge: 0}"},
    {"rollingUpdate.maxSurge=0", "DaemonSet", "/spec/updateStrategy/rollingUpdate/maxUnavailable",
     "10%"},
    {"podLabels.a=b", "DaemonSet", "/spec/template/metadata/labels/a", "b"},
    {"podAnnotations.a=b", "DaemonSet", "/spec/template/metadata/annotations/a", "b"},
    {"daemonSetAnnotations.a=b", "DaemonSet", "/metadata/annotations", "{a: b}"},
    {"config.enabled=true,config.create=false,config.name=mine", "DaemonSet", "volumes/1",
     "{name: config, configMap: {name: mine}}"},
    {"config.enabled=true", "DaemonSet", "containers/0/volumeMounts/1",
     "{name: config, mountPath: /etc/podgpu/config, readOnly: true}"},
    {"config.enabled=true,config.key=a.yaml", "DaemonSet", "containers/0/env/5",
     "{name: DCGM_EXPORTER_CONFIG_FILE, value: /etc/podgpu/config/a.yaml}"},
    {"config.enabled=true,config.mountPath=/etc/dcgm-exporter/config.yaml", "DaemonSet",
     "containers/0/volumeMounts/1",
     "{name: config, mountPath: /etc/dcgm-exporter/config.yaml, subPath: config.yaml, readOnly: "
     "true}"},
    {"config.enabled=true,config.mountPath=/etc/dcgm-exporter/config.yaml", "DaemonSet",
     "containers/0/env/5",
     "{name: DCGM_EXPORTER_CONFIG_FILE, value: /etc/dcgm-exporter/config.yaml}"},
    {"config.enabled=true", "Pod", "spec/containers/0/volumeMounts/0/mountPath",
     "/etc/podgpu/config"},
    {"config.data=no YAML: [", "DaemonSet", "containers/0/volumeMounts/1/name",
     "exporter-metrics-volume"},
    {"hostPID=false", "DaemonSet", "/metadata/annotations", ""},
};

// Paths of a DaemonSet begin at the specification of its pods, and with a slash at its own
// beginning.
std::string WholePath(const Value& row) {
  const std::string path = row.path;
  if (std::string_view(row.kind) != "DaemonSet") {
    return path;
  }
  return path.starts_with('/') ? path.substr(1) : "spec/template/spec/" + path;
}

TEST(DropIn, EachValueArrives) {
  for (const Value& row : kValues) {
    const Rendering rendering({"--set", row.set});
    EXPECT_EQ(rendering.Text(row.kind, WholePath(row)), row.text) << row.set;
  }
}

struct Argument {
  const char* yaml;  // As it stands in a values file.
  const char* argument;
};

// dcgm-exporter's chart prints an argument without quotes, so that YAML reads it a second time.
constexpr Argument kArgumentsOfValues[] = {
    {R"("\"10000\"")", "10000"},
    {R"("'10000'")", "10000"},
    {R"("\"-c=10000\"")", "-c=10000"},
    {"10000", "10000"},
    {R"("10000")", "10000"},
    {"10000000", "10000000"},
    {"0.25", "0.25"},
    {"true", "true"},
    {R"("true")", "true"},
    {R"("0x1F")", "0x1F"},
    {R"("-n # no hostname")", "-n"},
    {R"("\"\"")", ""},
    // No YAML text of one line: as it stands.
    {R"("|")", "|"},
    {R"("> a")", "> a"},
    {R"("")", ""},
    {R"("~")", "~"},
    {R"("*")", "*"},
    {R"("{node}")", "{node}"},
    {R"("[::]:9400")", "[::]:9400"},
    {R"("a: b")", "a: b"},
    {R"("\"open")", "\"open"},
    {R"("a\nb")", "a\nb"},
};

TEST(DropIn, EachArgumentIsReadAsOneYamlScalar) {
  std::string list;
  for (const Argument& row : kArgumentsOfValues) {
    list += std::string(list.empty() ? "" : ", ") + row.yaml;
  }
  const TemporaryFolder folder;
  const std::string values =
      folder.Write("values.yaml", "arguments: [" + list + "]\n" +
                                      "cluster: {enabled: true, arguments: [" + list + "]}\n");
  const Rendering rendering({"-f", values});
  constexpr size_t kOwnArgumentsOfTheClusterRole = 5;
  for (size_t at = 0; at < std::size(kArgumentsOfValues); ++at) {
    const Argument& row = kArgumentsOfValues[at];
    const std::string index = "/" + std::to_string(at);
    const std::string behind_its_own = "/" + std::to_string(at + kOwnArgumentsOfTheClusterRole);
    EXPECT_EQ(rendering.Text("DaemonSet", kArguments + index), row.argument);
    EXPECT_EQ(rendering.Text("Pod", "spec/containers/0/args" + index), row.argument);
    EXPECT_EQ(rendering.Text("Deployment", kArguments + behind_its_own), row.argument);
  }
}

TEST(DropIn, APeriodThatIsQuotedTwiceIsANumber) {
  EXPECT_EQ(Rendering::OfSet("quoted-arguments").Text("DaemonSet", kArguments),
            "[-f, /etc/dcgm-exporter/dcp-metrics-included.csv, -c, 10000]");
}

struct Variable {
  const char* set;
  const char* name;
  const char* value;
};

constexpr Variable kVariables[] = {
    {"hostPID=false", "DCGM_EXPORTER_KUBERNETES", "true"},
    {"service.address=:9500", "DCGM_EXPORTER_LISTEN", ":9500"},
    {"kubernetes.enablePodLabels=true", "DCGM_EXPORTER_KUBERNETES_ENABLE_POD_LABELS", "true"},
    {"kubernetes.enablePodUID=true", "DCGM_EXPORTER_KUBERNETES_ENABLE_POD_UID", "true"},
    {"kubernetes.podLabelAllowlistRegex={^a$,^b$}",
     "DCGM_EXPORTER_KUBERNETES_POD_LABEL_ALLOWLIST_REGEX", "^a$,^b$"},
    {"kubernetesDRA.enabled=true", "KUBERNETES_ENABLE_DRA", "true"},
    {"service.webReadTimeout=5s", "DCGM_EXPORTER_WEB_READ_TIMEOUT", "5s"},
    {"service.webWriteTimeout=1m", "DCGM_EXPORTER_WEB_WRITE_TIMEOUT", "1m"},
    {"compatibility.version=4.8.4", "PODGPU_DCGM_EXPORTER_VERSION", "4.8.4"},
    {"compatibility.version=4.9", "PODGPU_DCGM_EXPORTER_VERSION", "4.9"},
    {"compatibility.bothNames=true", "PODGPU_BOTH_NAMES", "true"},
    {"tlsServerConfig.enabled=true", "DCGM_EXPORTER_WEB_CONFIG_FILE",
     "/etc/podgpu/web/web-config.yaml"},
    {"debugDump.enabled=true", "DCGM_EXPORTER_DUMP_ENABLED", "true"},
    {"debugDump.enabled=true,debugDump.directory=/d", "DCGM_EXPORTER_DUMP_DIRECTORY", "/d"},
    {"debugDump.enabled=true,debugDump.retention=7", "DCGM_EXPORTER_DUMP_RETENTION", "7"},
    {"debugDump.enabled=true,debugDump.compression=false", "DCGM_EXPORTER_DUMP_COMPRESSION",
     "false"},
    {"extraEnv[0].name=A,extraEnv[0].value=b", "A", "b"},
    // A variable of the user replaces the chart's own, and there is one of each name.
    {"extraEnv[0].name=DCGM_EXPORTER_KUBERNETES,extraEnv[0].value=no", "DCGM_EXPORTER_KUBERNETES",
     "no"},
};

TEST(DropIn, EachVariableIsSet) {
  for (const Variable& row : kVariables) {
    EXPECT_EQ(Rendering({"--set", row.set}).Variable(row.name), row.value) << row.set;
  }
}

struct Image {
  const char* repository;
  const char* tag;
  const char* image;
};

// dcgm-exporter's own image is never used, and a copy of podgpu's image may have any other name.
constexpr Image kImages[] = {
    {"nvcr.io/nvidia/k8s/dcgm-exporter", "4.5.3-4.8.2-distroless", "podgpu:0.1.0"},
    {"nvidia/dcgm-exporter", "2.2.9-2.4.1-ubuntu18.04", "podgpu:0.1.0"},
    {"docker.io/nvidia/dcgm-exporter", "latest", "podgpu:0.1.0"},
    {"podgpu", "4.5.3-4.8.2-distroless", "podgpu:0.1.0"},
    {"podgpu", "0.1.0", "podgpu:0.1.0"},
    {"podgpu", "", "podgpu:0.1.0"},
    {"registry.example.com/podgpu", "4.5.3-4.8.2-distroless", "registry.example.com/podgpu:0.1.0"},
    {"registry.example.com/dcgm-exporter", "1.0", "registry.example.com/dcgm-exporter:1.0"},
};

TEST(DropIn, TheImageOfDcgmExporterIsNotUsed) {
  for (const Image& row : kImages) {
    const TemporaryFolder folder;
    const std::string values =
        folder.Write("values.yaml", std::string("image: {repository: \"") + row.repository +
                                        "\", tag: \"" + row.tag + "\"}\n");
    const Rendering rendering({"-f", values});
    const std::string image = rendering.Text("DaemonSet", "spec/template/spec/containers/0/image");
    EXPECT_EQ(image, row.image) << row.repository << ":" << row.tag;
    const bool is_replaced =
        image != std::string(row.repository) + ":" + row.tag && *row.tag != '\0';
    EXPECT_EQ(rendering.Text("DaemonSet", "metadata/annotations/podgpu~1ignored-image") != "",
              is_replaced);
  }
}

TEST(DropIn, ThePasswordIsKeptAsAHashForPodgpuAndInClearForScrapers) {
  const Rendering rendering = Rendering::OfSet("dcgm-exporter-tls");
  const std::string file =
      TextAt(rendering.Object("Secret podgpu-web-config"), "stringData/web-config.yaml");
  EXPECT_NE(file.find("\"prometheus\": \"$2a$"), std::string::npos) << file;
  EXPECT_EQ(file.find("secret"), std::string::npos) << file;
  EXPECT_EQ(TextAt(rendering.Object("Secret podgpu-scrape"), "stringData"),
            "{username: prometheus, password: secret}");
  const std::string nodes =
      TextAt(rendering.Object("Secret podgpu-cluster-nodes"), "stringData/node-web-config.yaml");
  EXPECT_NE(nodes.find("ca_file: /etc/podgpu/tls/ca.crt"), std::string::npos) << nodes;
}

}  // namespace
}  // namespace podgpu
