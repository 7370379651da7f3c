{{/* Parts of the metrics APIs that the cluster role serves to autoscalers. */}}

{{- define "podgpu.externalMetricNames" -}}
avg_gpu_utilization, gpu_free, gpu_idle_pods, gpu_memory_used_bytes, gpu_power_watts
{{- end -}}

{{- define "podgpu.podMetricNames" -}}
pods/gpu_energy_rate_watts, pods/gpu_memory_used_bytes, pods/gpu_power_watts, pods/gpu_sm_active, pods/gpu_utilization
{{- end -}}

{{/* The APIServices that are on: a list of {name, group, version, key, names}, as YAML. `names` has those of every version of
     the group: autoscalers choose one version for all metrics of the group. */}}
{{- define "podgpu.metricsApis" -}}
{{- if .Values.metricsApi.external }}
- {name: v1beta1.external.metrics.k8s.io, group: external.metrics.k8s.io, version: v1beta1, key: metricsApi.external, names: [v1beta1.external.metrics.k8s.io]}
{{- end }}
{{- if .Values.metricsApi.custom }}
- {name: v1beta2.custom.metrics.k8s.io, group: custom.metrics.k8s.io, version: v1beta2, key: metricsApi.custom, names: [v1beta1.custom.metrics.k8s.io, v1beta2.custom.metrics.k8s.io]}
{{- end }}
{{- end -}}

{{/* The Secret with certificate and key; empty: podgpu makes them. */}}
{{- define "podgpu.metricsApiSecret" -}}
{{- $certificate := .Values.metricsApi.certificate -}}
{{- if $certificate.certManager.enabled -}}
{{- $certificate.secretName | default (include "podgpu.named" (list . "-cluster-metrics-api")) -}}
{{- else -}}
{{- $certificate.secretName -}}
{{- end -}}
{{- end -}}

{{- define "podgpu.metricsApiArguments" -}}
{{- $m := .Values.metricsApi -}}
- --metrics-api-listen=:{{ $m.port }}
- {{ printf "--metrics-api-service=%s.%s" (include "podgpu.clusterName" .) (include "podgpu.namespace" .) }}
- --metrics-api-window={{ $m.window }}
{{- with $m.nodeLabels }}
- {{ printf "--metrics-api-node-labels=%s" (join "," .) | quote }}
{{- end }}
{{- if include "podgpu.metricsApiSecret" . }}
- --metrics-api-cert-file=/etc/podgpu/metrics-api/tls.crt
- --metrics-api-key-file=/etc/podgpu/metrics-api/tls.key
{{- end }}
{{- end -}}

{{/* Stops when another server has one of the APIs: there can be one only. */}}
{{- define "podgpu.checkMetricsApi" -}}
{{- $m := .Values.metricsApi -}}
{{- $certificate := $m.certificate -}}
{{- if $m.enabled -}}
{{- if not .Values.cluster.enabled -}}
{{- fail "podgpu: metricsApi.enabled needs the cluster role, which serves the metrics. Set cluster.enabled to true" -}}
{{- end -}}
{{- if not (or $m.external $m.custom) -}}
{{- fail "podgpu: metricsApi.external and metricsApi.custom are both false, so metricsApi.enabled serves nothing. Set one of them to true" -}}
{{- end -}}
{{- if and $certificate.certManager.enabled (not $certificate.certManager.issuerName) -}}
{{- fail "podgpu: metricsApi.certificate.certManager.issuerName is empty. Name the Issuer or ClusterIssuer that signs the certificate" -}}
{{- end -}}
{{- if and $certificate.secretName (not $certificate.certManager.enabled) (not $certificate.ca) -}}
{{- fail "podgpu: metricsApi.certificate.ca is empty, so the API server could not verify the certificate of metricsApi.certificate.secretName. Give its authority in PEM form, or leave secretName empty" -}}
{{- end -}}
{{- $own := printf "%s/%s" (include "podgpu.namespace" .) (include "podgpu.clusterName" .) -}}
{{- range $api := include "podgpu.metricsApis" . | fromYamlArray -}}
{{- range $name := $api.names -}}
{{- $owner := lookup "apiregistration.k8s.io/v1" "APIService" "" $name -}}
{{- if $owner -}}
{{- $service := dig "spec" "service" dict $owner | default dict -}}
{{- $other := printf "%s/%s" (dig "namespace" "-" $service) (dig "name" "-" $service) -}}
{{- if ne $other $own -}}
{{- fail (printf "podgpu: %s: %s belongs to Service %s, and a cluster has one server of that API. Set %s to false, or remove that server" $api.key $name $other $api.key) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
