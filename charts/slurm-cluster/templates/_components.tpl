{{/* slurmNodes of the custom resource, as JSON. */}}
{{- define "slurm-cluster.nodes" -}}
{{- $nodes := include "slurm-cluster.clean" (omit .Values.slurmNodes "sssd") | fromJson -}}
{{- $made := dict
  "controller" (include "slurm-cluster.controller" (list . $nodes.controller) | fromJson)
  "accounting" (include "slurm-cluster.accounting" (list . $nodes.accounting) | fromJson)
  "login" (include "slurm-cluster.login" (list . $nodes.login) | fromJson)
  "exporter" (include "slurm-cluster.exporter" (list . $nodes.exporter) | fromJson)
  "rest" (include "slurm-cluster.rest" (list . $nodes.rest) | fromJson) -}}
{{- with $nodes.worker }}{{ $_ := set $made "worker" (include "slurm-cluster.worker" (list $ .) | fromJson) }}{{ end -}}
{{ toJson $made }}
{{- end }}

{{- define "slurm-cluster.controller" -}}
{{- $root := index . 0 -}}
{{- $path := "slurmNodes.controller" -}}
{{- $part := include "slurm-cluster.component" (list $root (index . 1) "controller") | fromJson -}}
{{- $_ := set $part "slurmctld" (include "slurm-cluster.container" (list $root (printf "%s.slurmctld" $path) $part.slurmctld "slurmctld") | fromJson) -}}
{{- $_ := set $part "munge" (include "slurm-cluster.container" (list $root (printf "%s.munge" $path) $part.munge "munge") | fromJson) -}}
{{- range $name := list "spool" "jail" }}
{{- $_ := set $part.volumes $name (include "slurm-cluster.volume" (get $part.volumes $name) | fromJson) }}
{{- end -}}
{{ include "slurm-cluster.directory" (list $root $part) }}
{{- end }}

{{- define "slurm-cluster.accounting" -}}
{{- $root := index . 0 -}}
{{- $path := "slurmNodes.accounting" -}}
{{- $part := include "slurm-cluster.component" (list $root (index . 1) "accounting") | fromJson -}}
{{- $database := $part.mariadbOperator | default dict -}}
{{- if and $part.enabled (not $database.enabled) (not (dig "externalDB" "enabled" false $part)) -}}
{{- fail "slurmNodes.accounting.enabled: accounting needs a database: set mariadbOperator.enabled or externalDB.enabled" -}}
{{- end -}}
{{- $_ := set $part "slurmdbd" (include "slurm-cluster.container" (list $root (printf "%s.slurmdbd" $path) $part.slurmdbd "slurmdbd") | fromJson) -}}
{{- $_ := set $part "munge" (include "slurm-cluster.container" (list $root (printf "%s.munge" $path) $part.munge "munge") | fromJson) -}}
{{- if $database.enabled }}
{{- $database = include "slurm-cluster.container" (list $root (printf "%s.mariadbOperator" $path) $database "mariaDB") | fromJson }}
{{- if not $database.priorityClassName }}{{ $_ := set $database "priorityClassName" (include "slurm-cluster.priority" (list $root "mariadb")) }}{{ end }}
{{- $_ := set $part "mariadbOperator" $database }}
{{- else }}{{ $_ := unset $part "mariadbOperator" }}
{{- end -}}
{{- if $root.Values.slurmNodes.worker }}
{{- $_ := set $part "slurmConfig" (mustMerge ($part.slurmConfig | default dict) (dict "jobAcctGatherFrequency" 30)) }}
{{- end -}}
{{ toJson $part }}
{{- end }}

{{- define "slurm-cluster.worker" -}}
{{- $root := index . 0 -}}
{{- $path := "slurmNodes.worker" -}}
{{- $defaults := include "slurm-cluster.workerDefaults" $root | fromYaml -}}
{{- $given := mustMergeOverwrite $defaults (index . 1) -}}
{{- $part := include "slurm-cluster.component" (list $root $given "worker") | fromJson -}}
{{- if not (dig "munge" "resources" "" $part) }}
{{- $_ := set $part "munge" (mustMerge ($part.munge | default dict) (dict "resources" (dict "cpu" "2" "memory" "4Gi" "ephemeralStorage" "5Gi"))) }}
{{- end -}}
{{- range $name := list "cpu" "memory" }}
{{- $_ := dig "slurmd" "resources" $name "" $part | required (printf "slurmNodes.worker.slurmd.resources.%s must be given" $name) }}
{{- end -}}
{{- $_ := set $part "slurmd" (include "slurm-cluster.container" (list $root (printf "%s.slurmd" $path) $part.slurmd "slurmd") | fromJson) -}}
{{- $_ := set $part "munge" (include "slurm-cluster.container" (list $root (printf "%s.munge" $path) $part.munge "munge") | fromJson) -}}
{{- $_ := set $part "volumes" (include "slurm-cluster.volumes" (list $root $part.volumes) | fromJson) -}}
{{ toJson $part }}
{{- end }}

