{{/* Parts of the pods. */}}

{{/* A security context, made consistent: Kubernetes refuses allowPrivilegeEscalation: false beside privileged. .context and
     .add, a list of capabilities. */}}
{{- define "podgpu.securityContext" -}}
{{- $context := deepCopy .context -}}
{{- if .privileged -}}
{{- $_ := set $context "privileged" true -}}
{{- $_ := unset $context "allowPrivilegeEscalation" -}}
{{- end -}}
{{- if .add -}}
{{- $capabilities := deepCopy ($context.capabilities | default dict) -}}
{{- $_ := set $capabilities "add" (concat ($capabilities.add | default list) .add | uniq) -}}
{{- $_ := set $context "capabilities" $capabilities -}}
{{- end -}}
{{- if .seLinuxType -}}
{{- $_ := set $context "seLinuxOptions" ($context.seLinuxOptions | default (dict "type" .seLinuxType)) -}}
{{- end -}}
{{- toYaml $context -}}
{{- end -}}

{{/* Environment variables that the switches set. A variable of extraEnv with the same name replaces it. The first three are those
     of dcgm-exporter's chart, in its order, because patches name them by their place. The addresses come before the
     variables that refer to them. */}}
{{- define "podgpu.env" -}}
{{- $taken := list -}}
{{- range .Values.extraEnv -}}{{- $taken = append $taken .name -}}{{- end -}}
{{- $variables := list -}}
{{- range concat (include "podgpu.firstEnv" . | fromYamlArray) (include "podgpu.plainEnv" . | fromYamlArray) -}}
{{- if not (has .name $taken) -}}{{- $variables = append $variables . -}}{{- end -}}
{{- end -}}
{{- toYaml (concat $variables .Values.extraEnv) -}}
{{- end -}}

{{- define "podgpu.firstEnv" -}}
- {name: DCGM_EXPORTER_KUBERNETES, value: "true"}
- {name: DCGM_EXPORTER_LISTEN, value: {{ .Values.service.address | quote }}}
- {name: NODE_NAME, valueFrom: {fieldRef: {fieldPath: spec.nodeName}}}
- {name: POD_NAME, valueFrom: {fieldRef: {fieldPath: metadata.name}}}
- {name: POD_NAMESPACE, valueFrom: {fieldRef: {fieldPath: metadata.namespace}}}
{{- if .Values.kubeletPods.enabled }}
- {name: HOST_IP, valueFrom: {fieldRef: {fieldPath: status.hostIP}}}
{{- end }}
{{- end -}}

