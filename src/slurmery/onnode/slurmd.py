"""Starts slurmd as what its pod's environment says it is.

K8S_SERVICE_NAME is given   a node of a cluster with workers of its own: it tells slurmctld about itself
it is not                   a node that slurm.conf names already
"""

import os
import socket
import subprocess
from collections.abc import Callable, Mapping, Sequence
from string import Template

from .checks.platform import gpus

_FEATURE = "SLURM_FEATURE_"


def main() -> None:
    name = os.uname().nodename
    models = gpus() if os.environ.get("SLURM_CLUSTER_TYPE") == "gpu" else ()
    described = conf(os.environ, name, socket.getfqdn(), models, _hosts)
    command = arguments(os.environ, described)
    os.execvp(command[0], command)  # noqa: S606 that is what it is for


def arguments(environ: Mapping[str, str], described: str) -> list[str]:
    """The command line."""
    command = ["slurmd", "-D"]
    if instance := environ.get("INSTANCE_ID"):
        command += ["--instance-id", instance]
    # Variables are put in, and nothing is evaluated.
    if extra := Template(environ.get("SLURM_NODE_EXTRA", "")).safe_substitute(environ):
        command += ["--extra", extra]
    if "K8S_SERVICE_NAME" in environ:
        command += ["-Z", "--conf", described]
    return command


def conf(
    environ: Mapping[str, str],
    name: str,
    address: str,
    models: Sequence[str],
    hosts: Callable[[str], Sequence[str]],
) -> str:
    """The node as slurm.conf would describe it; `hosts` expands a hostlist."""
    known = {
        "NodeHostname": name,
        "NodeAddr": address,
        "RealMemory": environ.get("SLURM_REAL_MEMORY", ""),
        "Gres": ",".join(_gres(models)),
        "Feature": ",".join(
            variable.removeprefix(_FEATURE)
            for variable, hostlist in sorted(environ.items())
            if variable.startswith(_FEATURE) and name in hosts(hostlist)
        ),
    }
    return " ".join(f"{key}={value}" for key, value in known.items() if value)


def _gres(models: Sequence[str]) -> list[str]:
    kinds = [model.lower().replace(" ", "_") for model in models]
    return [f"gpu:{kind}:{kinds.count(kind)}" for kind in sorted(set(kinds))]


def _hosts(hostlist: str) -> list[str]:
    command = ["scontrol", "show", "hostnames", hostlist]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=30).stdout.split()


if __name__ == "__main__":
    main()
