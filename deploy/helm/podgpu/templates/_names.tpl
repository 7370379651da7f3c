{{/* Names, labels and selectors. */}}

{{/* "true" if the release has names and labels of dcgm-exporter's chart: others find its pods by them. */}}
{{- define "podgpu.isDcgmExporter" -}}
{{- if and (not .Values.nameOverride) (contains "dcgm-exporter" .Release.Name) -}}true{{- end -}}
{{- end -}}

{{- define "podgpu.name" -}}
{{- $default := ternary "dcgm-exporter" .Chart.Name (eq (include "podgpu.isDcgmExporter" .) "true") -}}
{{- default $default .Values.nameOverride | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{/* The name of all objects, as dcgm-exporter's chart makes it: the name of a release that contains podgpu.name, which
     otherwise follows. Kubernetes allows 63 characters. */}}
{{- define "podgpu.fullname" -}}
{{- $name := include "podgpu.name" . -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 63 | trimSuffix "-" -}}
{{- else if contains $name .Release.Name -}}
{{- .Release.Name | trunc 63 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name $name | trunc 63 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{/* A name and a suffix; a long name is cut, never the suffix. */}}
{{- define "podgpu.suffixed" -}}
{{- $suffix := index . 1 -}}
{{- printf "%s%s" (index . 0 | trunc (sub 63 (len $suffix) | int) | trimSuffix "-") $suffix -}}
{{- end -}}

{{/* The name of all objects with a suffix: (list . "-nodes"). */}}
{{- define "podgpu.named" -}}
{{- include "podgpu.suffixed" (list (include "podgpu.fullname" (index . 0)) (index . 1)) -}}
{{- end -}}

{{- define "podgpu.namespace" -}}
{{- default .Release.Namespace .Values.namespaceOverride -}}
{{- end -}}

{{- define "podgpu.commonLabels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
app.kubernetes.io/part-of: podgpu
{{- end -}}

{{/* The selector of the DaemonSet. Kubernetes refuses a change of it, so a DaemonSet of this name keeps the one it has. */}}
{{- define "podgpu.selectorLabels" -}}
{{- $default := dict "app.kubernetes.io/name" (include "podgpu.name" .) "app.kubernetes.io/instance" .Release.Name "app.kubernetes.io/component" (ternary "dcgm-exporter" "node" (eq (include "podgpu.isDcgmExporter" .) "true")) -}}
{{- $daemonset := lookup "apps/v1" "DaemonSet" (include "podgpu.namespace" .) (include "podgpu.fullname" .) -}}
{{- $kept := dig "spec" "selector" "matchLabels" dict $daemonset -}}
{{- toYaml (.Values.selectorLabels | default $kept | default $default) -}}
{{- end -}}

{{/* A selector may have a label of the common ones, such as the version of an old release: the selector's counts. */}}
{{- define "podgpu.labels" -}}
{{- merge (include "podgpu.selectorLabels" . | fromYaml) (include "podgpu.commonLabels" . | fromYaml) | toYaml -}}
{{- end -}}

{{/* The labels of the Service ...-nodes. They are never those of a selector: a monitor that selects this Service and the
     other Service of the nodes reads each page twice. */}}
{{- define "podgpu.nodesLabels" -}}
{{ include "podgpu.commonLabels" . }}
app.kubernetes.io/name: {{ include "podgpu.suffixed" (list (include "podgpu.name" .) "-nodes") }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/component: nodes
{{- end -}}

{{/* The selector of the cluster role; a Deployment keeps the one it has. Its name differs if the DaemonSet's selector would match
     these pods too. */}}
{{- define "podgpu.clusterSelectorLabels" -}}
{{- $labels := dict "app.kubernetes.io/name" (include "podgpu.name" .) "app.kubernetes.io/instance" .Release.Name "app.kubernetes.io/component" "cluster" -}}
{{- $overlaps := true -}}
{{- range $key, $value := include "podgpu.selectorLabels" . | fromYaml -}}
{{- if ne (get $labels $key) $value -}}{{- $overlaps = false -}}{{- end -}}
{{- end -}}
{{- if $overlaps -}}
{{- $_ := set $labels "app.kubernetes.io/name" (include "podgpu.suffixed" (list (include "podgpu.name" .) "-cluster")) -}}
{{- end -}}
{{- $deployment := lookup "apps/v1" "Deployment" (include "podgpu.namespace" .) (include "podgpu.clusterName" .) -}}
{{- toYaml (dig "spec" "selector" "matchLabels" dict $deployment | default $labels) -}}
{{- end -}}

{{- define "podgpu.clusterLabels" -}}
{{ include "podgpu.commonLabels" . }}
{{ include "podgpu.clusterSelectorLabels" . }}
{{- end -}}

{{- define "podgpu.serviceAccountName" -}}
{{- if .Values.serviceAccount.create -}}
{{- default (include "podgpu.fullname" .) .Values.serviceAccount.name -}}
{{- else -}}
{{- default "default" .Values.serviceAccount.name -}}
{{- end -}}
{{- end -}}

{{- define "podgpu.clusterName" -}}
{{- include "podgpu.named" (list . "-cluster") -}}
{{- end -}}

{{/* "true" if the cluster role asks the API server, so that its pod needs a token. */}}
{{- define "podgpu.clusterToken" -}}
{{- or (ne .Values.cluster.discovery "dns") .Values.metricsApi.enabled (not (empty .Values.cluster.groupLabels)) -}}
{{- end -}}

{{/* The service account of the cluster role: its own, or that of the nodes if the chart makes none. */}}
{{- define "podgpu.clusterServiceAccountName" -}}
{{- if .Values.serviceAccount.create -}}{{- include "podgpu.clusterName" . -}}{{- else -}}{{- include "podgpu.serviceAccountName" . -}}{{- end -}}
{{- end -}}

{{- define "podgpu.tlsSecretName" -}}
{{- if .Values.tlsServerConfig.existingSecret -}}
{{- tpl .Values.tlsServerConfig.existingSecret . -}}
{{- else -}}
{{- include "podgpu.named" (list . "-tls") -}}
{{- end -}}
{{- end -}}

{{/* "true" if the repository is one of dcgm-exporter's own. */}}
{{- define "podgpu.foreignRepository" -}}
{{- if regexMatch "^((docker\\.io/)?nvidia|(nvcr\\.io/)?nvidia/k8s)/dcgm-exporter$" .Values.image.repository -}}true{{- end -}}
{{- end -}}

{{/* "true" if the image of the values is dcgm-exporter's: its repository, or without a digest a tag such as 4.5.3-4.8.2-distroless,
     which is left in old values when only the repository is replaced. */}}
{{- define "podgpu.foreignImage" -}}
{{- $tag := regexMatch "^[0-9]+\\.[0-9]+\\.[0-9]+-[0-9]+\\.[0-9]+\\.[0-9]+(-.*)?$" (toString .Values.image.tag) -}}
{{- if or (include "podgpu.foreignRepository" .) (and $tag (not .Values.image.digest)) -}}true{{- end -}}
{{- end -}}

{{- define "podgpu.image" -}}
{{- $image := .Values.image -}}
{{- if include "podgpu.foreignImage" . -}}
{{- printf "%s:%s" (ternary "podgpu" $image.repository (eq (include "podgpu.foreignRepository" .) "true")) .Chart.AppVersion -}}
{{- else if $image.digest -}}
{{- printf "%s@%s" $image.repository $image.digest -}}
{{- else -}}
{{- printf "%s:%s" $image.repository ($image.tag | default .Chart.AppVersion) -}}
{{- end -}}
{{- end -}}