{{- define "podgpu.plainEnv" -}}
{{- $v := .Values -}}
{{- $f := include "podgpu.features" . | fromYaml -}}
{{- if $v.kubernetes.enablePodLabels }}
- {name: DCGM_EXPORTER_KUBERNETES_ENABLE_POD_LABELS, value: "true"}
{{- end }}
{{- if $v.kubernetes.enablePodUID }}
- {name: DCGM_EXPORTER_KUBERNETES_ENABLE_POD_UID, value: "true"}
{{- end }}
{{- with $v.kubernetes.podLabelAllowlistRegex }}
- {name: DCGM_EXPORTER_KUBERNETES_POD_LABEL_ALLOWLIST_REGEX, value: {{ join "," . | quote }}}
{{- end }}
{{- if $v.kubernetes.virtualGPUs }}
- {name: KUBERNETES_VIRTUAL_GPUS, value: "true"}
{{- end }}
{{- if $v.kubernetesDRA.enabled }}
- {name: KUBERNETES_ENABLE_DRA, value: "true"}
{{- end }}
{{- with $v.service.webReadTimeout }}
- {name: DCGM_EXPORTER_WEB_READ_TIMEOUT, value: {{ quote . }}}
{{- end }}
{{- with $v.service.webWriteTimeout }}
- {name: DCGM_EXPORTER_WEB_WRITE_TIMEOUT, value: {{ quote . }}}
{{- end }}
{{- if $f.web }}
- {name: DCGM_EXPORTER_WEB_CONFIG_FILE, value: /etc/podgpu/web/web-config.yaml}
{{- end }}
{{- if $v.config.enabled }}
- {name: DCGM_EXPORTER_CONFIG_FILE, value: {{ $v.config.mountPath | default (printf "/etc/podgpu/config/%s" $v.config.key) | quote }}}
{{- end }}
{{- if $v.debugDump.enabled }}
- {name: DCGM_EXPORTER_DUMP_ENABLED, value: "true"}
- {name: DCGM_EXPORTER_DUMP_DIRECTORY, value: {{ $v.debugDump.directory | quote }}}
- {name: DCGM_EXPORTER_DUMP_RETENTION, value: {{ $v.debugDump.retention | quote }}}
- {name: DCGM_EXPORTER_DUMP_COMPRESSION, value: {{ $v.debugDump.compression | quote }}}
{{- end }}
{{- with $v.metricsViews }}
- {name: PODGPU_METRICS_VIEWS, value: {{ . | quote }}}
{{- end }}
{{- with $v.compatibility.version }}
- {name: PODGPU_DCGM_EXPORTER_VERSION, value: {{ quote . }}}
{{- end }}
{{- if $v.compatibility.bothNames }}
- {name: PODGPU_BOTH_NAMES, value: "true"}
{{- end }}
{{- if ne $v.source "auto" }}
- {name: PODGPU_SOURCE, value: {{ $v.source | quote }}}
{{- end }}
{{- if $v.dcgm.library.image }}
- {name: LD_LIBRARY_PATH, value: /opt/dcgm}
{{- end }}
{{- if or $v.hostEngine.address $v.gpuOperator.hostEngine }}
- {name: DCGM_REMOTE_HOSTENGINE_INFO, value: {{ $f.engine | quote }}}
{{- end }}
{{- if $v.processes.enabled }}
- {name: PODGPU_PROCESS_METRICS, value: "on"}
- {name: PODGPU_PROCESS_INTERVAL, value: {{ $v.processes.interval | quote }}}
- {name: PODGPU_PROCESS_SCOPE, value: {{ $v.processes.scope | quote }}}
- {name: PODGPU_GPU_IDLE_POWER, value: {{ $v.processes.idlePower | quote }}}
- {name: PODGPU_IDLE_ENERGY, value: {{ $v.processes.idleEnergy | quote }}}
{{- end }}
{{- if $v.processes.mountProc }}
- {name: PODGPU_PROC_ROOT, value: /host/proc}
{{- end }}
{{- if $v.requestedVsUsed.enabled }}
- {name: PODGPU_REQUESTED_VS_USED, value: "on"}
- {name: PODGPU_QUERY_ADDR, value: "0.0.0.0"}
- {name: PODGPU_QUERY_PORT, value: {{ $v.requestedVsUsed.queryPort | quote }}}
{{- end }}
{{- if $v.kubeletPods.enabled }}
- {name: PODGPU_KUBELET_PODS_URL, value: "https://$(HOST_IP):10250/pods"}
- {name: PODGPU_KUBELET_PODS_INSECURE_SKIP_TLS_VERIFY, value: {{ $v.kubeletPods.insecureSkipTLSVerify | quote }}}
{{- end }}
{{- with $v.cluster.fleetUrl }}
- {name: PODGPU_FLEET_URL, value: {{ . | quote }}}
{{- end }}
{{- with $v.hpcJobs.directory }}
- {name: DCGM_HPC_JOB_MAPPING_DIR, value: {{ . | quote }}}
{{- end }}
{{- end -}}

{{/* A probe of .path. With a password or a required client certificate the kubelet can only connect. */}}
{{- define "podgpu.probe" -}}
{{- $tls := .root.Values.tlsServerConfig -}}
{{- if or .root.Values.basicAuth.users (and $tls.enabled (has $tls.clientAuthType (list "RequireAnyClientCert" "RequireAndVerifyClientCert"))) -}}
tcpSocket:
  port: {{ .root.Values.portName }}
{{- else -}}
httpGet:
  path: {{ .path }}
  port: {{ .root.Values.portName }}
  scheme: {{ ternary "HTTPS" "HTTP" $tls.enabled }}
{{- end }}
{{ toYaml .settings }}
{{- end -}}

