{{/* What is shipped: each an ActiveCheck's spec, with the kinds of cluster that it is for. Its script is scripts/NAME.sh. */}}
{{- define "activechecks.shipped" -}}
create-user-soperatorchecks:
  for: [cpu, gpu]
  checkType: k8sJob
create-user:
  for: []
  checkType: k8sJob
  k8sJobSpec:
    jobContainer: {env: [{name: USER_NAME, value: {{ .Values.createUser.name | quote }}}]}
ssh-check:
  for: [cpu, gpu]
  checkType: k8sJob
  schedule: "*/30 * * * *"
  suspend: false
  k8sJobSpec:
    jobContainer: {env: [{name: LOGIN, value: {{ printf "%s-login-svc" .Values.slurmClusterRefName | quote }}}]}
ensure-dir-snccld-logs:
  for: []
  checkType: k8sJob
  schedule: {{ .Values.ensureDirSnccldLogs.schedule | quote }}
  suspend: false
  k8sJobSpec:
    jobContainer: {env: [{name: DIRECTORY, value: {{ .Values.ensureDirSnccldLogs.dir | quote }}}]}
cpu-perf:
  for: [cpu, gpu]
  {{- include "activechecks.onEachWorker" "0 */12 * * *" | nindent 2 }}
  failureReactions: {commentSlurmNode: {commentPrefix: "[node_problem]"}}
mem-perf:
  for: [cpu, gpu]
  {{- include "activechecks.onEachWorker" "20 */12 * * *" | nindent 2 }}
  failureReactions: {commentSlurmNode: {commentPrefix: "[node_problem]"}}
disk-perf:
  for: [cpu, gpu]
  {{- include "activechecks.onEachWorker" "40 */12 * * *" | nindent 2 }}
  failureReactions: {commentSlurmNode: {commentPrefix: "[node_problem]"}}
gpu-health:
  for: [gpu]
  {{- include "activechecks.onEachWorker" "0 */2 * * *" | nindent 2 }}
  failureReactions: {drainSlurmNode: {drainReasonPrefix: "[node_problem]"}}
dcgmi-diag-r2:
  for: [gpu]
  {{- include "activechecks.onEachWorker" "10 */6 * * *" | nindent 2 }}
  failureReactions: {drainSlurmNode: {drainReasonPrefix: "[node_problem]"}}
dcgmi-diag-r3:
  for: [gpu]
  {{- include "activechecks.onEachWorker" "10 2 * * 6" | nindent 2 }}
  runAfterCreation: false
  failureReactions: {drainSlurmNode: {drainReasonPrefix: "[node_problem]"}}
all-reduce-perf-nccl-without-ib:
  for: [gpu]
  {{- include "activechecks.onEachWorker" "30 */12 * * *" | nindent 2 }}
  failureReactions: {drainSlurmNode: {drainReasonPrefix: "[node_problem]"}}
{{- end }}

{{/* A job for each worker, by a schedule. */}}
{{- define "activechecks.onEachWorker" -}}
checkType: slurmJob
dependsOn: [create-user-soperatorchecks]
schedule: {{ . | quote }}
suspend: false
slurmJobSpec: {eachWorkerJobs: true}
{{- end }}

{{/* Those that are wanted, by name, as JSON: the shipped ones with what the values say over them. */}}
{{- define "activechecks.wanted" -}}
{{- $shipped := include "activechecks.shipped" . | fromYaml -}}
{{- $given := deepCopy (.Values.checks | default dict) -}}
{{- if .Values.ensureDirSnccldLogs.enabled }}
{{- $_ := set $given "ensure-dir-snccld-logs" (mustMerge (get $given "ensure-dir-snccld-logs" | default dict) (dict "enabled" true)) }}
{{- end -}}
{{- $wanted := dict -}}
{{- range $name := concat (keys $shipped) (keys $given) | uniq | sortAlpha }}
{{- $check := mustMergeOverwrite (deepCopy (get $shipped $name | default dict)) (get $given $name | default dict) }}
{{- $usual := has $.Values.clusterType ($check.for | default list) }}
{{- if hasKey $check "enabled" | ternary $check.enabled $usual }}{{ $_ := set $wanted $name (omit $check "for" "enabled") }}{{ end }}
{{- end -}}
{{- /* A check does not wait for one that is not there. */ -}}
{{- range $name, $check := $wanted }}
{{- $needed := list }}
{{- range $check.dependsOn }}
{{- if hasKey $wanted . }}{{ $needed = append $needed . }}
{{- else if not (hasKey $shipped .) }}{{ $needed = append $needed . }}
{{- end }}
{{- end }}
{{- if $check.dependsOn }}{{ $_ := set $check "dependsOn" $needed }}{{ end }}
{{- end -}}
{{ toJson $wanted }}
{{- end }}

{{- define "activechecks.labels" -}}
app.kubernetes.io/part-of: slurm
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end }}
