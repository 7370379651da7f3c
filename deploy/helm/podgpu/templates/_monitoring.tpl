{{/* Rules and dashboards: which of the chart's files are asked for, and whether they can have values. */}}

{{/* "true" if the cluster has the kinds of the Prometheus Operator, at .version of .root, or if the values say so: "helm template"
     knows no cluster. */}}
{{- define "podgpu.hasOperator" -}}
{{- if or .root.Values.serviceMonitor.force (.root.Capabilities.APIVersions.Has .version) -}}true{{- end -}}
{{- end -}}

{{- define "podgpu.hasMonitors" -}}
{{- include "podgpu.hasOperator" (dict "root" . "version" .Values.serviceMonitor.apiVersion) -}}
{{- end -}}

{{- define "podgpu.hasPrometheusRule" -}}
{{- include "podgpu.hasOperator" (dict "root" . "version" "monitoring.coreos.com/v1") -}}
{{- end -}}

{{/* The milliseconds of a duration of Prometheus such as 1m30s; 0 if it is none. */}}
{{- define "podgpu.milliseconds" -}}
{{- $units := dict "ms" 1 "s" 1000 "m" 60000 "h" 3600000 "d" 86400000 "w" 604800000 "y" 31536000000 -}}
{{- $sum := 0 -}}
{{- if regexMatch "^([0-9]+(ms|[smhdwy]))+$" . -}}
{{- range regexFindAll "[0-9]+(ms|[smhdwy])" . -1 -}}
{{- $unit := regexFind "[a-z]+$" . -}}
{{- $sum = add $sum (mul (trimSuffix $unit . | int64) (get $units $unit)) -}}
{{- end -}}
{{- end -}}
{{- $sum -}}
{{- end -}}

{{/* How often Prometheus reads the page of a node, and how long that may take. Releases of dcgm-exporter's chart differ. */}}
{{- define "podgpu.scrapeTimes" -}}
{{- $m := .Values.serviceMonitor -}}
{{- $is_old := has (.Values.compatibility.version | default "" | toString) (list "" "4.8.2") -}}
{{- $interval := $m.interval | default (ternary "15s" "30s" $is_old) -}}
{{- $usual := ternary "10s" "25s" $is_old -}}
{{- $is_longer := gt (include "podgpu.milliseconds" $usual | int64) (include "podgpu.milliseconds" $interval | int64) -}}
interval: {{ $interval }}
scrapeTimeout: {{ $m.scrapeTimeout | default (ternary $interval $usual $is_longer) }}
{{- end -}}

{{/* Values of monitors that have no effect, or that Prometheus refuses. */}}
{{- define "podgpu.checkMonitors" -}}
{{- $v := .Values -}}
{{- if $v.serviceMonitor.namespace -}}
{{- fail "podgpu: serviceMonitor.namespace has no effect: the monitor stands beside the Service that it selects. Remove it; namespaceOverride moves all objects" -}}
{{- end -}}
{{- if $v.serviceMonitor.labels -}}
{{- fail "podgpu: serviceMonitor.labels has no effect, as in dcgm-exporter's chart. Use serviceMonitor.additionalLabels" -}}
{{- end -}}
{{- $monitors := dict -}}
{{- if or $v.serviceMonitor.enabled $v.podMonitor.enabled -}}{{- $_ := set $monitors "serviceMonitor" (include "podgpu.scrapeTimes" . | fromYaml) -}}{{- end -}}
{{- if and $v.cluster.enabled $v.cluster.serviceMonitor.enabled -}}{{- $_ := set $monitors "cluster.serviceMonitor" $v.cluster.serviceMonitor -}}{{- end -}}
{{- range $key, $monitor := $monitors -}}
{{- $interval := include "podgpu.milliseconds" $monitor.interval | int64 -}}
{{- $timeout := include "podgpu.milliseconds" $monitor.scrapeTimeout | int64 -}}
{{- if and $interval (gt $timeout $interval) -}}
{{- fail (printf "podgpu: %s.interval is %s, but %s.scrapeTimeout is %s: Prometheus refuses a timeout above the interval. Lower scrapeTimeout to %s or less, or raise the interval" $key $monitor.interval $key $monitor.scrapeTimeout $monitor.interval) -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* The files of rules that prometheusRule.names asks for, as a YAML list. */}}
{{- define "podgpu.ruleFiles" -}}
{{- $names := .Values.prometheusRule.names -}}
{{- $files := list -}}
{{- if ne $names "dcgm" -}}{{- $files = append $files "files/rules/podgpu.rules.yaml" -}}{{- end -}}
{{- if ne $names "native" -}}{{- $files = append $files "files/rules/podgpu-dcgm.rules.yaml" -}}{{- end -}}
{{- toYaml $files -}}
{{- end -}}

{{/* The groups of these files, with what prometheusRule has for them, as a YAML list. */}}
{{- define "podgpu.ruleGroups" -}}
{{- $r := .Values.prometheusRule -}}
{{- $groups := list -}}
{{- $unknown := keys $r.alerts -}}
{{- range $file := include "podgpu.ruleFiles" . | fromYamlArray -}}
{{- range $group := ($.Files.Get $file | fromYaml).groups -}}
{{- $rules := list -}}
{{- range $rule := $group.rules -}}
{{- $unknown = without $unknown ($rule.alert | default "") -}}
{{- $own := get $r.alerts ($rule.alert | default "") | default dict -}}
{{- if dig "enabled" true $own -}}{{- $rules = append $rules (include "podgpu.rule" (dict "rule" $rule "own" $own "root" $) | fromYaml) -}}{{- end -}}
{{- end -}}
{{- $_ := set $group "rules" $rules -}}
{{- if $r.interval -}}{{- $_ := set $group "interval" $r.interval -}}{{- end -}}
{{- $groups = append $groups $group -}}
{{- end -}}
{{- end -}}
{{- if $unknown -}}
{{- fail (printf "podgpu: prometheusRule.alerts has %s, which is no alert with prometheusRule.names=%s. docs/operations.md lists the alerts" ($unknown | sortAlpha | join ", ") $r.names) -}}
{{- end -}}
{{- toYaml $groups -}}
{{- end -}}

{{/* .rule with the values of .own. A PodMonitor's job is its namespace and name. */}}
{{- define "podgpu.rule" -}}
{{- $rule := omit .rule "threshold" -}}
{{- if hasKey .own "threshold" -}}
{{- if not (hasKey .rule "threshold") -}}
{{- fail (printf "podgpu: prometheusRule.alerts.%s.threshold has no effect: this alert has none. Remove it" $rule.alert) -}}
{{- end -}}
{{- $_ := set .rule "threshold" .own.threshold -}}
{{- end -}}
{{- $job := printf "(%s/)?%s" (include "podgpu.namespace" .root) (include "podgpu.fullname" .root) -}}
{{- $_ := set $rule "expr" (replace "THRESHOLD" (toString .rule.threshold) $rule.expr | replace "JOB" $job) -}}
{{- if $rule.alert -}}
{{- $_ := set $rule "for" (.own.for | default $rule.for) -}}
{{- $_ := set $rule.labels "severity" (.own.severity | default $rule.labels.severity) -}}
{{- $_ := set $rule.annotations "runbook_url" (replace "docs/operations.md" .root.Values.prometheusRule.runbookUrl $rule.annotations.runbook_url) -}}
{{- end -}}
{{- toYaml $rule -}}
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
