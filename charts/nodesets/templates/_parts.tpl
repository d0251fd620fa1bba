{{- define "nodesets.labels" -}}
app.kubernetes.io/part-of: slurm
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end }}

{{/* An object without its nulls, at any depth, as JSON. */}}
{{- define "nodesets.clean" -}}
{{- $clean := dict -}}
{{- range $key, $value := . }}
{{- if kindIs "map" $value }}{{ $_ := set $clean $key (include "nodesets.clean" $value | fromJson) }}
{{- else if not (kindIs "invalid" $value) }}{{ $_ := set $clean $key $value }}
{{- end }}
{{- end -}}
{{ toJson $clean }}
{{- end }}

{{/* A container, as JSON: (list $ path given image), the last being a key of `images`. */}}
{{- define "nodesets.container" -}}
{{- $root := index . 0 -}}
{{- $path := index . 1 -}}
{{- $container := index . 2 | default dict -}}
{{- $image := mustMerge (deepCopy ($container.image | default dict)) (get $root.Values.images (index . 3) | default dict) -}}
{{- $_ := required (printf "%s.image.repository, or images.%s.repository, must be given" $path (index . 3)) $image.repository -}}
{{- if $image.tag }}{{ $_ := set $image "tag" (toString $image.tag) }}{{ end -}}
{{- $names := dict "ephemeralStorage" "ephemeral-storage" "gpu" "nvidia.com/gpu" -}}
{{- $resources := dict -}}
{{- range $name, $amount := $container.resources }}
{{- if $amount }}{{ $_ := set $resources (get $names $name | default $name) $amount }}{{ end }}
{{- end -}}
{{- range list "cpu" "memory" }}
{{- $_ := get $resources . | required (printf "%s.resources.%s must be given" $path .) }}
{{- end -}}
{{- $_ := set $container "image" $image -}}
{{- $_ := set $container "resources" $resources -}}
{{ toJson $container }}
{{- end }}

{{/* Volumes of the workers, with the scripts in and outside of the shared root, as JSON: (list $ path volumes). */}}
{{- define "nodesets.volumes" -}}
{{- $root := index . 0 -}}
{{- $volumes := index . 2 | default dict -}}
{{- $_ := required (printf "%s.jail must be given" (index . 1)) $volumes.jail -}}
{{- with dig "spool" "volumeClaimTemplateSpec" "" $volumes }}
{{- $_ := set $volumes "spool" (dict "ephemeral" (dict "volumeClaimTemplate" (dict "spec" .))) }}
{{- end -}}
{{- with $root.Values.slurmScripts }}
{{- if .enabled }}
{{- $source := dict "configMap" (dict "name" .name "defaultMode" 493) }}
{{- range $list, $name := dict "customVolumeMounts" "slurm-scripts" "jailSubMounts" "slurm-scripts-in-jail" }}
{{- $mounts := get $volumes $list | default list }}
{{- $paths := list }}
{{- range $mounts }}{{ $paths = append $paths (trimSuffix "/" .mountPath) }}{{ end }}
{{- if not (has "/opt/slurm_scripts" $paths) }}
{{- $mounts = append $mounts (dict "name" $name "mountPath" "/opt/slurm_scripts/" "readOnly" true "volumeSource" $source) }}
{{- end }}
{{- $_ := set $volumes $list $mounts }}
{{- end }}
{{- end }}
{{- end -}}
{{ toJson $volumes }}
{{- end }}
