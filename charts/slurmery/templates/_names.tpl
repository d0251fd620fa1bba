{{- define "slurmery.name" -}}
{{ .Values.fullnameOverride | default .Values.nameOverride | default .Release.Name | trunc 40 | trimSuffix "-" }}
{{- end }}

{{- define "slurmery.namespace" -}}
{{ .Values.namespaceOverride | default .Release.Namespace }}
{{- end }}

{{- define "slurmery.labels" -}}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
app.kubernetes.io/part-of: slurmery
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end }}

{{/* What a part's pods are found by; it never holds a version, so that it never has to change. */}}
{{- define "slurmery.operator.selector" -}}
app.kubernetes.io/name: slurmery
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "slurmery.webhook.selector" -}}
app.kubernetes.io/name: slurmery-webhook
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "slurmery.webhook.name" -}}
{{ include "slurmery.name" . }}-webhook
{{- end }}

{{/* The Secret that the webhook keeps its authority in. */}}
{{- define "slurmery.webhook.authority" -}}
{{ include "slurmery.webhook.name" . }}-authority
{{- end }}

{{- define "slurmery.operator.account" -}}
{{ .Values.operator.serviceAccount.name | default (include "slurmery.name" .) }}
{{- end }}

{{- define "slurmery.webhook.account" -}}
{{ .Values.webhook.serviceAccount.name | default (include "slurmery.webhook.name" .) }}
{{- end }}

{{/* Comma-separated namespaces of a list or a text: all of them are "". */}}
{{- define "slurmery.namespaces" -}}
{{- $given := kindIs "string" . | ternary (splitList "," (toString .)) . -}}
{{- $names := list -}}
{{- range $given }}{{ with trim (toString .) }}{{ $names = append $names . }}{{ end }}{{ end -}}
{{- if not (has "*" $names) }}{{ join "," $names }}{{ end -}}
{{- end }}

{{- define "slurmery.operator.namespaces" -}}
{{ include "slurmery.namespaces" .Values.operator.namespaces }}
{{- end }}

{{- define "slurmery.webhook.namespaces" -}}
{{ include "slurmery.namespaces" .Values.webhook.namespaces | default (include "slurmery.operator.namespaces" .) }}
{{- end }}

{{/* The image of a part: (list $ part). */}}
{{- define "slurmery.image" -}}
{{- $root := index . 0 -}}
{{- $ours := $root.Values.operator.image -}}
{{- $image := index . 1 -}}
{{- $repository := $image.repository | default $ours.repository -}}
{{- if $image.digest }}{{ $repository }}@{{ $image.digest }}
{{- else if $image.tag }}{{ $repository }}:{{ $image.tag }}
{{- else if $ours.digest }}{{ $repository }}@{{ $ours.digest }}
{{- else }}{{ $repository }}:{{ $ours.tag | default $root.Chart.AppVersion }}
{{- end -}}
{{- end }}
