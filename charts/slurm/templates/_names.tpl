{{- define "slurm.fullname" -}}
{{- $name := .Values.nameOverride | default .Chart.Name -}}
{{- if .Values.fullnameOverride }}{{ .Values.fullnameOverride | trunc 40 | trimSuffix "-" }}
{{- else if contains $name .Release.Name }}{{ .Release.Name | trunc 40 | trimSuffix "-" }}
{{- else }}{{ printf "%s-%s" .Release.Name $name | trunc 40 | trimSuffix "-" }}
{{- end -}}
{{- end }}

{{- define "slurm.namespace" -}}
{{ .Values.namespaceOverride | default .Release.Namespace }}
{{- end }}

{{/* Pods get the labels of their custom resource: a version among them would replace every pod with every chart. */}}
{{- define "slurm.labels" -}}
app.kubernetes.io/part-of: slurm
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end }}

{{/* metadata: (list $ name). */}}
{{- define "slurm.metadata" -}}
{{- $root := index . 0 -}}
name: {{ index . 1 }}
namespace: {{ include "slurm.namespace" $root }}
labels:
  {{- include "slurm.labels" $root | nindent 2 }}
{{- end }}

{{- define "slurm.slurmKeyRef" -}}
name: {{ .Values.slurmKey.secretRef.name | default (printf "%s-auth-slurm" (include "slurm.fullname" .)) }}
key: {{ .Values.slurmKey.secretRef.key | default "slurm.key" }}
{{- end }}

{{- define "slurm.jwtKeyRef" -}}
name: {{ .Values.jwtKey.secretRef.name | default (printf "%s-auth-jwt" (include "slurm.fullname" .)) }}
key: {{ .Values.jwtKey.secretRef.key | default "jwt.key" }}
{{- end }}

{{- define "slurm.sssdConfRef" -}}
name: {{ .Values.sssd.secretRef.name | default (printf "%s-sssd-conf" (include "slurm.fullname" .)) }}
key: {{ .Values.sssd.secretRef.key | default "sssd.conf" }}
{{- end }}

{{/* The keys of a cluster as every daemon's spec names them. */}}
{{- define "slurm.keys" -}}
slurmKeyRef:
  {{- include "slurm.slurmKeyRef" . | nindent 2 }}
jwtKeyRef:
  {{- include "slurm.jwtKeyRef" . | nindent 2 }}
{{- if .Values.jwksKeys.enabled }}
jwksKeyRef:
  name: {{ .Values.jwksKeys.configMapRef.name | default (printf "%s-auth-jwks" (include "slurm.fullname" .)) }}
  key: {{ .Values.jwksKeys.configMapRef.key | default "jwks.json" }}
{{- end }}
{{- end }}

{{/* The sets that are switched on, over their defaults, by key: (list defaults sets). */}}
{{- define "slurm.sets" -}}
{{- $defaults := index . 0 -}}
{{- $sets := dict -}}
{{- range $key, $given := index . 1 }}
{{- $set := mustMergeOverwrite (deepCopy $defaults) (deepCopy ($given | default dict)) -}}
{{- if $set.enabled }}{{ $_ := set $sets $key $set }}{{ end }}
{{- end -}}
{{ toJson $sets }}
{{- end }}

{{- define "slurm.nodesets" -}}
{{ include "slurm.sets" (list .Values.nodesetDefaults .Values.nodesets) }}
{{- end }}

{{- define "slurm.loginsets" -}}
{{ include "slurm.sets" (list .Values.loginsetDefaults .Values.loginsets) }}
{{- end }}
