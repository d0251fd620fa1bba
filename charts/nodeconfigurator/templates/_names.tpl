{{- define "nodeconfigurator.labels" -}}
app.kubernetes.io/part-of: slurmery
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end }}

{{- define "nodeconfigurator.account" -}}
{{ .Values.rebooter.serviceAccountName | default .Release.Name }}
{{- end }}
