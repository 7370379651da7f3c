// What each platform's switch adds, and what each capability's switch may do: rights, capabilities,
// host namespaces.
#include <algorithm>
#include <filesystem>
#include <iterator>
#include <re2/re2.h>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/text.h"
#include "tests/chart/helm.h"
#include "tests/e2e/child.h"

namespace podgpu {
namespace {

constexpr char kContext[] = "spec/template/spec/containers/0/securityContext";

// The objects that a rendering has more than the default one.
std::vector<std::string> Added(const Rendering& rendering) {
  static const std::vector<std::string> base = Rendering().Names();
  const std::vector<std::string> names = rendering.Names();
  std::vector<std::string> added;
  std::ranges::set_difference(names, base, std::back_inserter(added));
  return added;
}

struct Switch {
  const char* name;
  const char* set;
  std::vector<std::string> added;  // Objects.
  const char* rules = "";          // Of the nodes' ClusterRole.
  const char* token = "false";
  const char* host_pid = "";
  const char* capabilities = "{drop: [ALL]}";
};
void PrintTo(const Switch& row, std::ostream* out) { *out << row.name; }

constexpr char kPods[] = "[{apiGroups: [\"\"], resources: [pods], verbs: [list, watch]}]";
constexpr char kSlices[] =
    "[{apiGroups: [resource.k8s.io], resources: [resourceslices], verbs: [list, watch]}]";
constexpr char kKubelet[] = "[{apiGroups: [\"\"], resources: [nodes/pods], verbs: [get]}]";

const std::vector<std::string> kRole = {"ClusterRole podgpu-node",
                                        "ClusterRoleBinding podgpu-node"};

std::vector<Switch> Switches() {
  return {
      {"Nothing", "nameOverride=", {}},
      {"PodLabels", "kubernetes.enablePodLabels=true", kRole, kPods, "true"},
      {"PodUids", "kubernetes.enablePodUID=true", kRole, kPods, "true"},
      {"PodLabelsByAFlag", "arguments={--kubernetes-enable-pod-labels}", kRole, kPods, "true"},
      {"PodLabelsByAQuotedFlag", "arguments={\"--kubernetes-enable-pod-labels\"}", kRole, kPods,
       "true"},
      {"Claims", "kubernetesDRA.enabled=true", kRole, kSlices, "true"},
      {"ClaimsByAFlag", "arguments={--kubernetes-enable-dra=true}", kRole, kSlices, "true"},
      {"VirtualGpus", "kubernetes.virtualGPUs=true", {}},
      {"Processes", "processes.enabled=true", kRole, kPods, "true", "true"},
      {"ProcessesByAFlag", "arguments={--process-metrics=on}", kRole, kPods, "true", "true"},
      {"ProcessesWithoutHostPid", "processes.enabled=true,processes.mountProc=true", kRole, kPods,
       "true"},
      {"ProcessesOfTheKubelet", "processes.enabled=true,kubeletPods.enabled=true", kRole, kKubelet,
       "true", "true"},
      {"KubeletPodsAlone", "kubeletPods.enabled=true", {}},
      {"RequestedVsUsed",
       "requestedVsUsed.enabled=true",
       {"ClusterRole podgpu-node", "ClusterRoleBinding podgpu-node", "Service podgpu-nodes"},
       kPods,
       "true",
       "true"},
      {"ManualRights",
       "kubernetes.enablePodLabels=true,kubernetes.rbac.create=false",
       {},
       "",
       "true"},
      {"WithoutToken",
       "kubernetes.enablePodLabels=true,serviceAccount.automountServiceAccountToken=false", kRole,
       kPods, "false"},
      {"Profiling",
       "profiling.enabled=true",
       {},
       "",
       "false",
       "",
       "{add: [SYS_ADMIN], drop: [ALL]}"},
      {"Bottlerocket",
       "bottlerocket.enabled=true",
       {},
       "",
       "false",
       "",
       "{add: [SYS_ADMIN], drop: [ALL]}"},
      {"BottlerocketOnEks",
       "bottlerocket.enabled=true,eks.enabled=true,profiling.enabled=true",
       {},
       "",
       "false",
       "",
       "{add: [SYS_ADMIN], drop: [ALL]}"},
      {"HostPid", "hostPID=true", {}, "", "false", "true"},
      {"ConfigMap",
       "arguments={-m,other:counters}",
       {"Role podgpu-counters", "RoleBinding podgpu-counters"},
       "",
       "true"},
      {"ConfigMapNone", "arguments={-m=none}", {}},
      {"Rules", "prometheusRule.enabled=true", {"PrometheusRule podgpu"}},
      {"Dashboards",
       "dashboards.enabled=true",
       {"ConfigMap podgpu-dashboard-cost", "ConfigMap podgpu-dashboard-exporter",
        "ConfigMap podgpu-dashboard-fleet", "ConfigMap podgpu-dashboard-health",
        "ConfigMap podgpu-dashboard-idle", "ConfigMap podgpu-dashboard-node",
        "ConfigMap podgpu-dashboard-shared"}},
  };
}

class SwitchTest : public ::testing::TestWithParam<Switch> {};

TEST_P(SwitchTest, AddsWhatItNeedsAndNothingElse) {
  const Switch& row = GetParam();
  const Rendering rendering({"--set", row.set});
  EXPECT_EQ(Added(rendering), row.added);
  EXPECT_EQ(TextAt(rendering.Object("ClusterRole podgpu-node"), "rules"), row.rules);
  EXPECT_EQ(rendering.Text("DaemonSet", "spec/template/spec/automountServiceAccountToken"),
            row.token);
  EXPECT_EQ(rendering.Text("DaemonSet", "spec/template/spec/hostPID"), row.host_pid);
  EXPECT_EQ(rendering.Text("DaemonSet", std::string(kContext) + "/capabilities"), row.capabilities);
}

INSTANTIATE_TEST_SUITE_P(All, SwitchTest, ::testing::ValuesIn(Switches()),
                         [](const auto& row) { return std::string(row.param.name); });

TEST(Rights, TheConfigMapOfAFlagIsTheOnlyOneThatPodgpuMayRead) {
  const Rendering rendering({"--set", "arguments={-m,other:counters}"});
  const YAML::Node role = rendering.Object("Role podgpu-counters");
  EXPECT_EQ(TextAt(role, "metadata/namespace"), "other");
  EXPECT_EQ(TextAt(role, "rules"),
            "[{apiGroups: [\"\"], resources: [configmaps], resourceNames: [counters], verbs: [get, "
            "watch]}]");
  EXPECT_EQ(TextAt(rendering.Object("RoleBinding podgpu-counters"), "subjects/0/namespace"), "gpu");
}

TEST(Rights, TheClusterRoleReadsEndpointsOrPodsOrNothing) {
  const auto rules = [](const std::string& discovery) {
    const Rendering rendering({"--set", "cluster.enabled=true,cluster.discovery=" + discovery});
    return TextAt(rendering.Object("Role podgpu-cluster"), "rules");
  };
  EXPECT_EQ(rules("endpoints"),
            "[{apiGroups: [discovery.k8s.io], resources: [endpointslices], verbs: [list, watch]}]");
  EXPECT_EQ(rules("pods"), kPods);
  EXPECT_EQ(rules("dns"), "");
}

// Without service accounts of the chart, the cluster role uses the one that the user names.
TEST(Rights, TheClusterRoleHasItsOwnServiceAccount) {
  const auto account = [](const std::string& set) {
    const Rendering rendering({"--set", "cluster.enabled=true," + set});
    const std::string bound =
        TextAt(rendering.Object("RoleBinding podgpu-cluster"), "subjects/0/name");
    EXPECT_EQ(rendering.Text("Deployment", "spec/template/spec/serviceAccountName"), bound);
    return bound;
  };
  EXPECT_EQ(account("serviceAccount.create=true"), "podgpu-cluster");
  EXPECT_EQ(account("serviceAccount.create=false,serviceAccount.name=mine"), "mine");
}

TEST(Rights, AccountingIsSwitchedOnByRootInAnInitContainer) {
  const Rendering rendering(
      {"--set", "processes.enabled=true,accounting.enabled=true,securityContext.runAsUser=1000"});
  constexpr char kInit[] = "spec/template/spec/initContainers/0";
  EXPECT_EQ(rendering.Text("DaemonSet", std::string(kInit) + "/args"),
            "[doctor, --enable-accounting]");
  EXPECT_EQ(rendering.Text("DaemonSet", std::string(kInit) + "/securityContext/runAsUser"), "0");
  EXPECT_EQ(rendering.Text("DaemonSet", std::string(kInit) + "/securityContext/capabilities"),
            "{add: [SYS_ADMIN], drop: [ALL]}");
  EXPECT_EQ(rendering.Text("DaemonSet", std::string(kContext) + "/runAsUser"), "1000");
  EXPECT_EQ(rendering.Text("DaemonSet", std::string(kContext) + "/capabilities"), "{drop: [ALL]}");
}

// Kubernetes refuses allowPrivilegeEscalation: false in a privileged container.
TEST(Rights, APrivilegedContainerIsValid) {
  const Rendering rendering({"--set", "securityContext.privileged=true"});
  EXPECT_EQ(rendering.Text("DaemonSet", std::string(kContext) + "/privileged"), "true");
  EXPECT_EQ(rendering.Text("DaemonSet", std::string(kContext) + "/allowPrivilegeEscalation"), "");
}

TEST(Platform, OpenShiftAllowsWhatTheFeaturesNeed) {
  const auto scc = [](const std::string& set) {
    const Rendering rendering({"--set", "openshift.enabled=true," + set});
    std::string text;
    for (const char* key : {"allowHostPID", "allowHostNetwork", "allowPrivilegedContainer",
                            "allowedCapabilities", "requiredDropCapabilities"}) {
      text += rendering.Text("SecurityContextConstraints", key) + " ";
    }
    return text;
  };
  EXPECT_EQ(scc("hostPID=false"), "false false false [] [ALL] ");
  EXPECT_EQ(scc("processes.enabled=true"), "true false false [] [ALL] ");
  EXPECT_EQ(scc("hostNetwork=true"), "false true false [] [ALL] ");
  EXPECT_EQ(scc("profiling.enabled=true"), "false false false [SYS_ADMIN] [] ");
  EXPECT_EQ(scc("securityContext.privileged=true"), "false false true [] [ALL] ");
}

// gpu-manager's users read IP:5678, the address of the node.
TEST(Platform, ThePageOfRequestsIsAtThePortOfTheNodeIfItIsAskedFor) {
  const auto port = [](const std::string& set) {
    const Rendering rendering(
        {"--set", "openshift.enabled=true,requestedVsUsed.enabled=true" + set});
    return rendering.Text("DaemonSet", "spec/template/spec/containers/0/ports/1") + " " +
           rendering.Text("SecurityContextConstraints", "allowHostPorts");
  };
  EXPECT_EQ(port(""), "{name: query, containerPort: 5678, protocol: TCP} false");
  EXPECT_EQ(port(",requestedVsUsed.hostPort=true"),
            "{name: query, containerPort: 5678, hostPort: 5678, protocol: TCP} true");
}

TEST(Platform, OpenShiftLetsOnlyPodgpuUseItsConstraints) {
  const Rendering rendering({"--set", "openshift.enabled=true,cluster.enabled=true"});
  EXPECT_EQ(TextAt(rendering.Object("Role podgpu-scc"), "rules/0/resourceNames"), "[podgpu]");
  EXPECT_EQ(TextAt(rendering.Object("RoleBinding podgpu-scc"), "subjects"),
            "[{kind: ServiceAccount, name: podgpu, namespace: gpu}]");
  const YAML::Node pod = rendering.Object("DaemonSet podgpu")["spec"]["template"];
  EXPECT_EQ(TextAt(pod, "metadata/annotations/openshift.io~1required-scc"), "podgpu");
  EXPECT_EQ(TextAt(pod, "spec/containers/0/securityContext/seLinuxOptions/type"), "spc_t");
  // OpenShift chooses the user of the cluster role from the namespace's range.
  EXPECT_EQ(rendering.Text("Deployment", "spec/template/spec/securityContext/runAsUser"), "");
}

TEST(Platform, GkeHasTheDriverAndTheQuota) {
  const Rendering rendering = Rendering::OfSet("gke");
  EXPECT_EQ(rendering.Text("ResourceQuota", "spec/scopeSelector/matchExpressions/0/values"),
            "[system-node-critical]");
  EXPECT_EQ(rendering.Text("DaemonSet", std::string(kContext) + "/privileged"), "true");
  const std::string affinity = rendering.Text("DaemonSet", "spec/template/spec/affinity");
  EXPECT_NE(affinity.find("cloud.google.com/gke-accelerator"), std::string::npos) << affinity;
  for (const char* container : {"initContainers", "containers"}) {
    const std::string mounts = rendering.Text(
        "DaemonSet", std::string("spec/template/spec/") + container + "/0/volumeMounts");
    EXPECT_NE(mounts.find("mountPath: /usr/local/nvidia, readOnly: true"), std::string::npos)
        << mounts;
  }
}

TEST(Platform, GpuOperatorGivesTheEngineAndTheRuntime) {
  const Rendering rendering = Rendering::OfSet("gpu-operator");
  EXPECT_EQ(rendering.Variable("DCGM_REMOTE_HOSTENGINE_INFO"), "nvidia-dcgm.gpu-operator.svc:5555");
  EXPECT_EQ(rendering.Text("DaemonSet", "spec/template/spec/runtimeClassName"), "nvidia");
  EXPECT_EQ(rendering.Variable("LD_LIBRARY_PATH"), "/opt/dcgm");
  EXPECT_EQ(rendering.Text("DaemonSet", "spec/template/spec/initContainers/0/image"),
            "registry.example.com/dcgm:4");
}

// The script of the init container, with folders of this test in place of the container's.
Child CopyDcgm(const std::string& image, const std::string& pod) {
  std::string script = Rendering::OfSet("gpu-operator")
                           .Text("DaemonSet", "spec/template/spec/initContainers/0/command/2");
  RE2::Replace(&script, "for folder in [^;]*;", "for folder in " + image + ";");
  RE2::GlobalReplace(&script, "/opt/dcgm", pod);
  return Child({"/bin/sh", "-c", script});
}

TEST(Platform, TheInitContainerCopiesDcgmAndTheLibraryThatItNeeds) {
  const TemporaryFolder image, pod;
  for (const char* name : {"libdcgm.so.4.6.0", "libdcgmmodulehealth.so.4", "libstdc++.so.6",
                           "libnvperf_dcgm_host.so", "libc.so.6", "libssl.so.3"}) {
    image.Write(name, name);
  }
  std::filesystem::create_symlink("libdcgm.so.4.6.0", image.path() + "/libdcgm.so.4");
  for (int start = 1; start <= 2; ++start) {  // An init container may run again.
    Child copied = CopyDcgm(image.path(), pod.path());
    EXPECT_EQ(copied.Wait(), 0) << copied.output();
  }
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(pod.path())) {
    names.push_back(entry.path().filename());
  }
  std::ranges::sort(names);
  EXPECT_EQ(Listed(names),
            "libdcgm.so.4, libdcgm.so.4.6.0, libdcgmmodulehealth.so.4, libnvperf_dcgm_host.so, "
            "libstdc++.so.6");
}

TEST(Platform, TheInitContainerSaysThatItsImageHasNoDcgm) {
  const TemporaryFolder image, pod;
  Child refused = CopyDcgm(image.path(), pod.path());
  EXPECT_EQ(refused.Wait(), 1);
  EXPECT_EQ(refused.output(),
            "the image of dcgm.library.image has no libdcgm.so.4 or libdcgm.so.3; set one that has "
            "DCGM\n");
}

// The labels by which a platform's switch selects GPU nodes. A node needs one of them.
std::vector<std::string> LabelsOfGpuNodes(const std::string& set) {
  const Rendering rendering({"--set", set});
  const YAML::Node pod = rendering.Object("DaemonSet podgpu")["spec"]["template"]["spec"];
  std::vector<std::string> labels;
  if (!pod["affinity"].IsDefined()) {
    return labels;
  }
  for (const auto& term :
       pod["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
          ["nodeSelectorTerms"]) {
    EXPECT_EQ(term["matchExpressions"].size(), 1U);
    const YAML::Node expression = term["matchExpressions"][0];
    const std::string values = TextAt(expression, "values");
    labels.push_back(TextAt(expression, "key") + (values.empty() ? "" : "=" + values));
  }
  return labels;
}

using Labels = std::vector<std::string>;

TEST(Platform, EksHasLabelsOfItsOwnAndOfKarpenter) {
  const Labels expected = {
      "eks.amazonaws.com/instance-gpu-manufacturer=[nvidia]", "k8s.amazonaws.com/accelerator",
      "karpenter.k8s.aws/instance-gpu-manufacturer=[nvidia]", "nvidia.com/gpu.present=[true]"};
  EXPECT_EQ(LabelsOfGpuNodes("eks.enabled=true"), expected);
  EXPECT_EQ(LabelsOfGpuNodes("eks.enabled=true,bottlerocket.enabled=true"), expected);
}

TEST(Platform, TalosHasTheLabelsOfItsExtensions) {
  EXPECT_EQ(LabelsOfGpuNodes("talos.enabled=true"),
            (Labels{"extensions.talos.dev/nvidia-container-toolkit",
                    "extensions.talos.dev/nvidia-container-toolkit-lts",
                    "extensions.talos.dev/nvidia-container-toolkit-production",
                    "nvidia.com/gpu.present=[true]"}));
}

TEST(Platform, OthersHaveOneLabelOrNone) {
  EXPECT_EQ(LabelsOfGpuNodes("gke.enabled=true,gpuOperator.enabled=true"),
            Labels{"cloud.google.com/gke-accelerator"});
  EXPECT_EQ(LabelsOfGpuNodes("gpuOperator.enabled=true"), Labels{"nvidia.com/gpu.present=[true]"});
  EXPECT_EQ(LabelsOfGpuNodes("bottlerocket.enabled=true"), Labels{});
}

TEST(Platform, TheUsersAffinityAndRuntimeClassWin) {
  const Rendering rendering(
      {"--set",
       "gke.enabled=true,gpuOperator.enabled=true,runtimeClassName=mine,affinity.podAffinity."
       "x=y"});
  EXPECT_EQ(rendering.Text("DaemonSet", "spec/template/spec/affinity"), "{podAffinity: {x: y}}");
  EXPECT_EQ(rendering.Text("DaemonSet", "spec/template/spec/runtimeClassName"), "mine");
}

TEST(Platform, EachToleratesTheTaintOfGpus) {
  for (const char* platform : {"openshift", "gke", "eks", "gpuOperator", "talos", "bottlerocket"}) {
    const Rendering rendering({"--set", std::string(platform) + ".enabled=true"});
    EXPECT_EQ(rendering.Text("DaemonSet", "spec/template/spec/tolerations/1"),
              "{key: nvidia.com/gpu, operator: Exists}")
        << platform;
  }
}

}  // namespace
}  // namespace podgpu
