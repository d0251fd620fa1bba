"""Small containers beside a daemon: one prints its log, one makes slurmctld read changed files.

Both are native sidecars: they start before the daemon and outlive it.
"""

from typing import Any, Final

from slurmery.slinky import names
from slurmery.slinky.volumes import mount, read_only

# A named pipe takes no space, and a daemon that opens it blocks until somebody reads: hence started first.
_PRINT_LOG: Final = """\
trap 'exit 0' TERM
trap 'exit 1' INT HUP
mkdir -p "$(dirname "$SOCKET")"
if ! [ -p "$SOCKET" ]; then
  rm -rf "$SOCKET"
  mkfifo "$SOCKET"
fi
chmod 777 "$SOCKET"
while :; do
  cat "$SOCKET" &
  wait $!
  sleep 1 &
  wait $!
done
"""

# Kubernetes swaps projected files behind links whose names begin with "..": those are not looked at.
# Nor are keys: slurmctld takes a new one by a restart, when that costs no job.
_RECONFIGURE: Final = """\
fingerprint() {
  find -L /etc/slurm -path '*/..*' -prune -o -type f ! -name '*.key' -print0 \\
    | sort -z | xargs -0 sha256sum | sha256sum
}
known=$(fingerprint)
while sleep 5; do
  seen=$(fingerprint)
  [ "$seen" = "$known" ] && continue
  until scontrol reconfigure; do
    sleep 2
  done
  known=$seen
done
"""


def logfile(log: str) -> dict[str, Any]:
    """Prints what a daemon writes to its log file."""
    return {
        "name": names.LOGFILE,
        "restartPolicy": "Always",
        "command": ["sh", "-c", _PRINT_LOG],
        "env": [{"name": "SOCKET", "value": log}],
        "volumeMounts": [mount(names.SLURM_LOGFILE, names.LOG_DIR)],
    }


def reconfigure() -> dict[str, Any]:
    """Has slurmctld read its files again when they change."""
    return {
        "name": names.RECONFIGURE,
        "restartPolicy": "Always",
        "command": ["tini", "-g", "--", "bash", "-c", _RECONFIGURE],
        "volumeMounts": [
            read_only(names.SLURM_ETC, names.ETC_SLURM),
            read_only(names.SLURM_AUTHSOCKET, names.AUTHSOCKET_DIR),
        ],
    }
