{{/*
What each part may do: exactly what its code does, as tests/controlplane/charts/test_rights.py sees it on a real API
server. A right that is missing there is a 403, one that nobody uses fails the test as well.
*/}}

{{/* The operator's for slurm.nebius.ai, in every namespace that it looks after. */}}
{{- define "slurmery.operator.nebiusRules" -}}
# patch is for finalizers: a cluster or NodeSet that is deleted waits until its workers are drained.
- apiGroups: [slurm.nebius.ai]
  resources: [nodesets, slurmclusters]
  verbs: [list, patch, watch]
- apiGroups: [slurm.nebius.ai]
  resources: [nodeconfigurators]
  verbs: [list, watch]
- apiGroups: [slurm.nebius.ai]
  resources: [nodesetpowerstates]
  verbs: [create, delete, get, list, patch, watch]
- apiGroups: [slurm.nebius.ai]
  resources: [nodeconfigurators/status, nodesetpowerstates/status, nodesets/status, slurmclusters/status]
  verbs: [patch]
- apiGroups: [slurm.nebius.ai]
  resources: [nodeconfigurators/finalizers, nodesets/finalizers, slurmclusters/finalizers]
  verbs: [update]
# get is for the workers of NodeSets, which may look at their own pods.
- apiGroups: [""]
  resources: [pods]
  verbs: [create, delete, get, list, patch, watch]
- apiGroups: [""]
  resources: [configmaps, secrets, serviceaccounts, services]
  verbs: [create, delete, get, list, patch, watch]
- apiGroups: [apps]
  resources: [daemonsets, deployments, statefulsets]
  verbs: [create, delete, get, list, patch, watch]
- apiGroups: [apps.kruise.io]
  resources: [statefulsets]
  verbs: [create, delete, get, list, patch, watch]
- apiGroups: [batch]
  resources: [jobs]
  verbs: [create, delete, get, list, patch, watch]
- apiGroups: [rbac.authorization.k8s.io]
  resources: [rolebindings, roles]
  verbs: [create, delete, get, list, patch, watch]
- apiGroups: [monitoring.coreos.com]
  resources: [podmonitors, servicemonitors]
  verbs: [create, delete, get, list, patch, watch]
- apiGroups: [k8s.mariadb.com]
  resources: [databases, grants, mariadbs]
  verbs: [create, delete, get, list, patch, watch]
- apiGroups: [security-profiles-operator.x-k8s.io]
  resources: [apparmorprofiles]
  verbs: [create, delete, get, list, patch, watch]
- apiGroups: [events.k8s.io]
  resources: [events]
  verbs: [create, patch]
- apiGroups: [slurm.nebius.ai]
  resources: [jailedconfigs]
  verbs: [create, delete, get, list, patch, watch]
# What sconfigcontroller gets: nobody may give rights that he does not have.
- apiGroups: [slurm.nebius.ai]
  resources: [jailedconfigs/status]
  verbs: [patch]
- apiGroups: [coordination.k8s.io]
  resources: [leases]
  verbs: [create, get, update]
{{- end }}

{{/* The operator's for slinky.slurm.net. */}}
{{- define "slurmery.operator.rules" -}}
- apiGroups: [slinky.slurm.net]
  resources: [accountings, controllers, loginsets, nodesets, restapis, tokens]
  verbs: [list, watch]
- apiGroups: [slinky.slurm.net]
  resources: [accountings/status, controllers/status, loginsets/status, nodesets/status, restapis/status, tokens/status]
  verbs: [patch]
# Finalizers: a NodeSet that is deleted waits until its workers are drained, and what they need waits for them.
- apiGroups: [slinky.slurm.net]
  resources: [accountings, controllers, nodesets, restapis]
  verbs: [patch]
# What we make holds up its owner's deletion: where OwnerReferencesPermissionEnforcement is on, that is asked for.
- apiGroups: [slinky.slurm.net]
  resources: [accountings/finalizers, controllers/finalizers, loginsets/finalizers, nodesets/finalizers, restapis/finalizers, tokens/finalizers]
  verbs: [update]
- apiGroups: [""]
  resources: [configmaps, secrets, services]
  verbs: [create, delete, get, list, patch, watch]
- apiGroups: [apps]
  resources: [deployments, statefulsets]
  verbs: [create, delete, get, list, patch, watch]
- apiGroups: [policy]
  resources: [poddisruptionbudgets]
  verbs: [create, delete, get, list, patch, watch]
- apiGroups: [monitoring.coreos.com]
  resources: [servicemonitors]
  verbs: [create, delete, get, list, patch, watch]
- apiGroups: [""]
  resources: [pods]
  verbs: [create, delete, list, patch, watch]
- apiGroups: [""]
  resources: [pods/status]
  verbs: [patch]
- apiGroups: [""]
  resources: [persistentvolumeclaims]
  verbs: [create, delete, get, list, patch, watch]
- apiGroups: [apps]
  resources: [controllerrevisions]
  verbs: [create, delete, list, patch]
