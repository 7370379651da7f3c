// Values that the chart refuses: Helm ends with 1 and one line that names the key and the remedy.
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/chart/helm.h"

namespace podgpu {
namespace {

struct BadValues {
  const char* name;
  const char* set;   // As --set takes it.
  const char* line;  // The line that Helm must print.
};
void PrintTo(const BadValues& row, std::ostream* out) { *out << row.name; }

constexpr BadValues kBadValues[] = {
    // An unknown key, at the top and below, and a mistake in a name of dcgm-exporter's.
    {"UnknownKey", "colour=red", "- at '': additional properties 'colour' not allowed"},
    {"UnknownKeyBelow", "image.repo=x", "- at '/image': additional properties 'repo' not allowed"},
    {"UnknownKeyOfAMonitor", "serviceMonitor.annotations.a=b",
     "- at '/serviceMonitor': additional properties 'annotations' not allowed"},
    {"UnknownKeyOfNodesOfAMonitor", "serviceMonitor.attachMetadata.pod=true",
     "- at '/serviceMonitor/attachMetadata': additional properties 'pod' not allowed"},
    {"NumberForAManifest", "extraManifests={7}",
     "- at '/extraManifests/0': got number, want string or object"},
    {"UnknownKeyOfASwitch", "processes.hostPID=true",
     "- at '/processes': additional properties 'hostPID' not allowed"},
    // A wrong type.
    {"TextForAMap", "image=podgpu", "- at '/image': got string, want object"},
    {"TextForAPort", "service.port=http", "- at '/service/port': got string, want integer"},
    {"TextForASwitch", "processes.enabled=yes",
     "- at '/processes/enabled': got string, want boolean"},
    {"TextForAList", "arguments=-n", "- at '/arguments': got string, want array"},
    {"NumberForALabel", "podLabels.team=7", "- at '/podLabels/team': got number, want string"},
    {"ListForAffinity", "affinity[0]=x", "- at '/affinity': got array, want object"},
    {"VariableWithoutName", "extraEnv[0].value=x", "- at '/extraEnv/0': missing property 'name'"},
    {"TextForRules", "prometheusRule=on", "- at '/prometheusRule': got string, want object"},
    {"TextForTheSwitchOfRules", "prometheusRule.enabled=yes",
     "- at '/prometheusRule/enabled': got string, want boolean"},
    {"NumberForALabelOfRules", "prometheusRule.additionalLabels.team=7",
     "- at '/prometheusRule/additionalLabels/team': got number, want string"},
    {"UnknownKeyOfRules", "prometheusRule.rules.a=b",
     "- at '/prometheusRule': additional properties 'rules' not allowed"},
    {"UnknownKeyOfAnAlert", "prometheusRule.alerts.PodGPUHot.limit=3",
     "- at '/prometheusRule/alerts/PodGPUHot': additional properties 'limit' not allowed"},
    {"TextForTheSwitchOfDashboards", "dashboards.enabled=yes",
     "- at '/dashboards/enabled': got string, want boolean"},
    {"NumberForTheLabelOfDashboards", "dashboards.labelValue=1",
     "- at '/dashboards/labelValue': got number, want string"},
    {"UnknownKeyOfDashboards", "dashboards.labels.a=b",
     "- at '/dashboards': additional properties 'labels' not allowed"},
    {"UnknownKeyOfTheMetricsApi", "metricsApi.labels={a}",
     "- at '/metricsApi': additional properties 'labels' not allowed"},
    {"TextForTheSwitchOfAnApi", "metricsApi.external=keda",
     "- at '/metricsApi/external': got string, want boolean"},
    // A value out of its range.
    {"WindowWithoutUnit", "metricsApi.window=60x",
     "- at '/metricsApi/window': '60x' does not match pattern '^([0-9]+(ms|[smh]))+$'"},
    {"LabelWithAComma", "metricsApi.nodeLabels={a\\,b}",
     "- at '/metricsApi/nodeLabels/0': 'a,b' does not match pattern '^[A-Za-z0-9./_-]+$'"},
    {"PortOfRoot", "metricsApi.port=443", "- at '/metricsApi/port': minimum: got 443, want 1,024"},
    {"NoSuchIssuer", "metricsApi.certificate.certManager.issuerKind=Vault",
     "- at '/metricsApi/certificate/certManager/issuerKind': value must be one of 'Issuer', "
     "'ClusterIssuer'"},
    {"NoSuchNamesOfRules", "prometheusRule.names=all",
     "- at '/prometheusRule/names': value must be one of 'native', 'dcgm', 'both'"},
    {"IntervalWithoutUnit", "prometheusRule.interval=often",
     "- at '/prometheusRule/interval': 'often' does not match pattern '^([0-9]+(ms|[smhd]))*$'"},
    {"NoSuchNamesOfDashboards", "dashboards.names=dcgm-exporter",
     "- at '/dashboards/names': value must be one of 'native', 'dcgm', 'both'"},
    {"DashboardsWithoutLabel",
     "dashboards.label=", "- at '/dashboards/label': minLength: got 0, want 1"},
    {"PortTooLarge", "service.port=70000",
     "- at '/service/port': maximum: got 70,000, want 65,535"},
    {"NoSuchServiceType", "service.type=External",
     "- at '/service/type': value must be one of 'ClusterIP', 'NodePort', 'LoadBalancer'"},
    {"NoSuchSource", "source=rocm", "- at '/source': value must be one of 'auto', 'dcgm', 'nvml'"},
    {"NoSuchDiscovery", "cluster.discovery=file",
     "- at '/cluster/discovery': value must be one of 'endpoints', 'pods', 'dns'"},
    {"DigestWithoutAlgorithm", "image.digest=0123",
     "- at '/image/digest': '0123' does not match pattern '^(sha256:[0-9a-f]{64})?$'"},
    // Values that exclude each other, or lack another, also when a flag or a variable sets one of
    // them.
    {"VirtualGpusWithDra", "kubernetes.virtualGPUs=true,kubernetesDRA.enabled=true",
     "podgpu: kubernetes.virtualGPUs and kubernetesDRA.enabled exclude each other: a share of a "
     "GPU has no claim. "
     "Set one of them to false"},
    {"VirtualGpusOfAFlagWithDra",
     "arguments={--kubernetes-virtual-gpus},kubernetesDRA.enabled=true",
     "podgpu: kubernetes.virtualGPUs and kubernetesDRA.enabled exclude each other: a share of a "
     "GPU has no claim. "
     "Set one of them to false"},
    {"HostEngineWithNvml", "hostEngine.address=node:5555,source=nvml",
     "podgpu: source is nvml, but hostEngine.address, gpuOperator.hostEngine or -r names a DCGM "
     "host engine "
     "(node:5555). Set source to auto, or name no engine"},
    {"HostEngineOfAFlagWithNvml", "arguments={-r,node:5555,--source=nvml}",
     "podgpu: source is nvml, but hostEngine.address, gpuOperator.hostEngine or -r names a DCGM "
     "host engine "
     "(node:5555). Set source to auto, or name no engine"},
    {"HostEngineWithoutLibdcgm", "hostEngine.address=node:5555",
     "podgpu: hostEngine.address, gpuOperator.hostEngine or -r names a DCGM host engine "
     "(node:5555), but the image podgpu:0.1.0 has no libdcgm. Set dcgm.library.image to an image "
     "that has DCGM, or image.repository to your podgpu-dcgm"},
    {"HostEngineOfAVariableWithoutLibdcgm",
     "extraEnv[0].name=DCGM_REMOTE_HOSTENGINE_INFO,extraEnv[0].value=node:5555",
     "podgpu: hostEngine.address, gpuOperator.hostEngine or -r names a DCGM host engine "
     "(node:5555), but the image podgpu:0.1.0 has no libdcgm. Set dcgm.library.image to an image "
     "that has DCGM, or image.repository to your podgpu-dcgm"},
    {"OperatorsEngineWithoutLibdcgm", "gpuOperator.enabled=true,gpuOperator.hostEngine=true",
     "podgpu: hostEngine.address, gpuOperator.hostEngine or -r names a DCGM host engine "
     "(nvidia-dcgm.gpu-operator.svc:5555), but the image podgpu:0.1.0 has no libdcgm. Set "
     "dcgm.library.image to an image that has DCGM, or image.repository to your podgpu-dcgm"},
    {"FleetPageWithoutCluster", "fleetPage.enabled=true",
     "podgpu: fleetPage.enabled needs the cluster role, which serves that page. Set "
     "cluster.enabled to true"},
    {"FleetPageWithoutHost", "fleetPage.enabled=true,cluster.enabled=true",
     "podgpu: fleetPage.host is empty, but an Ingress needs it. Set fleetPage.host to the host "
     "name of the page"},
    {"BudgetWithoutCluster", "cluster.podDisruptionBudget.enabled=true",
     "podgpu: cluster.podDisruptionBudget.enabled needs the cluster role. Set cluster.enabled to "
     "true"},
    {"MetricsApiWithoutCluster", "metricsApi.enabled=true",
     "podgpu: metricsApi.enabled needs the cluster role, which serves the metrics. Set "
     "cluster.enabled to true"},
    {"MetricsApiWithoutAnApi",
     "cluster.enabled=true,metricsApi.enabled=true,metricsApi.external=false,metricsApi.custom="
     "false",
     "podgpu: metricsApi.external and metricsApi.custom are both false, so metricsApi.enabled "
     "serves nothing. Set one of them to true"},
    {"CertManagerWithoutIssuer",
     "cluster.enabled=true,metricsApi.enabled=true,metricsApi.certificate.certManager.enabled=true",
     "podgpu: metricsApi.certificate.certManager.issuerName is empty. Name the Issuer or "
     "ClusterIssuer that signs the certificate"},
    {"CertificateWithoutAuthority",
     "cluster.enabled=true,metricsApi.enabled=true,metricsApi.certificate.secretName=tls",
     "podgpu: metricsApi.certificate.ca is empty, so the API server could not verify the "
     "certificate of metricsApi.certificate.secretName. Give its authority in PEM form, or leave "
     "secretName empty"},
    {"AccountingWithoutProcesses", "accounting.enabled=true",
     "podgpu: accounting.enabled counts short processes, which only processes.enabled shows. Set "
     "processes.enabled to "
     "true"},
    {"PortOfAPageThatIsOff", "requestedVsUsed.hostPort=true",
     "podgpu: requestedVsUsed.hostPort opens the port of a page that is off. Set "
     "requestedVsUsed.enabled to true"},
    {"TwoMonitors", "podMonitor.enabled=true",
     "podgpu: podMonitor.enabled and serviceMonitor.enabled would read each page twice. Set "
     "serviceMonitor.enabled to "
     "false"},
    // Keys that dcgm-exporter's chart ignores.
    {"NamespaceOfAMonitor", "serviceMonitor.namespace=monitoring",
     "podgpu: serviceMonitor.namespace has no effect: the monitor stands beside the Service that "
     "it selects. Remove it; namespaceOverride moves all objects"},
    {"LabelsOfAMonitor", "serviceMonitor.labels.release=prometheus",
     "podgpu: serviceMonitor.labels has no effect, as in dcgm-exporter's chart. Use "
     "serviceMonitor.additionalLabels"},
    {"TimeoutAboveTheInterval", "serviceMonitor.interval=1m,serviceMonitor.scrapeTimeout=1m1ms",
     "podgpu: serviceMonitor.interval is 1m, but serviceMonitor.scrapeTimeout is 1m1ms: Prometheus "
     "refuses a timeout above the interval. Lower scrapeTimeout to 1m or less, or raise the "
     "interval"},
    {"TimeoutAboveTheIntervalOfAPodMonitor",
     "podMonitor.enabled=true,serviceMonitor.enabled=false,serviceMonitor.interval=5s,"
     "serviceMonitor.scrapeTimeout=10s",
     "podgpu: serviceMonitor.interval is 5s, but serviceMonitor.scrapeTimeout is 10s: Prometheus "
     "refuses a timeout above the interval. Lower scrapeTimeout to 5s or less, or raise the "
     "interval"},
    {"TimeoutAboveTheIntervalOfTheClusterRole",
     "cluster.enabled=true,cluster.serviceMonitor.interval=5s",
     "podgpu: cluster.serviceMonitor.interval is 5s, but cluster.serviceMonitor.scrapeTimeout is "
     "10s: Prometheus refuses a timeout above the interval. Lower scrapeTimeout to 5s or less, "
     "or raise the interval"},
    {"ConfigurationWithoutAName", "config.enabled=true,config.create=false",
     "podgpu: config.name must be set when config.create is false. Name the ConfigMap that has "
     "the file"},
    {"ConfigurationWithoutAVersion", "config.enabled=true,config.data=metrics: {}",
     "podgpu: config.data has neither version: 1 nor version: 2. Add the version of the file"},
    {"ConfigurationThatIsNoYaml", "config.enabled=true,config.data=a: ]",
     "podgpu: config.data is no YAML: error converting YAML to JSON: yaml: did not find expected "
     "node content. Correct it"},
    {"TwoPlatforms", "gke.enabled=true,talos.enabled=true",
     "podgpu: gke.enabled and talos.enabled exclude each other: a cluster is of one kind. Leave "
     "one of them true"},
    {"BottlerocketElsewhere", "talos.enabled=true,bottlerocket.enabled=true",
     "podgpu: talos.enabled and bottlerocket.enabled exclude each other: a cluster is of one kind. "
     "Leave one of them true"},
    {"RouteWithoutOpenShift", "openshift.route.enabled=true",
     "podgpu: openshift.route.enabled needs OpenShift, which has the kind Route. Set "
     "openshift.enabled to true"},
    {"RouteWithoutService",
     "openshift.enabled=true,openshift.route.enabled=true,service.enable=false",
     "podgpu: openshift.route.enabled leads to the Service, but service.enable is false. Set "
     "service.enable to true"},
    {"OperatorsEngineWithoutOperator", "gpuOperator.hostEngine=true,image.repository=podgpu-dcgm",
     "podgpu: gpuOperator.hostEngine needs the GPU Operator. Set gpuOperator.enabled to true, or "
     "use hostEngine.address"},
    {"TwoEngines",
     "gpuOperator.enabled=true,gpuOperator.hostEngine=true,hostEngine.address=a:1,"
     "image.repository=podgpu-dcgm",
     "podgpu: gpuOperator.hostEngine and hostEngine.address name two engines. Set one of them"},
    {"AddressWithoutPort", "service.address=unix:/run/podgpu.sock",
     "podgpu: service.address is \"unix:/run/podgpu.sock\", which has no port for the Service and "
     "the probes. Use a "
     "form such as :9400"},
    {"NoPodMayBeReplaced", "rollingUpdate.maxUnavailable=0",
     "podgpu: rollingUpdate.maxUnavailable and rollingUpdate.maxSurge are both 0, so no pod could "
     "be replaced. Set one "
     "of them to 1"},
    {"LabelOfTheSelector", "podLabels.app\\.kubernetes\\.io/name=x",
     "podgpu: podLabels changes app.kubernetes.io/name, by which the DaemonSet finds its pods. "
     "Remove it from "
     "podLabels"},
    {"UnknownAlert",
     "serviceMonitor.force=true,prometheusRule.enabled=true,"
     "prometheusRule.alerts.PodGPUHott.for=1m",
     "podgpu: prometheusRule.alerts has PodGPUHott, which is no alert with "
     "prometheusRule.names=native. docs/operations.md lists the alerts"},
    {"ThresholdWithoutEffect",
     "serviceMonitor.force=true,prometheusRule.enabled=true,"
     "prometheusRule.alerts.PodGPUNotReady.threshold=1",
     "podgpu: prometheusRule.alerts.PodGPUNotReady.threshold has no effect: this alert has none. "
     "Remove it"},
    {"RuntimeClassWithoutName", "createRuntimeClass=true",
     "podgpu: createRuntimeClass needs a name. Set runtimeClassName, for instance to nvidia"},
    {"CertificateMissing", "tlsServerConfig.enabled=true,tlsServerConfig.autoGenerated=false",
     "podgpu: tlsServerConfig.cert is empty. Give it in PEM form, or an existingSecret, or set "
     "autoGenerated to true"},
    {"NameOfAKeyMissing", "tlsServerConfig.enabled=true,tlsServerConfig.keyFilename=",
     "podgpu: tlsServerConfig.keyFilename is empty. Name that key of the Secret, such as tls.key"},
};

class BadValuesTest : public ::testing::TestWithParam<BadValues> {};

TEST_P(BadValuesTest, IsRefusedInOneLine) {
  const BadValues& row = GetParam();
  const HelmResult result = RunHelm({"template", "podgpu", ChartFolder(), "--set", row.set});
  EXPECT_EQ(result.exit_code, 1);
  const size_t at = result.output.find(row.line);
  ASSERT_NE(at, std::string::npos) << result.output;
  EXPECT_EQ(result.output.substr(at, result.output.find('\n', at) - at), row.line);
}

INSTANTIATE_TEST_SUITE_P(All, BadValuesTest, ::testing::ValuesIn(kBadValues),
                         [](const auto& row) { return std::string(row.param.name); });

}  // namespace
}  // namespace podgpu
