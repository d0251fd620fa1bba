{{/*
Every webhook, as slurmery.admission.hooks knows it; a unit test compares the two. The names and paths of our kinds
follow from the kind.
*/}}
{{- define "slurmery.validating" -}}
{{- range $kind := list "accounting" "controller" "loginset" "nodeset" "restapi" "token" }}
- name: {{ $kind }}-v1beta1.kb.io
  path: /validate-slinky-slurm-net-v1beta1-{{ $kind }}
  rule: {apiGroups: [slinky.slurm.net], apiVersions: [v1beta1], operations: [CREATE, UPDATE], resources: [{{ $kind }}s], scope: Namespaced}
{{- end }}
- name: vsecret-v1.kb.io
  path: /validate--v1-secret
  rule: {apiGroups: [""], apiVersions: [v1], operations: [CREATE, UPDATE, DELETE], resources: [secrets], scope: Namespaced}
  # Generated passwords; all other Secrets are none of our business.
  labels: {slurm.nebius.ai/webhook: "true"}
- name: vslurmcluster-v1.kb.io
  path: /validate-slurm-nebius-ai-v1-slurmcluster
  rule: {apiGroups: [slurm.nebius.ai], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [slurmclusters], scope: Namespaced}
- name: vnodeset-v1alpha1.kb.io
  path: /validate-slurm-nebius-ai-v1alpha1-nodeset
  rule: {apiGroups: [slurm.nebius.ai], apiVersions: [v1alpha1], operations: [CREATE, UPDATE], resources: [nodesets], scope: Namespaced}
{{- end }}

{{- define "slurmery.mutating" -}}
{{- if .Values.webhook.podsBinding }}
- name: podsbinding-v1.kb.io
  path: /mutate--v1-binding
  rule: {apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods/binding], scope: Namespaced}
  # The webhook's own pods must not wait for it to be bound.
  spared: {{ include "slurmery.namespace" . }}
{{- end }}
- name: nodeconfigurator.mutating.slurm.nebius.ai
  path: /mutate-slurm-nebius-ai-v1alpha1-nodeconfigurator
  rule: {apiGroups: [slurm.nebius.ai], apiVersions: [v1alpha1], operations: [CREATE, UPDATE], resources: [nodeconfigurators], scope: Namespaced}
{{- end }}

{{/* Conditions of all that refuses: nothing that is on its way out waits for us, nor does a label or a status. */}}
{{- define "slurmery.conditions" -}}
- name: stays
  expression: "request.operation == 'DELETE' || !has(object.metadata.deletionTimestamp)"
- name: differs
  expression: "request.operation != 'UPDATE' || !has(object.spec) || !has(oldObject.spec) || object.spec != oldObject.spec"
{{- end }}

{{/* What the two configurations have in common: (list $ kind hooks values conditions seconds). */}}
{{- define "slurmery.configuration" -}}
{{- $root := index . 0 }}
{{- $values := index . 3 }}
{{- $conditions := concat (index . 4) ($values.matchConditions | default list) }}
{{- $seconds := index . 5 }}
{{- $namespaces := include "slurmery.webhook.namespaces" $root -}}
apiVersion: admissionregistration.k8s.io/v1
kind: {{ index . 1 }}
metadata:
  name: {{ include "slurmery.webhook.name" $root }}
  labels:
    {{- include "slurmery.labels" $root | nindent 4 }}
    {{- if not $root.Values.certManager.enabled }}
    {{- $authority := printf "%s.%s" (include "slurmery.namespace" $root) (include "slurmery.webhook.authority" $root) }}
    {{- if gt (len $authority) 63 }}
    {{- fail (printf "the names of the namespace and the release are too long together: %q is more than 63 characters; set fullnameOverride" $authority) }}
    {{- end }}
    # Here the webhook finds out who has to trust its authority, and writes it in as caBundle.
    slurmery/authority: {{ $authority }}
    {{- else }}
  annotations:
    cert-manager.io/inject-ca-from: {{ include "slurmery.namespace" $root }}/{{ include "slurmery.webhook.name" $root }}
    {{- end }}
webhooks:
  {{- range index . 2 }}
  - name: {{ .name }}
    clientConfig:
      service:
        namespace: {{ include "slurmery.namespace" $root }}
        name: {{ include "slurmery.webhook.name" $root }}
        port: 443
        path: {{ .path }}
    rules:
      - {{ toJson .rule }}
    failurePolicy: {{ $values.failurePolicy }}
    matchPolicy: {{ $values.matchPolicy }}
    sideEffects: None
    admissionReviewVersions: [v1, v1beta1]
    timeoutSeconds: {{ $seconds }}
    {{- with .labels }}
    objectSelector:
      matchLabels:
        {{- toYaml . | nindent 8 }}
    {{- end }}
    {{- if $values.namespaceSelector }}
    namespaceSelector:
      {{- toYaml $values.namespaceSelector | nindent 6 }}
    {{- else }}
    namespaceSelector:
      matchExpressions:
        - key: kubernetes.io/metadata.name
          operator: NotIn
          values: {{ concat (list "kube-system" "kube-public" "kube-node-lease") (.spared | default "" | list | compact) | toJson }}
        {{- with $namespaces }}
        - key: kubernetes.io/metadata.name
          operator: In
          values: {{ splitList "," . | toJson }}
        {{- end }}
    {{- end }}
    {{- with $conditions }}
    matchConditions:
      {{- toYaml . | nindent 6 }}
    {{- end }}
  {{- end }}
{{- end }}
