#!/bin/sh
# Lays over the shared root what belongs to this node: devices, processes, names of hosts, Slurm and its sockets.
#
#     complement_jail.sh [-w]     -w: also what slurmd and its steps need
#
# The mounts are this container's own. Users are root in the jail: where they have laid a link, nothing is mounted
# through it. GPU drivers come in by NVIDIA's container tools, where an image has them.
set -eu
jail=/mnt/jail
upper=/mnt/jail.upper
worker=
[ "${1-}" != -w ] || worker=yes

say() { echo "complement_jail: $*" >&2; }

# place PATH: into $target, the place of a path in the jail, which must be that place and no other
place() {
  target=$jail$1
  [ ! -L "$target" ] || rm "$target"
  if [ "$(realpath -m "$target")" != "$target" ]; then
    say "$1 in the jail leads to $(realpath -m "$target") by a link: remove the link"
    exit 1
  fi
}

# lay SOURCE [PATH]: a file or folder of this container, with what is mounted below it; at its own path, or another one
lay() {
  place "${2-$1}"
  if [ -d "$1" ]; then
    mkdir -p "$target"
  elif [ ! -e "$target" ]; then
    mkdir -p "${target%/*}"
    touch "$target"
  fi
  mount --rbind "$1" "$target"
}

# room MODE PATH: a folder in the jail itself
room() {
  place "$2"
  [ -d "$target" ] || install -d -m "$1" "$target"
}

system() {
  place /proc
  mkdir -p "$target"
  mount -t proc -o nosuid,nodev,noexec proc "$target"
  for path in /sys /dev /run /tmp /var/log /etc/resolv.conf /etc/hosts; do
    lay "$path"
  done
  room 0555 /mnt/host
  room 1777 /var/cache/enroot-container-images
  room 0777 /opt/soperator-outputs
}

# Volumes for places inside the jail are mounted beside it, where the kubelet needs no jail.
sub_mounts() {
  awk -v upper="$upper/" 'index($5, upper) == 1 {print $5}' /proc/self/mountinfo | while read -r escaped; do
    source=$(printf %b "$escaped")
    lay "$source" "${source#"$upper"}"
  done
}

slurm() {
  plugins=$(find /usr/lib -name libslurmfull.so -printf %h)
  lay "$plugins"
  for library in "${plugins%/*}"/libslurm.so.*; do
    [ -L "$library" ] || [ ! -e "$library" ] || lay "$library"
  done
  for program in sacct sacctmgr salloc sattach sbatch sbcast scancel scontrol scrontab scrun sdiag sh5util sinfo sprio \
    squeue sreport srun sshare sstat strigger; do
    [ ! -e "/usr/bin/$program" ] || lay "$(realpath "/usr/bin/$program")" "/usr/bin/$program"
  done
}

slurmd() {
  lay /var/spool/slurmd
  lay /opt/slurmery
  for program in slurmd slurmstepd; do
    lay "$(realpath "/usr/sbin/$program")" "/usr/sbin/$program"
  done
}

gpu() {
  case ${SLURM_CLUSTER_TYPE-},${NODESET_GPU_ENABLED-} in gpu,* | *,true) ;; *) return 0 ;; esac
  [ -n "$worker" ] || return 0
  if ! command -v nvidia-container-cli >/dev/null; then
    say "this image has no nvidia-container-cli: jobs see the GPUs only if the jail has the drivers"
    return 0
  fi
  nvidia-container-cli --user configure --no-cgroups --ldconfig="@$(command -v true)" --device=all --utility --compute \
    "$jail"
  touch "$jail/etc/gpu_libs_installed.flag"
}

# One node at a time; whoever comes second finds it done, or done soon.
libraries() {
  [ -n "$worker" ] || return 0
  flock --nonblock "$jail/etc/ld.so.cache.lock" chroot "$jail" ldconfig || say "another node sees to the jail's libraries"
}

system
sub_mounts
slurm
[ -z "$worker" ] || slurmd
gpu
libraries
