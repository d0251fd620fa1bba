{{- define "storage.labels" -}}
app.kubernetes.io/part-of: slurm
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end }}

{{/* A name as Kubernetes takes it: words in lower case with dashes between them. */}}
{{- define "storage.kebab" -}}
{{- $words := regexReplaceAll "([A-Z]+)([A-Z][a-z])" (trim .) "${1}-${2}" -}}
{{- $words = regexReplaceAll "([a-z0-9])([A-Z])" $words "${1}-${2}" -}}
{{ regexReplaceAll "[^a-z0-9]+" (lower $words) "-" | trimAll "-" }}
{{- end }}

{{/* All volumes, as a JSON list: each as it was given, with its path, type, name, and where it is. */}}
{{- define "storage.volumes" -}}
{{- $found := list -}}
{{- $given := .Values.volume -}}
{{- range $key, $usual := dict "jail" "jail" "controllerSpool" "controller-spool" "accounting" "accounting" }}
{{- $volume := deepCopy (get $given $key) }}
{{- if dig "enabled" true $volume }}
{{- $name := include "storage.kebab" ($volume.name | default $usual) }}
{{- $found = append $found (mustMergeOverwrite $volume (dict "at" (printf "volume.%s" $key) "name" $name "place" $key "mode" (eq $key "jail" | ternary "ReadWriteMany" "ReadWriteOnce"))) }}
{{- end }}
{{- end -}}
{{- range $index, $each := $given.jailSubMounts }}
{{- $at := printf "volume.jailSubMounts[%d]" $index }}
{{- $name := include "storage.kebab" (required (printf "%s.name must be given" $at) $each.name) }}
{{- $found = append $found (mustMergeOverwrite (deepCopy $each) (dict "at" $at "name" (printf "jail-submount-%s" $name) "place" "jail" "mode" "ReadWriteMany")) }}
{{- end -}}
{{ toJson $found }}
{{- end }}

{{/* What is below a volume. */}}
{{- define "storage.type" -}}
{{- if .type }}{{ .type }}{{ else if .filestoreDeviceName }}filestore{{ else if .glusterfsHostName }}glusterfs{{ else }}storageClass{{ end -}}
{{- end }}

{{- define "storage.local" -}}
{{ .Values.storageClass.local.name | default "slurm-local-pv" }}
{{- end }}

{{/* Which nodes have the device of a volume, as a JSON list of expressions: (list $ place). */}}
{{- define "storage.nodes" -}}
{{- $root := index . 0 -}}
{{- $place := index . 1 -}}
{{- $groups := eq $place "jail" | ternary (list $root.Values.nodeGroup.gpu.id $root.Values.nodeGroup.nonGpu.id) (list $root.Values.nodeGroup.nonGpu.id) | compact -}}
{{- $given := (get $root.Values.storage $place).matchExpressions -}}
{{- if $given }}{{ toJson $given }}
{{- else if $groups }}{{ list (dict "key" "nebius.com/node-group-id" "operator" "In" "values" $groups) | toJson }}
{{- else }}{{ list (dict "key" "kubernetes.io/os" "operator" "In" "values" (list "linux")) | toJson }}
{{- end -}}
{{- end }}