- apiGroups: [events.k8s.io]
  resources: [events]
  verbs: [create, patch]
{{- end }}

{{/* The operator's, in the whole cluster. */}}
{{- define "slurmery.operator.clusterRules" -}}
- apiGroups: [""]
  resources: [nodes]
  verbs: [list, watch]
{{- if .Values.operator.metricsSecure }}
{{ include "slurmery.reviews" . }}
{{- end }}
{{- end }}

{{/* The webhook's, wherever objects are looked at: what they name is looked up, to warn of what is missing. */}}
{{- define "slurmery.webhook.rules" -}}
- apiGroups: [""]
  resources: [configmaps, persistentvolumeclaims, secrets]
  verbs: [get]
- apiGroups: [slinky.slurm.net]
  resources: [accountings, controllers]
  verbs: [get]
- apiGroups: [slurm.nebius.ai]
  resources: [nodesets, slurmclusters]
  verbs: [get]
{{- if .Values.webhook.podsBinding }}
- apiGroups: [""]
  resources: [pods]
  verbs: [get]
{{- end }}
{{- end }}

{{/* The webhook's, in the whole cluster. */}}
{{- define "slurmery.webhook.clusterRules" -}}
{{- if .Values.webhook.podsBinding }}
- apiGroups: [""]
  resources: [nodes]
  verbs: [get]
{{- end }}
{{- if not .Values.certManager.enabled }}
# No name can be given for a list by label; the one that matters is the patch.
- apiGroups: [admissionregistration.k8s.io]
  resources: [mutatingwebhookconfigurations, validatingwebhookconfigurations]
  verbs: [list, watch]
- apiGroups: [admissionregistration.k8s.io]
  resources: [mutatingwebhookconfigurations, validatingwebhookconfigurations]
  resourceNames: [{{ include "slurmery.webhook.name" . }}]
  verbs: [patch]
{{- end }}
{{- if .Values.webhook.metricsSecure }}
{{ include "slurmery.reviews" . }}
{{- end }}
{{- end }}

{{/* Whether somebody may read metrics is asked of the API server. */}}
{{- define "slurmery.reviews" -}}
- apiGroups: [authentication.k8s.io]
  resources: [tokenreviews]
  verbs: [create]
- apiGroups: [authorization.k8s.io]
  resources: [subjectaccessreviews]
  verbs: [create]
{{- end }}

{{/* A role and its binding: (dict "root" $ "kind" "Role" "namespace" "ns" "name" "n" "account" "a" "rules" "- …"). */}}
{{- define "slurmery.role" -}}
{{- if .rules }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: {{ .kind }}
metadata:
  name: {{ .name }}
  {{- with .namespace }}
  namespace: {{ . }}
  {{- end }}
  labels:
    {{- include "slurmery.labels" .root | nindent 4 }}
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
    {{- include "slurmery.labels" .root | nindent 4 }}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: {{ .kind }}
  name: {{ .name }}
subjects:
  - kind: ServiceAccount
    name: {{ .account }}
    namespace: {{ include "slurmery.namespace" .root }}
{{- end }}
{{- end }}

{{/* All rights of a part: (dict "root" $ "name" "n" "account" "a" "namespaces" "a,b" "rules" "- …" "clusterRules" "- …"). */}}
{{- define "slurmery.rights" -}}
{{- if .namespaces }}
{{- include "slurmery.role" (merge (dict "kind" "ClusterRole" "rules" (trim .clusterRules)) .) }}
{{- $part := . }}
{{- range splitList "," .namespaces }}
{{- include "slurmery.role" (merge (dict "kind" "Role" "namespace" .) $part) }}
{{- end }}
{{- else }}
{{- include "slurmery.role" (merge (dict "kind" "ClusterRole" "rules" (printf "%s\n%s" .rules (trim .clusterRules))) .) }}
{{- end }}
{{- end }}

{{- define "slurmery.account" -}}
{{- if .account.create }}
---
apiVersion: v1
kind: ServiceAccount
metadata:
  name: {{ .name }}
  namespace: {{ include "slurmery.namespace" .root }}
  labels:
    {{- include "slurmery.labels" .root | nindent 4 }}
  {{- with .account.annotations }}
  annotations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
{{- end }}
{{- end }}

{{/* The lease that makes one replica the leader; what is created cannot be named beforehand. */}}
{{- define "slurmery.lease" -}}
- apiGroups: [coordination.k8s.io]
  resources: [leases]
  verbs: [create]
- apiGroups: [coordination.k8s.io]
  resources: [leases]
  resourceNames: [slurm-operator]
  verbs: [get, update]
{{- end }}

{{/* The Secret with the webhook's own authority. */}}
{{- define "slurmery.keeping" -}}
- apiGroups: [""]
  resources: [secrets]
  verbs: [create]
- apiGroups: [""]
  resources: [secrets]
  resourceNames: [{{ include "slurmery.webhook.authority" . }}]
  verbs: [list, patch, watch]
{{- end }}
