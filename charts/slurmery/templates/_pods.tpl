{{/* What the pods of both parts have in common: (list $ values). */}}
{{- define "slurmery.pod" -}}
{{- $root := index . 0 }}
{{- $part := index . 1 }}
{{- with $root.Values.imagePullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $root.Values.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- with $part.podSecurityContext }}
securityContext:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $part.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $part.affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $part.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $part.topologySpreadConstraints }}
topologySpreadConstraints:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{/* And their containers. */}}
{{- define "slurmery.container" -}}
{{- $root := index . 0 }}
{{- $part := index . 1 -}}
image: {{ include "slurmery.image" (list $root $part.image) }}
imagePullPolicy: {{ $root.Values.imagePullPolicy }}
# On a busy machine an answer may take its time; a webhook that is taken for dead refuses everything.
livenessProbe:
  httpGet: {path: /healthz, port: health}
  initialDelaySeconds: 10
  periodSeconds: 20
  timeoutSeconds: 10
readinessProbe:
  httpGet: {path: /readyz, port: health}
  periodSeconds: 2
  timeoutSeconds: 5
{{- with $part.securityContext }}
securityContext:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $part.resources }}
resources:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{/* A disruption budget: (list $ values name selector). */}}
{{- define "slurmery.pdb" -}}
{{- $root := index . 0 }}
{{- $part := index . 1 }}
{{- if and $part.enabled $part.pdb.enabled (gt (int $part.replicas) 1) }}
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  name: {{ index . 2 }}
  namespace: {{ include "slurmery.namespace" $root }}
  labels:
    {{- include "slurmery.labels" $root | nindent 4 }}
spec:
  {{- if kindIs "invalid" $part.pdb.maxUnavailable }}
  minAvailable: {{ $part.pdb.minAvailable }}
  {{- else }}
  maxUnavailable: {{ $part.pdb.maxUnavailable }}
  {{- end }}
  selector:
    matchLabels:
      {{- index . 3 | nindent 6 }}
{{- end }}
{{- end }}