{{/* Labels of the platform's GPU nodes, as a YAML list of expressions; a node needs one of them. EKS: those of its Auto Mode, of
     its node groups and of Karpenter. Talos: it makes a label of each extension, and the toolkit is one of three. */}}
{{- define "podgpu.gpuNodes" -}}
{{- $v := .Values -}}
{{- if $v.gke.enabled }}
- {key: cloud.google.com/gke-accelerator, operator: Exists}
{{- else if $v.eks.enabled }}
- {key: eks.amazonaws.com/instance-gpu-manufacturer, operator: In, values: [nvidia]}
- {key: k8s.amazonaws.com/accelerator, operator: Exists}
- {key: karpenter.k8s.aws/instance-gpu-manufacturer, operator: In, values: [nvidia]}
{{- else if $v.talos.enabled }}
- {key: extensions.talos.dev/nvidia-container-toolkit, operator: Exists}
- {key: extensions.talos.dev/nvidia-container-toolkit-lts, operator: Exists}
- {key: extensions.talos.dev/nvidia-container-toolkit-production, operator: Exists}
{{- end }}
{{- if and (not $v.gke.enabled) (or $v.eks.enabled $v.talos.enabled $v.gpuOperator.enabled) }}
- {key: nvidia.com/gpu.present, operator: In, values: ["true"]}
{{- end }}
{{- end -}}

{{/* Affinity: the user's, otherwise the one of the platform. */}}
{{- define "podgpu.affinity" -}}
{{- $v := .Values -}}
{{- $terms := include "podgpu.gpuNodes" . | fromYamlArray -}}
{{- if $v.affinity -}}
{{- toYaml $v.affinity -}}
{{- else if $terms -}}
nodeAffinity:
  requiredDuringSchedulingIgnoredDuringExecution:
    nodeSelectorTerms:
    {{- range $terms }}
      - matchExpressions:
          - {{ toJson . }}
    {{- end }}
{{- end -}}
{{- end -}}

{{- define "podgpu.tolerations" -}}
{{- $tolerations := .Values.tolerations -}}
{{- if (include "podgpu.features" . | fromYaml).gpuTaint -}}
{{- $tolerations = append $tolerations (dict "key" "nvidia.com/gpu" "operator" "Exists") -}}
{{- end -}}
{{- if $tolerations -}}{{- toYaml $tolerations -}}{{- end -}}
{{- end -}}

{{- define "podgpu.podSettings" -}}
{{- $v := .Values -}}
{{- $f := include "podgpu.features" . | fromYaml -}}
serviceAccountName: {{ include "podgpu.serviceAccountName" . }}
automountServiceAccountToken: {{ include "podgpu.automount" . }}
{{- with $v.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- with $f.runtimeClass }}
runtimeClassName: {{ . }}
{{- end }}
{{- if $f.hostPID }}
hostPID: true
{{- end }}
{{- if $v.hostNetwork }}
hostNetwork: true
dnsPolicy: ClusterFirstWithHostNet
{{- end }}
{{- with $v.imagePullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $v.podSecurityContext }}
securityContext:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- $nodeSelector := $v.nodeSelector }}
{{- with $nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with include "podgpu.affinity" . }}
affinity:
  {{- . | nindent 2 }}
{{- end }}
{{- with include "podgpu.tolerations" . }}
tolerations:
  {{- . | nindent 2 }}
{{- end }}
{{- end -}}

{{- define "podgpu.automount" -}}
{{- $wanted := .Values.serviceAccount.automountServiceAccountToken -}}
{{- if kindIs "invalid" $wanted -}}
{{- (include "podgpu.features" . | fromYaml).token -}}
{{- else -}}
{{- $wanted -}}
{{- end -}}
{{- end -}}

{{- define "podgpu.mounts" -}}
{{- $v := .Values -}}
- {name: pod-gpu-resources, mountPath: /var/lib/kubelet/pod-resources, readOnly: true}
{{- if (include "podgpu.features" . | fromYaml).web }}
- {name: web-config, mountPath: /etc/podgpu/web, readOnly: true}
{{- end }}
{{- if $v.tlsServerConfig.enabled }}
- {name: tls, mountPath: /etc/podgpu/tls, readOnly: true}
{{- end }}
{{- include "podgpu.configMount" . }}
{{- if $v.processes.mountProc }}
- {name: proc, mountPath: /host/proc, readOnly: true}
{{- end }}
{{- if $v.debugDump.enabled }}
- {name: debug-dumps, mountPath: {{ $v.debugDump.directory | quote }}}
{{- end }}
{{- with $v.hpcJobs.directory }}
- {name: hpc-jobs, mountPath: {{ . | quote }}, readOnly: true}
{{- end }}
{{- if $v.dcgm.library.image }}
- {name: dcgm, mountPath: /opt/dcgm, readOnly: true}
{{- end }}
{{- if $v.gke.enabled }}
- {name: driver, mountPath: /usr/local/nvidia, readOnly: true}
{{- end }}
{{- with $v.extraVolumeMounts }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/* The interval of all fields in config.data. podgpu takes everything else of a changed file without a restart. */}}
{{- define "podgpu.configInterval" -}}
{{- $document := .Values.config.data | fromYaml -}}
{{- with $document.collection }}{{ .interval }}{{ end -}}
{{- range $document.collections -}}
{{- if eq (dig "metrics" "include" list . | toJson) "[\"*\"]" }}{{ .every }}{{ end -}}
{{- end -}}
{{- end -}}

