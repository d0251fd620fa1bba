{{/* Labels that never change: what belongs to a cluster is not touched by a new chart. */}}
{{- define "slurm-cluster.labels" -}}
app.kubernetes.io/instance: {{ .Values.clusterName }}
app.kubernetes.io/part-of: slurm
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end }}

{{/* metadata: (list $ name). */}}
{{- define "slurm-cluster.metadata" -}}
{{- $root := index . 0 -}}
name: {{ index . 1 }}
namespace: {{ $root.Release.Namespace }}
labels:
  {{- include "slurm-cluster.labels" $root | nindent 2 }}
{{- end }}

{{/* The PriorityClasses, by component, as JSON; they are nobody's namespace's, so they carry the cluster's name. */}}
{{- define "slurm-cluster.priorities" -}}
{{- $values := dict "controller" 1000001 "login" 100002 "accounting" 100003 "exporter" 100004 "rest" 100005 "sconfigcontroller" 100006 "populate-jail" 100007 -}}
{{- if .Values.slurmNodes.worker }}{{ $_ := set $values "worker" 1000000 }}{{ end -}}
{{- if (.Values.slurmNodes.accounting.mariadbOperator | default dict).enabled }}{{ $_ := set $values "mariadb" 100008 }}{{ end -}}
{{ toJson $values }}
{{- end }}

{{- define "slurm-cluster.priority" -}}
{{ (index . 0).Values.clusterName }}-slurm-{{ index . 1 }}
{{- end }}
