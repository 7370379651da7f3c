#include "cli/flag_groups.h"

#include <algorithm>

#include "base/status.h"
#include "cli/flag_table.h"

namespace podgpu {
namespace {

constexpr std::string_view kPage[] = {"collect-interval",
                                      "stale-after",
                                      "metrics-views",
                                      "series-budget",
                                      "xid-count-window-size",
                                      "clock-events-count-window-size",
                                      "hpc-job-mapping-dir",
                                      "hostname-label",
                                      "no-hostname",
                                      "use-old-namespace",
                                      "replace-blanks-in-model-name",
                                      "textfile-device",
                                      "textfile-pod",
                                      "textfile-interval"};
constexpr std::string_view kFields[] = {"collectors", "metrics-include", "metrics-exclude",
                                        "configmap-data"};
constexpr std::string_view kDevices[] = {"devices", "switch-devices", "cpu-devices"};
constexpr std::string_view kKubernetes[] = {"kubernetes",
                                            "pod-resources-kubelet-socket",
                                            "nvidia-resource-names",
                                            "ignore-pods",
                                            "kubernetes-enable-pod-uid",
                                            "kubernetes-enable-pod-labels",
                                            "kubernetes-pod-label-allowlist-regex",
                                            "kubernetes-virtual-gpus",
                                            "kubernetes-enable-dra",
                                            "service-account-dir",
                                            "kubelet-pods-url",
                                            "kubelet-pods-insecure-skip-tls-verify"};
constexpr std::string_view kProcesses[] = {
    "process-metrics",  "process-interval",  "process-scope",         "metric-prefix",
    "metric-retention", "enable-accounting", "gpu-idle-power",        "idle-energy",
    "proc-root",        "requested-vs-used", "volcano-memory-factor", "query-addr",
    "query-port"};
constexpr std::string_view kSource[] = {"source", "remote-hostengine-info", "libdcgm",
                                        "libnvidia-ml", "sysfs-root"};
constexpr std::string_view kWeb[] = {
    "address",           "metrics-path",       "web-config-file", "web-systemd-socket",
    "web-allowed-hosts", "web-enable-control", "api-namespaces"};
constexpr std::string_view kCompatibility[] = {"kubernetes-gpu-id-type",
                                               "process-scan-interval",
                                               "process-energy",
                                               "enable-energy-estimation",
                                               "disable-startup-validate",
                                               "enable-gpu-bind-unbind-watch",
                                               "gpu-bind-unbind-poll-interval",
                                               "fake-gpus",
                                               "enable-pprof"};
constexpr std::string_view kLogs[] = {"log-level",       "log-format",     "debug",
                                      "enable-dcgm-log", "dcgm-log-level", "dump-enabled",
                                      "dump-directory",  "dump-retention", "dump-compression"};
constexpr std::string_view kProgram[] = {"validate", "help", "version"};

constexpr FlagGroup kGroups[] = {
    {"page", "Page", "how often devices are read, views and labels of a page", kPage},
    {"fields", "Fields", "which DCGM fields are served", kFields},
    {"devices", "Devices", "which GPUs, MIG instances, NVSwitches and CPUs have rows", kDevices},
    {"kubernetes", "Kubernetes", "pods, labels and claims on the rows of devices", kKubernetes},
    {"processes", "Processes and energy", "rows of processes, and their share of a GPU's energy",
     kProcesses},
    {"source", "Source", "DCGM or NVML, and where their libraries are", kSource},
    {"web", "Web", "address, TLS, passwords, and what clients may do", kWeb},
    {"compatibility", "Compatibility", "flags of the replaced programs without an effect here",
     kCompatibility},
    {"logs", "Logs", "log lines, and dumps of what was read", kLogs},
    {"program", "Program", "check the configuration, print help or the version", kProgram},
};

constexpr CommonFlag kCommon[] = {
    {"collectors", "-f, --collectors FILE", "which fields to serve, one per line"},
    {"collect-interval", "-c, --collect-interval TIME", "how often to read (30000 ms)"},
    {"kubernetes", "-k, --kubernetes", "pod, namespace and container on rows"},
    {"kubernetes-enable-pod-labels", "    --kubernetes-enable-pod-labels", "labels of pods too"},
    {"devices", "-d, --devices SELECTION", "which GPUs and MIG instances"},
    {"metrics-views", "    --metrics-views LIST", "dcgm, core, native, process, self"},
    {"process-metrics", "    --process-metrics=on", "processes and their energy"},
    {"remote-hostengine-info", "-r, --remote-hostengine-info ADDR", "use this DCGM host engine"},
    {"address", "-a, --address ADDR", "where to listen (:9400)"},
    {"web-config-file", "    --web-config-file FILE", "TLS and passwords"},
};

}  // namespace

std::span<const FlagGroup> FlagGroups() { return kGroups; }

std::span<const CommonFlag> CommonFlags() { return kCommon; }

std::vector<FlagText> TextsOf(const FlagGroup& group) {
  const std::vector<FlagText> all = FlagTexts(FlagTable());
  std::vector<FlagText> texts;
  for (const std::string_view name : group.flags) {
    const auto row = std::ranges::find(all, name, &FlagText::name);
    PODGPU_CHECK(row != all.end());
    texts.push_back(*row);
  }
  return texts;
}

}  // namespace podgpu
