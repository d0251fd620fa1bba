{{/* An object without what says nothing: null, "", {} and []. False and 0 are said. */}}
{{- define "slurm.said" -}}
{{- $said := dict -}}
{{- range $key, $value := . }}
{{- if or $value (kindIs "bool" $value) (kindIs "float64" $value) (kindIs "int64" $value) (kindIs "int" $value) }}
{{- $_ := set $said $key $value }}
{{- end }}
{{- end -}}
{{ toJson $said }}
{{- end }}

{{/* An image as Kubernetes knows it, from a text or {repository, tag, digest}: (list path image). */}}
{{- define "slurm.image" -}}
{{- $path := index . 0 -}}
{{- $image := index . 1 -}}
{{- if kindIs "string" $image }}{{ required (printf "%s must not be empty" $path) $image }}
{{- else }}
{{- $repository := required (printf "%s.repository must be given" $path) $image.repository -}}
{{- if $image.digest }}{{ $repository }}@{{ $image.digest }}
{{- else }}{{ $repository }}:{{ required (printf "%s.tag or %s.digest must be given" $path $path) $image.tag }}
{{- end }}
{{- end -}}
{{- end }}

{{/* A container, as JSON: (list $ path values). One that needs no image of its own has none. */}}
{{- define "slurm.container" -}}
{{- $root := index . 0 -}}
{{- $path := printf "%s.image" (index . 1) -}}
{{- $container := include "slurm.said" (omit (index . 2) "image") | fromJson -}}
{{- $image := (index . 2).image -}}
{{- if not (kindIs "invalid" $image) -}}
{{- $_ := set $container "image" (include "slurm.image" (list $path $image)) -}}
{{- $_ := set $container "imagePullPolicy" ($container.imagePullPolicy | default $root.Values.imagePullPolicy) -}}
{{- end -}}
{{ toJson $container }}
{{- end }}

{{/* The pod template, as JSON: (list $ values). */}}
{{- define "slurm.template" -}}
{{- $root := index . 0 -}}
{{- $part := index . 1 -}}
{{- $spec := include "slurm.said" ($part.podSpec | default dict) | fromJson -}}
{{- with $root.Values.imagePullSecrets }}{{ $_ := set $spec "imagePullSecrets" . }}{{ end -}}
{{- with $root.Values.priorityClass }}
{{- if and .enabled (not $spec.priorityClassName) }}{{ $_ := set $spec "priorityClassName" .name }}{{ end }}
{{- end -}}
{{- include "slurm.said" (dict "metadata" $part.metadata "spec" $spec) -}}
{{- end }}

{{/* A Service's template, as JSON. */}}
{{- define "slurm.service" -}}
{{ include "slurm.said" (. | default dict) }}
{{- end }}

{{/* Key=Value items of a map of values or lists, in the order of the keys: (list map separator). */}}
{{- define "slurm.pairs" -}}
{{- $pairs := list -}}
{{- range $key, $value := index . 0 }}
{{- if kindIs "slice" $value }}{{ $value = join "," $value }}{{ end }}
{{- if kindIs "float64" $value }}{{ $value = $value | toString }}{{ end }}
{{- if $value }}{{ $pairs = append $pairs (printf "%s=%v" $key $value) }}{{ end }}
{{- end -}}
{{ join (index . 1) $pairs }}
{{- end }}

{{/* The text, or else the map: (list text map separator). */}}
{{- define "slurm.conf" -}}
{{- if index . 0 }}{{ index . 0 | trimSuffix "\n" }}
{{- else }}{{ include "slurm.pairs" (list (index . 1 | default dict) (index . 2)) }}
{{- end -}}
{{- end }}

{{/* Lines for slurm.conf: the user's, then the partitions. */}}
{{- define "slurm.extraConf" -}}
{{- $lines := list (include "slurm.conf" (list .Values.controller.extraConf .Values.controller.extraConfMap "\n")) -}}
{{- $known := include "slurm.nodesets" . | fromJson -}}
{{- range $name, $partition := .Values.partitions }}
{{- if and (not (kindIs "invalid" $partition)) (dig "enabled" true ($partition | default dict)) }}
{{- $nodesets := required (printf "partitions.%s.nodesets must name node sets, or ALL" $name) $partition.nodesets }}
{{- range $nodesets }}
{{- if and (ne . "ALL") (not (hasKey $known .)) }}
{{- fail (printf "partitions.%s.nodesets: %q is not a node set that is enabled; there are: %s" $name . (keys $known | sortAlpha | join ", " | default "none")) }}
{{- end }}
{{- end }}
{{- $conf := include "slurm.conf" (list $partition.config $partition.configMap " ") }}
{{- $lines = append $lines (printf "PartitionName=%s Nodes=%s %s" $name (join "," $nodesets) $conf | trim) }}
{{- end }}
{{- end -}}
{{ compact $lines | join "\n" }}
{{- end }}

{{/* References to the scripts of a kind, as JSON, in the order that they run: (list $ kind). */}}
{{- define "slurm.scripts" -}}
{{- $root := index . 0 -}}
{{- $kind := index . 1 -}}
{{- $refs := index $root.Values (printf "%sScriptRefs" $kind) | default list -}}
{{- if index $root.Values (printf "%sScripts" $kind) }}
{{- $ours := list (dict "name" (printf "%s-%s-scripts" (include "slurm.fullname" $root) (kebabcase $kind))) }}
{{- $refs = eq $kind "prolog" | ternary (concat $ours $refs) (concat $refs $ours) }}
{{- end -}}
{{ toJson $refs }}
{{- end }}
