{{/*
What the checks may do: exactly what their code does, as tests/controlplane/charts/test_health_rights.py sees it on a real
API server. A right that is missing there is a 403, one that nobody uses fails the test as well.
*/}}

{{/* In every namespace that is looked after. */}}
{{- define "soperatorchecks.rules" -}}
{{- $on := .Values.checks.manager.controllersEnabled -}}
- apiGroups: [slurm.nebius.ai]
  resources: [slurmclusters]
  verbs: [list, watch]
- apiGroups: [slinky.slurm.net]
  resources: [controllers, restapis]
  verbs: [list, watch]
- apiGroups: [""]
  resources: [pods]
  verbs: [list, watch]
# The keys that tokens for slurmrestd are signed with.
- apiGroups: [""]
  resources: [secrets]
  verbs: [get]
{{- if $on.activecheck }}
- apiGroups: [slurm.nebius.ai]
  resources: [activechecks]
  verbs: [list, patch, watch]
- apiGroups: [slurm.nebius.ai]
  resources: [activechecks/status]
  verbs: [patch]
- apiGroups: [slurm.nebius.ai]
  resources: [activechecks/finalizers]
  verbs: [update]
- apiGroups: [""]
  resources: [serviceaccounts]
  verbs: [create, get, list, patch, watch]
- apiGroups: [batch]
  resources: [cronjobs]
  verbs: [create, get, list, patch, watch]
- apiGroups: [rbac.authorization.k8s.io]
  resources: [rolebindings, roles]
  verbs: [create, get, list, patch, watch]
- apiGroups: [""]
  resources: [configmaps, podtemplates]
  verbs: [get]
- apiGroups: [batch]
  resources: [jobs]
  verbs: [create, list, watch]
# What the pods of checks get: nobody may give rights that he does not have.
- apiGroups: [""]
  resources: [pods]
  verbs: [get]
- apiGroups: [batch]
  resources: [jobs]
  verbs: [get, patch]
{{- end }}
{{ include "soperatorchecks.events" . }}
{{- end }}

{{/* Events; those about nodes are in the namespace default. */}}
{{- define "soperatorchecks.events" -}}
- apiGroups: [events.k8s.io]
  resources: [events]
  verbs: [create, patch]
{{- end }}

{{/* In the whole cluster. */}}
{{- define "soperatorchecks.clusterRules" -}}
{{- $on := .Values.checks.manager.controllersEnabled -}}
- apiGroups: [""]
  resources: [nodes]
  verbs: [list, watch]
{{- if or $on.slurmnodes $on.k8snodes }}
- apiGroups: [""]
  resources: [nodes/status]
  verbs: [patch]
{{- end }}
{{- if $on.k8snodes }}
- apiGroups: [""]
  resources: [nodes]
  verbs: [delete]
{{- end }}
{{- if $on.podephemeralstoragecheck }}
# Asked of kubelets, which ask the API server.
- apiGroups: [""]
  resources: [nodes/stats]
  verbs: [get]
{{- end }}
{{- if include "soperatorchecks.switch" (list . "metrics-secure") }}
- apiGroups: [authentication.k8s.io]
  resources: [tokenreviews]
  verbs: [create]
- apiGroups: [authorization.k8s.io]
  resources: [subjectaccessreviews]
  verbs: [create]
{{- end }}
{{- end }}

{{/* The lease that makes one replica the leader; what is created cannot be named beforehand. */}}
{{- define "soperatorchecks.lease" -}}
- apiGroups: [coordination.k8s.io]
  resources: [leases]
  verbs: [create]
- apiGroups: [coordination.k8s.io]
  resources: [leases]
  resourceNames: [a22156dp.nebius.ai]
  verbs: [get, update]
{{- end }}

{{/* A role and its binding: (dict "root" $ "kind" "Role" "namespace" "ns" "name" "n" "rules" "- …"). */}}
{{- define "soperatorchecks.role" -}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: {{ .kind }}
metadata:
  name: {{ .name }}
  {{- with .namespace }}
  namespace: {{ . }}
  {{- end }}
  labels:
    {{- include "soperatorchecks.labels" .root | nindent 4 }}
rules:
  {{- .rules | nindent 2 }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: {{ .kind }}Binding
metadata:
  name: {{ .name }}
  {{- with .namespace }}
  namespace: {{ . }}
  {{- end }}
  labels:
    {{- include "soperatorchecks.labels" .root | nindent 4 }}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: {{ .kind }}
  name: {{ .name }}
subjects:
  - kind: ServiceAccount
    name: {{ include "soperatorchecks.account" .root }}
    namespace: {{ .root.Release.Namespace }}
{{ end }}
