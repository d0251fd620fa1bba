#!/bin/sh
# A worker: slurmd, and sshd beside it, under supervisord.
. "${0%/*}/node"

# Kernel parameters and limits are wishes: not every machine lets a container have them.
wishes() {
  while IFS='= ' read -r key value; do
    case $key in '' | '#'* | *[!a-z0-9_.]*) continue ;; esac
    echo "$value" >"/proc/sys/$(echo "$key" | tr . /)" || :
  done </etc/sysctl.conf
  for limit in c d f i l m n q r s t v x; do
    ulimit "-$limit" unlimited || :
  done
} 2>/dev/null

# Slurm makes the cgroups of jobs there, and without systemd nobody else makes that one.
slice() {
  [ "${CGROUP_V2-}" = true ] && [ -e /sys/fs/cgroup/cgroup.controllers ] || return 0
  mkdir -p "/sys/fs/cgroup$(sed -n 's/^0:://p' /proc/self/cgroup)/../system.slice"
}

# A node that slurm.conf names was powered up when its pod started, and slurmctld waits to hear of a machine that booted
# since. So its uptime begins now, for slurmd and for jobs; slurmd alone may start anew without that looking like a boot.
booted() {
  [ -z "${K8S_SERVICE_NAME-}" ] || return 0
  clock="unshare --time --boottime=-$(cut -d. -f1 /proc/uptime)"
  $clock true || clock=
}

at_home
[ ! -e /etc/sysctl.conf ] || wishes
slice
"${0%/*}/complement_jail.sh" -w
munge_socket
mkdir -p /run/slurm
clock=
booted
exec $clock supervisord -c /etc/supervisor/conf.d/supervisord.conf "$@"
