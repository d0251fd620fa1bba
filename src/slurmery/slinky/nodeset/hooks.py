"""What Kubernetes runs beside slurmd in its container: when it has started, and before it stops.

A slurmctld that lost its state does not know its nodes any longer, and slurmd registers only when it starts.
To restart it would end the jobs that go on there; SIGHUP makes it register and leaves them alone. slurmctld
speaks to each node that it knows every 100 s, so that it is asked only by those that it has fallen silent to.
"""

from typing import Any, Final

from slurmery.slinky import names

# From slurmd: when slurmctld last spoke to it, or when it started if that is never.
_RETURN: Final = r"""while sleep 30; do
  known=$(scontrol show slurmd) || continue
  heard=$(echo "$known" | sed -n 's/^\(Boot\|Last slurmctld msg\) time *= \([0-9]\)/\2/p' | tail -n 1)
  heard=$(date -d "$heard" +%s) && [ $(($(date +%s) - heard)) -gt 120 ] || continue
  case $(scontrol show node "$(hostname)" 2>&1) in
    *' not found'*) kill -HUP "$(echo "$known" | sed -n 's/^Slurmd PID *= //p')" ;;
  esac
done
"""

# Tells Slurm at once that the node goes, unless an administrator has written down something about it.
_FAREWELL: Final = f"""\
node=$(hostname)
record=$(scontrol --oneliner show node "$node") || exit 0
case $record in *" Reason="*) reason=${{record#* Reason=}} ;; *) reason= ;; esac
case $reason in
  '' | '{names.REASON_PREFIX}'*)
    scontrol update nodename="$node" state=down reason='{names.FAREWELL}'
    ;;
esac
"""

# slurmd reads slurm.key only as it starts, but starts anew without its jobs noticing when it is hung up. It
# must have the key that slurmctld has, and has it for as long as slurmctld answers questions that slurmd
# vouches for. When it does not any more, slurmctld has started with the new key, or will.
_FOLLOW_KEY: Final = """\
(
  seen={pid_file}.key
  touch $seen
  while sleep {pause}; do
    [ {key} -nt $seen ] || continue
    scontrol show config >/dev/null 2>&1 && continue
    sleep {pause}
    scontrol show config >/dev/null 2>&1 && continue
    touch $seen.new
    kill -HUP "$(cat {pid_file})" && mv $seen.new $seen
  done
) </dev/null >/dev/null 2>&1 &
"""


def lifecycle() -> dict[str, Any]:
    """The container's hooks."""
    return {"postStart": _shell(follow_key() + register_again()), "preStop": _shell(_FAREWELL)}


def register_again() -> str:
    """A script that goes on in the background: a hook must end, or the container never counts as started."""
    return f"(\n{_RETURN}) </dev/null >/dev/null 2>&1 &\n"


def follow_key(
    key: str = f"{names.ETC_SLURM}/{names.SLURM_KEY}", pid_file: str = "/run/slurmd.pid", pause: float = 10
) -> str:
    """A script that goes on in the background, and hangs slurmd up when slurmctld has another key than it."""
    return _FOLLOW_KEY.format(key=key, pid_file=pid_file, pause=pause)


def _shell(script: str) -> dict[str, Any]:
    return {"exec": {"command": ["/usr/bin/sh", "-c", script]}}
