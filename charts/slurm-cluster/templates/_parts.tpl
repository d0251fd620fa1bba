{{/* An object without its nulls, at any depth, as JSON. */}}
{{- define "slurm-cluster.clean" -}}
{{- $clean := dict -}}
{{- range $key, $value := . }}
{{- if kindIs "map" $value }}{{ $_ := set $clean $key (include "slurm-cluster.clean" $value | fromJson) }}
{{- else if not (kindIs "invalid" $value) }}{{ $_ := set $clean $key $value }}
{{- end }}
{{- end -}}
{{ toJson $clean }}
{{- end }}

{{/* Resources by the names that Kubernetes has for them, as JSON. */}}
{{- define "slurm-cluster.resources" -}}
{{- $names := dict "ephemeralStorage" "ephemeral-storage" "gpu" "nvidia.com/gpu" -}}
{{- $resources := dict -}}
{{- range $name, $amount := . }}
{{- if $amount }}{{ $_ := set $resources (get $names $name | default $name) $amount }}{{ end }}
{{- end -}}
{{ toJson $resources }}
{{- end }}

{{/* A container of a component, as JSON: (list $ path given image), the last being a key of `images`. */}}
{{- define "slurm-cluster.container" -}}
{{- $root := index . 0 -}}
{{- $given := index . 2 | default dict -}}
{{- $key := index . 3 -}}
{{- $image := $given.image | default (get $root.Values.images $key) | required (printf "images.%s, or %s.image, must be given" $key (index . 1)) -}}
{{- $container := mustMerge (dict "image" $image "resources" (include "slurm-cluster.resources" $given.resources | fromJson)) (omit $given "image" "resources" "imagePullPolicy") -}}
{{- $_ := set $container "imagePullPolicy" ($given.imagePullPolicy | default $root.Values.imagePullPolicy) -}}
{{- with $given.imagePullSecrets | default $root.Values.imagePullSecrets }}{{ $_ := set $container "imagePullSecrets" . }}{{ end -}}
{{ toJson $container }}
{{- end }}

{{/* A volume of a component: who names a source does not want the claim of the defaults. As JSON. */}}
{{- define "slurm-cluster.volume" -}}
{{- if .volumeSourceName }}{{ pick . "volumeSourceName" | toJson }}{{ else }}{{ omit . "volumeSourceName" | toJson }}{{ end -}}
{{- end }}

{{/* The volumes of workers and login nodes, with our scripts in and outside of the shared root, as JSON: (list $ volumes). */}}
{{- define "slurm-cluster.volumes" -}}
{{- $volumes := index . 1 -}}
{{- range $name := list "spool" "jail" }}
{{- with get $volumes $name }}{{ $_ := set $volumes $name (include "slurm-cluster.volume" . | fromJson) }}{{ end }}
{{- end -}}
{{- range $list, $name := dict "customMounts" "slurm-scripts" "jailSubMounts" "slurm-scripts-in-jail" }}
{{- $mounts := get $volumes $list | default list }}
{{- $paths := list }}
{{- range $mounts }}{{ $paths = append $paths (trimSuffix "/" .mountPath) }}{{ end }}
{{- if not (has "/opt/slurm_scripts" $paths) }}
{{- $mounts = append $mounts (dict "name" $name "mountPath" "/opt/slurm_scripts/" "volumeSourceName" "slurm-scripts" "readOnly" true) }}
{{- end }}
{{- $_ := set $volumes $list $mounts }}
{{- end -}}
{{ toJson $volumes }}
{{- end }}

{{/* What every component has: the placement that it was given, and its PriorityClass: (list $ given component). */}}
{{- define "slurm-cluster.component" -}}
{{- $given := omit (index . 1) "nodeExporter" "rbac" "serviceAccount" "docker" -}}
{{- if not $given.priorityClass }}{{ $_ := set $given "priorityClass" (include "slurm-cluster.priority" (list (index . 0) (index . 2))) }}{{ end -}}
{{- with (index . 1).serviceAccount }}{{ with .name }}{{ $_ := set $given "serviceAccountName" . }}{{ end }}{{ end -}}
{{ toJson $given }}
{{- end }}