{{- define "podgpu.configName" -}}
{{- .Values.config.name | default (include "podgpu.named" (list . "-config")) -}}
{{- end -}}

{{/* A folder, which the kubelet updates; one file, which it does not, where a path asks for it. */}}
{{- define "podgpu.configMount" -}}
{{- $config := .Values.config -}}
{{- if $config.enabled }}
{{- if $config.mountPath }}
- {name: config, mountPath: {{ $config.mountPath | quote }}, subPath: {{ $config.key | quote }}, readOnly: true}
{{- else }}
- {name: config, mountPath: /etc/podgpu/config, readOnly: true}
{{- end }}
{{- end }}
{{- end -}}

{{- define "podgpu.configVolume" -}}
{{- if .Values.config.enabled }}
- name: config
  configMap: {name: {{ include "podgpu.configName" . }}}
{{- end }}
{{- end -}}

{{- define "podgpu.volumes" -}}
{{- $v := .Values -}}
- name: pod-gpu-resources
  hostPath: {path: {{ $v.kubeletPath | quote }}}
{{- if (include "podgpu.features" . | fromYaml).web }}
- name: web-config
  secret: {secretName: {{ include "podgpu.named" (list . "-web-config") }}}
{{- end }}
{{- if $v.tlsServerConfig.enabled }}
- name: tls
  secret: {secretName: {{ include "podgpu.tlsSecretName" . }}}
{{- end }}
{{- include "podgpu.configVolume" . }}
{{- if $v.processes.mountProc }}
- name: proc
  hostPath: {path: /proc}
{{- end }}
{{- if $v.debugDump.enabled }}
- name: debug-dumps
  hostPath: {path: {{ $v.debugDump.directory | quote }}, type: DirectoryOrCreate}
{{- end }}
{{- with $v.hpcJobs.directory }}
- name: hpc-jobs
  hostPath: {path: {{ . | quote }}}
{{- end }}
{{- if $v.dcgm.library.image }}
- name: dcgm
  emptyDir: {}
{{- end }}
{{- if $v.gke.enabled }}
- name: driver
  hostPath: {path: {{ $v.gke.driverPath | quote }}}
{{- end }}
{{- range $v.extraHostVolumes }}
- name: {{ .name | quote }}
  hostPath: {path: {{ .hostPath | quote }}}
{{- end }}
{{- with $v.extraConfigMapVolumes }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/* Copies NVIDIA's DCGM from the image in which it runs to /opt/dcgm, with the C++ library that it needs; podgpu's image has the
     other libraries. The script needs a shell and cp. */}}
{{- define "podgpu.copyDcgm" -}}
set -eu
for folder in /usr/lib/x86_64-linux-gnu /usr/lib/aarch64-linux-gnu /usr/lib64 /usr/local/lib; do
  for library in "$folder"/libdcgm.so.[34]; do
    if [ -e "$library" ]; then
      found=$folder
    fi
  done
done
if [ -z "${found:-}" ]; then
  echo "the image of dcgm.library.image has no libdcgm.so.4 or libdcgm.so.3; set one that has DCGM"
  exit 1
fi
for library in "$found"/libdcgm*.so* "$found"/libnvperf*.so* "$found"/libstdc++.so.6*; do
  if [ -e "$library" ]; then
    cp -Pf "$library" /opt/dcgm/
  fi
done
{{- end -}}

{{- define "podgpu.counters" -}}
{{- .Values.customMetrics | default (.Files.Get "files/default-counters.csv") -}}
{{- end -}}
