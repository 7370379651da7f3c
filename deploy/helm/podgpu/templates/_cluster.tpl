{{/* Parts of the cluster role. */}}

{{- define "podgpu.clusterArguments" -}}
{{- $c := .Values.cluster -}}
{{- $namespace := include "podgpu.namespace" . -}}
{{- $service := include "podgpu.named" (list . "-nodes") -}}
- cluster
{{- if eq $c.discovery "dns" }}
- {{ printf "--nodes=dns:%s.%s.svc:%v" $service $namespace (include "podgpu.features" . | fromYaml).nodePort }}
{{- else if eq $c.discovery "pods" }}
{{- $terms := list }}
{{- range $key, $value := include "podgpu.selectorLabels" . | fromYaml }}
{{- $terms = append $terms (printf "%s=%s" $key $value) }}
{{- end }}
- {{ printf "--nodes=pods:%s/%s%s" $namespace (join "," $terms) (ternary "" (printf ":%s" .Values.portName) (eq .Values.portName "metrics")) }}
{{- else }}
- {{ printf "--nodes=endpoints:%s/%s" $namespace $service }}
{{- end }}
- --node-interval={{ $c.nodeInterval }}
- --in-use={{ $c.inUse }}
{{- if $c.inUsePort }}
- --in-use-listen=:{{ $c.inUsePort }}
{{- end }}
{{- with $c.nodeUrl }}
- {{ printf "--node-url=%s" . | quote }}
{{- end }}
{{- with $c.dashboardUrl }}
- {{ printf "--dashboard-url=%s" . | quote }}
{{- end }}
{{- with $c.groupLabels }}
- {{ printf "--group-labels=%s" (join "," .) | quote }}
{{- end }}
{{- if include "podgpu.nodeWebConfig" . | trim }}
- --node-web-config=/etc/podgpu/nodes/node-web-config.yaml
{{- end }}
{{- if $c.webConfigSecret }}
- --web-config-file=/etc/podgpu/web/web-config.yaml
{{- end }}
{{- if .Values.metricsApi.enabled }}
{{ include "podgpu.metricsApiArguments" . }}
{{- end }}
{{- range include "podgpu.arguments" $c.arguments | fromJsonArray }}
- {{ quote . }}
{{- end }}
{{- end -}}

{{/* With a web configuration of its own, the cluster role may require TLS or a password: the kubelet then only connects. */}}
{{- define "podgpu.clusterProbe" -}}
{{- if .root.Values.cluster.webConfigSecret -}}
tcpSocket:
  port: metrics
{{- else -}}
httpGet:
  path: {{ .path }}
  port: metrics
{{- end }}
{{ toYaml .settings }}
{{- end -}}
