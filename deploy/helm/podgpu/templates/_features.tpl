{{/* Which features are on, from values, arguments and variables alike, and the rights that follow from them. */}}

{{/* The arguments of a list as podgpu gets them, as a JSON list of texts. dcgm-exporter's chart prints each without quotes, so that
     YAML reads it again, and users quote numbers twice: "\"10000\"" is 10000. A text that is no YAML text of one line stays as it
     is, and a number keeps all its digits. */}}
{{- define "podgpu.arguments" -}}
{{- $read := list -}}
{{- range . -}}
{{- $argument := . -}}
{{- if not (kindIs "string" .) -}}
{{- $argument = toJson . -}}
{{- else if not (regexMatch "\n|^ *[|>]" .) -}}
{{- $again := fromYaml (printf "v: %s" .) -}}
{{- if and (hasKey $again "v") (kindIs "string" $again.v) -}}{{- $argument = $again.v -}}{{- end -}}
{{- end -}}
{{- $read = append $read $argument -}}
{{- end -}}
{{- toJson $read -}}
{{- end -}}

{{/* The value of a flag: from .arguments, as podgpu gets them, otherwise of the variable .variable in .env; empty if it is not given.
     .names is an alternation of names, as in "m|configmap-data"; .bool says that the flag may stand alone. */}}
{{- define "podgpu.setting" -}}
{{- $found := "" -}}
{{- range .env -}}
{{- if eq .name $.variable -}}{{- $found = .value | default "" | toString -}}{{- end -}}
{{- end -}}
{{- $next := false -}}
{{- range .arguments -}}
{{- if $next -}}
{{- $found = . -}}{{- $next = false -}}
{{- else if regexMatch (printf "^--?(%s)=" $.names) . -}}
{{- $found = regexReplaceAll "^[^=]*=" . "" -}}
{{- else if regexMatch (printf "^--?(%s)$" $.names) . -}}
{{- if $.bool -}}{{- $found = "true" -}}{{- else -}}{{- $next = true -}}{{- end -}}
{{- end -}}
{{- end -}}
{{- $found -}}
{{- end -}}

{{/* "true" if the value .value or the flag turns a feature on. */}}
{{- define "podgpu.isOn" -}}
{{- if or .value (has (include "podgpu.setting" .) (list "1" "t" "T" "true" "True" "TRUE" "on")) -}}true{{- end -}}
{{- end -}}

{{/* A dictionary of what is on, as YAML. */}}
{{- define "podgpu.features" -}}
{{- $v := .Values -}}
{{- $from := dict "arguments" (include "podgpu.arguments" $v.arguments | fromJsonArray) "env" $v.extraEnv -}}
{{- $labels := include "podgpu.isOn" (merge (dict "value" $v.kubernetes.enablePodLabels "bool" true "names" "kubernetes-enable-pod-labels" "variable" "DCGM_EXPORTER_KUBERNETES_ENABLE_POD_LABELS") $from) -}}
{{- $uid := include "podgpu.isOn" (merge (dict "value" $v.kubernetes.enablePodUID "bool" true "names" "kubernetes-enable-pod-uid" "variable" "DCGM_EXPORTER_KUBERNETES_ENABLE_POD_UID") $from) -}}
{{- $dra := include "podgpu.isOn" (merge (dict "value" $v.kubernetesDRA.enabled "bool" true "names" "kubernetes-enable-dra" "variable" "KUBERNETES_ENABLE_DRA") $from) -}}
{{- $virtual := include "podgpu.isOn" (merge (dict "value" $v.kubernetes.virtualGPUs "bool" true "names" "kubernetes-virtual-gpus" "variable" "KUBERNETES_VIRTUAL_GPUS") $from) -}}
{{- $processes := include "podgpu.isOn" (merge (dict "value" $v.processes.enabled "bool" true "names" "process-metrics" "variable" "PODGPU_PROCESS_METRICS") $from) -}}
{{- $requests := include "podgpu.isOn" (merge (dict "value" $v.requestedVsUsed.enabled "bool" true "names" "requested-vs-used" "variable" "PODGPU_REQUESTED_VS_USED") $from) -}}
{{- $configMap := include "podgpu.setting" (merge (dict "bool" false "names" "m|configmap-data" "variable" "DCGM_EXPORTER_CONFIGMAP_DATA") $from) -}}
{{- $engine := include "podgpu.setting" (merge (dict "bool" false "names" "r|remote-hostengine-info" "variable" "DCGM_REMOTE_HOSTENGINE_INFO") $from) -}}
{{- $source := include "podgpu.setting" (merge (dict "bool" false "names" "source" "variable" "PODGPU_SOURCE") $from) | default $v.source -}}
{{- $kubelet := include "podgpu.setting" (merge (dict "bool" false "names" "kubelet-pods-url" "variable" "PODGPU_KUBELET_PODS_URL") $from) -}}
{{- if $v.gpuOperator.hostEngine -}}{{- $engine = printf "nvidia-dcgm.%s.svc:5555" $v.gpuOperator.namespace -}}{{- end -}}
{{- if $v.hostEngine.address -}}{{- $engine = $v.hostEngine.address -}}{{- end -}}
{{- $libdcgm := include "podgpu.setting" (merge (dict "bool" false "names" "libdcgm" "variable" "PODGPU_LIBDCGM") $from) -}}
{{- $needsPods := or $labels $uid $processes $requests -}}
{{- $usesKubelet := or $v.kubeletPods.enabled $kubelet -}}
{{- $configMapNamed := and $configMap (ne $configMap "none") -}}
labels: {{ not (not $labels) }}
uid: {{ not (not $uid) }}
dra: {{ not (not $dra) }}
virtualGPUs: {{ not (not $virtual) }}
processes: {{ not (not $processes) }}
requests: {{ not (not $requests) }}
configMap: {{ ternary $configMap "" (not (not $configMapNamed)) | quote }}
engine: {{ $engine | quote }}
source: {{ $source | quote }}
libdcgm: {{ or (not (empty $v.dcgm.library.image)) (not (empty $libdcgm)) (regexMatch "podgpu-dcgm[:@]" (include "podgpu.image" .)) }}
podsRight: {{ and (not (not $needsPods)) (not $usesKubelet) }}
kubeletRight: {{ and (not (not $needsPods)) (not (not $usesKubelet)) }}
hostPID: {{ or $v.hostPID (and (or (not (not $processes)) (not (not $requests))) (not $v.processes.mountProc)) }}
token: {{ not (not (or $needsPods $dra $configMapNamed)) }}
nodePort: {{ regexFind "[0-9]+$" $v.service.address | default "0" }}
web: {{ or $v.tlsServerConfig.enabled (not (empty $v.basicAuth.users)) }}
gpuTaint: {{ or $v.gke.enabled $v.eks.enabled $v.openshift.enabled $v.gpuOperator.enabled $v.talos.enabled $v.bottlerocket.enabled }}
runtimeClass: {{ $v.runtimeClassName | default (ternary "nvidia" "" (or $v.gpuOperator.enabled $v.talos.enabled)) | quote }}
privileged: {{ or $v.gke.enabled (not (not $v.securityContext.privileged)) }}
{{- end -}}
