{{/* Rules and dashboards: which of the chart's files are asked for, and whether they can have values. */}}

{{- define "podgpu.hasPrometheusRule" -}}
{{- if .Capabilities.APIVersions.Has "monitoring.coreos.com/v1" -}}true{{- end -}}
{{- end -}}

{{/* The files of rules that prometheusRule.names asks for, as a YAML list. */}}
{{- define "podgpu.ruleFiles" -}}
{{- $names := .Values.prometheusRule.names -}}
{{- $files := list -}}
{{- if ne $names "dcgm" -}}{{- $files = append $files "files/rules/podgpu.rules.yaml" -}}{{- end -}}
{{- if ne $names "native" -}}{{- $files = append $files "files/rules/podgpu-dcgm.rules.yaml" -}}{{- end -}}
{{- toYaml $files -}}
{{- end -}}

{{/* The dashboards that dashboards.names asks for, as a YAML list of files. */}}
{{- define "podgpu.dashboardFiles" -}}
{{- $names := .Values.dashboards.names -}}
{{- $files := list -}}
{{- range $file, $_ := .Files.Glob "files/dashboards/*.json" -}}
{{- if has $names (list "both" (ternary "dcgm" "native" (hasSuffix "-dcgm.json" $file))) -}}{{- $files = append $files $file -}}{{- end -}}
{{- end -}}
{{- toYaml $files -}}
{{- end -}}

{{/* "true" if rules or dashboards ask for native families that the nodes' /metrics does not have. */}}
{{- define "podgpu.lacksNative" -}}
{{- $v := .Values -}}
{{- $asked := or (and $v.prometheusRule.enabled (ne $v.prometheusRule.names "dcgm")) (and $v.dashboards.enabled (ne $v.dashboards.names "dcgm")) -}}
{{- $views := include "podgpu.setting" (dict "arguments" (include "podgpu.arguments" $v.arguments | fromJsonArray) "env" $v.extraEnv "bool" false "names" "metrics-views" "variable" "PODGPU_METRICS_VIEWS") | default $v.metricsViews -}}
{{- if and $asked (not (has "native" (splitList "," $views))) -}}true{{- end -}}
{{- end -}}