{{/* Only a cluster of 1.22 has workers of its own, so these are no values: they would make one of every cluster. */}}
{{- define "slurm-cluster.workerDefaults" -}}
size: 2
k8sNodeFilterName: gpu
maxUnavailable: 20%
volumes:
  spool:
    volumeClaimTemplateSpec:
      accessModes: [ReadWriteOnce]
      resources: {requests: {storage: 128Gi}}
  jail: {volumeSourceName: jail}
  sharedMemorySize: 64Gi
{{- end }}

{{- define "slurm-cluster.login" -}}
{{- $root := index . 0 -}}
{{- $path := "slurmNodes.login" -}}
{{- $part := include "slurm-cluster.component" (list $root (index . 1) "login") | fromJson -}}
{{- $_ := set $part "sshd" (include "slurm-cluster.container" (list $root (printf "%s.sshd" $path) $part.sshd "sshd") | fromJson) -}}
{{- $_ := set $part "munge" (include "slurm-cluster.container" (list $root (printf "%s.munge" $path) $part.munge "munge") | fromJson) -}}
{{- $_ := set $part "volumes" (include "slurm-cluster.volumes" (list $root $part.volumes) | fromJson) -}}
{{- if ne $part.sshdServiceType "NodePort" }}{{ $_ := unset $part "sshdServiceNodePort" }}{{ end -}}
{{ include "slurm-cluster.directory" (list $root $part) }}
{{- end }}

{{/* `exporter` held the settings of the container before `exporterContainer` did; its image is that of a third party's. */}}
{{- define "slurm-cluster.exporter" -}}
{{- $root := index . 0 -}}
{{- $given := include "slurm-cluster.component" (list $root (index . 1) "exporter") | fromJson -}}
{{- $part := omit $given "exporter" "munge" "volumes" "imagePullPolicy" "imagePullSecrets" -}}
{{- $old := $given.exporter | default dict -}}
{{- $container := mustMerge ($given.exporterContainer | default dict) (pick $given "imagePullPolicy" "imagePullSecrets") (omit $old "image" "podTemplateNameRef") -}}
{{- $_ := set $container "command" ($container.command | default (list "/usr/bin/soperator-exporter")) -}}
{{- $_ := set $part "exporterContainer" (include "slurm-cluster.container" (list $root "slurmNodes.exporter.exporterContainer" $container "soperatorExporter") | fromJson) -}}
{{- if or $old.image $root.Values.images.exporter }}
{{- $_ := set $part "exporter" (include "slurm-cluster.container" (list $root "slurmNodes.exporter.exporter" $old "exporter") | fromJson) }}
{{- $_ := set $part "munge" (include "slurm-cluster.container" (list $root "slurmNodes.exporter.munge" $given.munge "munge") | fromJson) }}
{{- with $given.volumes }}{{ $_ := set $part "volumes" . }}{{ end }}
{{- end -}}
{{ toJson $part }}
{{- end }}

{{- define "slurm-cluster.rest" -}}
{{- $root := index . 0 -}}
{{- $part := include "slurm-cluster.component" (list $root (index . 1) "rest") | fromJson -}}
{{- $_ := set $part "rest" (include "slurm-cluster.container" (list $root "slurmNodes.rest.rest" $part.rest "slurmrestd") | fromJson) -}}
{{ toJson $part }}
{{- end }}

{{/* Users of a directory service, if slurmNodes.sssd or the component itself says so: (list $ part). */}}
{{- define "slurm-cluster.directory" -}}
{{- $root := index . 0 -}}
{{- $part := index . 1 -}}
{{- $shared := include "slurm-cluster.clean" $root.Values.slurmNodes.sssd | fromJson -}}
{{- if or $part.sssd $shared.enabled -}}
{{- $names := list "sssdDebugLevel" "sssdConfSecretRefName" "sssdLdapCAConfigMapRefName" -}}
{{- $container := mustMergeOverwrite (omit $shared "enabled" "sssdDebugLevel" "sssdConfSecretRefName" "sssdLdapCAConfigMapRefName") ($part.sssd | default dict) -}}
{{- $_ := set $part "sssd" (include "slurm-cluster.container" (list $root "slurmNodes.sssd" $container "sssd") | fromJson) -}}
{{- range $names }}{{ if not (hasKey $part .) }}{{ $_ := set $part . (get $shared .) }}{{ end }}{{ end -}}
{{- end -}}
{{ toJson $part }}
{{- end }}
