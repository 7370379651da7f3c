// The command line of dcgm-exporter 4.8.2, and flags of newer releases: every flag with its short
// form, variable, default, and a valid value.
//
// Copied from its documentation, independent of podgpu's own table (cli/flag_table.cc), so a test
// notices a flag that is missing or renamed there.  Constants.
#pragma once

#include <array>
#include <string_view>

namespace podgpu {

struct UpstreamFlag {
  std::string_view name, alias, variable, default_text, example;
};

inline constexpr auto kUpstreamFlags = std::to_array<UpstreamFlag>({
    {"collectors", "f", "DCGM_EXPORTER_COLLECTORS", "/etc/dcgm-exporter/default-counters.csv",
     "/x"},
    {"address", "a", "DCGM_EXPORTER_LISTEN", ":9400", "[::1]:9401"},
    {"collect-interval", "c", "DCGM_EXPORTER_INTERVAL", "30000", "0x3e8"},
    {"kubernetes", "k", "DCGM_EXPORTER_KUBERNETES", "false", "T"},
    {"kubernetes-enable-pod-labels", "", "DCGM_EXPORTER_KUBERNETES_ENABLE_POD_LABELS", "false",
     "true"},
    {"kubernetes-enable-pod-uid", "", "DCGM_EXPORTER_KUBERNETES_ENABLE_POD_UID", "false", "1"},
    {"kubernetes-pod-label-allowlist-regex", "",
     "DCGM_EXPORTER_KUBERNETES_POD_LABEL_ALLOWLIST_REGEX", "", "^app,team"},
    {"kubernetes-gpu-id-type", "", "DCGM_EXPORTER_KUBERNETES_GPU_ID_TYPE", "uid", "device-name"},
    {"kubernetes-virtual-gpus", "", "KUBERNETES_VIRTUAL_GPUS", "false", "true"},
    {"kubernetes-enable-dra", "", "KUBERNETES_ENABLE_DRA", "false", "true"},
    {"use-old-namespace", "o", "DCGM_EXPORTER_USE_OLD_NAMESPACE", "false", "TRUE"},
    {"remote-hostengine-info", "r", "DCGM_REMOTE_HOSTENGINE_INFO", "localhost:5555", "host:5555"},
    {"devices", "d", "DCGM_EXPORTER_DEVICES_STR", "f", "g:0,2-4"},
    {"switch-devices", "s", "DCGM_EXPORTER_OTHER_DEVICES_STR", "f", "i"},
    {"cpu-devices", "p", "DCGM_EXPORTER_CPU_DEVICES_STR", "f", "g:0"},
    {"no-hostname", "n", "DCGM_EXPORTER_NO_HOSTNAME", "false", "t"},
    {"fake-gpus", "", "DCGM_EXPORTER_USE_FAKE_GPUS", "false", "false"},
    {"configmap-data", "m", "DCGM_EXPORTER_CONFIGMAP_DATA", "none", "gpu:metrics"},
    {"web-systemd-socket", "", "DCGM_EXPORTER_SYSTEMD_SOCKET", "false", "false"},
    {"web-config-file", "", "DCGM_EXPORTER_WEB_CONFIG_FILE", "", "/web.yaml"},
    {"xid-count-window-size", "x", "DCGM_EXPORTER_XID_COUNT_WINDOW_SIZE", "300000", "60000"},
    {"clock-events-count-window-size", "", "DCGM_EXPORTER_CLOCK_EVENTS_COUNT_WINDOW_SIZE", "300000",
     "60000"},
    {"replace-blanks-in-model-name", "rbmn", "DCGM_EXPORTER_REPLACE_BLANKS_IN_MODEL_NAME", "false",
     "true"},
    {"debug", "", "DCGM_EXPORTER_DEBUG", "false", "true"},
    {"enable-dcgm-log", "", "DCGM_EXPORTER_ENABLE_DCGM_LOG", "false", "true"},
    {"dcgm-log-level", "", "DCGM_EXPORTER_DCGM_LOG_LEVEL", "NONE", "VERB"},
    {"log-format", "", "DCGM_EXPORTER_LOG_FORMAT", "text", "json"},
    {"pod-resources-kubelet-socket", "", "DCGM_POD_RESOURCES_KUBELET_SOCKET",
     "/var/lib/kubelet/pod-resources/kubelet.sock", "/run/kubelet.sock"},
    {"kubernetes-gpu-id-type", "", "DCGM_EXPORTER_KUBERNETES_GPU_ID_TYPE", "uid", "device-name"},
    {"kubernetes-virtual-gpus", "", "KUBERNETES_VIRTUAL_GPUS", "false", "true"},
    {"kubernetes-enable-dra", "", "KUBERNETES_ENABLE_DRA", "false", "true"},
    {"hpc-job-mapping-dir", "", "DCGM_HPC_JOB_MAPPING_DIR", "", "/jobs"},
    {"nvidia-resource-names", "", "NVIDIA_RESOURCE_NAMES", "", "a.com/gpu,b.com/gpu"},
    {"dump-enabled", "", "DCGM_EXPORTER_DUMP_ENABLED", "false", "true"},
    {"dump-directory", "", "DCGM_EXPORTER_DUMP_DIRECTORY", "/tmp/dcgm-exporter-debug", "/dumps"},
    {"dump-retention", "", "DCGM_EXPORTER_DUMP_RETENTION", "24", "0"},
    {"dump-compression", "", "DCGM_EXPORTER_DUMP_COMPRESSION", "true", "false"},
    {"disable-startup-validate", "", "DISABLE_STARTUP_VALIDATE", "false", "true"},
    {"enable-gpu-bind-unbind-watch", "", "DCGM_EXPORTER_ENABLE_GPU_BIND_UNBIND_WATCH", "false",
     "true"},
    {"gpu-bind-unbind-poll-interval", "", "DCGM_EXPORTER_GPU_BIND_UNBIND_POLL_INTERVAL", "1s",
     "500ms"},
    {"enable-pprof", "", "DCGM_EXPORTER_ENABLE_PPROF", "false", "true"},
    // Since 4.8.3 and 4.8.4.
    {"web-read-timeout", "", "DCGM_EXPORTER_WEB_READ_TIMEOUT", "10s", "5s"},
    {"web-write-timeout", "", "DCGM_EXPORTER_WEB_WRITE_TIMEOUT", "30s", "1m"},
    {"watch-max-keep-age", "", "DCGM_EXPORTER_WATCH_MAX_KEEP_AGE", "10m", "5m"},
    {"watch-max-keep-samples", "", "DCGM_EXPORTER_WATCH_MAX_KEEP_SAMPLES", "0", "100"},
    {"max-concurrent-scrapes", "", "DCGM_EXPORTER_MAX_CONCURRENT_SCRAPES", "16", "4"},
    {"enable-exporter-metrics", "", "DCGM_EXPORTER_ENABLE_EXPORTER_METRICS", "false", "true"},
});

}  // namespace podgpu
