{{- define "monitoring.name" -}}
{{ .Release.Name | trunc 40 | trimSuffix "-" }}
{{- end }}

{{- define "monitoring.labels" -}}
app.kubernetes.io/name: slurmery-monitoring
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end }}

{{- define "monitoring.exporter.selector" -}}
app.kubernetes.io/name: slurm-exporter
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}
