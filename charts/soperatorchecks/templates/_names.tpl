{{- define "soperatorchecks.name" -}}
{{ .Release.Name | trunc 50 | trimSuffix "-" }}
{{- end }}

{{- define "soperatorchecks.labels" -}}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
app.kubernetes.io/part-of: slurmery
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end }}

{{/* What the pods are found by; it never holds a version, so that it never has to change. */}}
{{- define "soperatorchecks.selector" -}}
app.kubernetes.io/name: soperatorchecks
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{/* metadata: (list $ name). */}}
{{- define "soperatorchecks.metadata" -}}
{{- $root := index . 0 -}}
name: {{ index . 1 }}
namespace: {{ $root.Release.Namespace }}
labels:
  {{- include "soperatorchecks.labels" $root | nindent 2 }}
{{- end }}

{{- define "soperatorchecks.account" -}}
{{ .Values.checks.serviceAccount.name | default (include "soperatorchecks.name" .) }}
{{- end }}

{{/* Comma-separated namespaces; all of them are "". */}}
{{- define "soperatorchecks.namespaces" -}}
{{- $names := list -}}
{{- range splitList "," .Values.checks.manager.env.slurmOperatorWatchNamespaces }}{{ with trim . }}{{ $names = append $names . }}{{ end }}{{ end -}}
{{- if not (has "*" $names) }}{{ join "," $names }}{{ end -}}
{{- end }}

{{/* The flags. Upstream's values quote some of theirs, which no shell takes off. */}}
{{- define "soperatorchecks.args" -}}
{{- with .Values.checks.manager -}}
{{- $off := list -}}
{{- range $name, $on := .controllersEnabled }}{{ if not $on }}{{ $off = append $off (printf "-%s" $name) }}{{ end }}{{ end -}}
{{- $args := list (printf "--enable-node-replacement=%v" .enableNodeReplacement) -}}
{{- if $off }}{{ $args = append $args (printf "--controllers=*,%s" (join "," $off)) }}{{ end -}}
{{- if .policy }}{{ $args = append $args "--policy=/etc/slurmery/policy.yaml" }}{{ end -}}
{{- range .args }}{{ $args = append $args (replace "\"" "" .) }}{{ end -}}
{{ toYaml $args }}
{{- end }}
{{- end }}

{{/* Whether a switch among the flags is on: (list $ name); "" is no. */}}
{{- define "soperatorchecks.switch" -}}
{{- $args := include "soperatorchecks.args" (index . 0) | fromYamlArray -}}
{{- range list "--%s" "-%s" "--%s=true" "-%s=true" }}{{ if has (printf . (index $ 1)) $args }}on{{ end }}{{ end -}}
{{- end }}
