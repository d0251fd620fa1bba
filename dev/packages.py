"""Debian packages that the embedded cluster runs on."""

import os
import shutil
import subprocess

from dev import paths
from dev.progress import Say
from dev.refusal import Refusal

CLUSTER = (
    "containerd",
    "runc",
    "containernetworking-plugins",
    "iptables",
    "conntrack",
    "iproute2",
    "util-linux",
)


def missing(names: tuple[str, ...]) -> list[str]:
    if not shutil.which("dpkg-query"):
        raise Refusal(
            "this is no Debian (dpkg-query was not found): use Debian 12 or newer for the embedded cluster, "
            "or name another with CLUSTER=kind or CLUSTER=current"
        )
    command = ["dpkg-query", "--show", "--showformat=${Package} ${db:Status-Status}\n", *names]
    printed = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    installed = {line.split()[0] for line in printed.splitlines() if line.endswith(" installed")}
    return [name for name in names if name not in installed]


def install(names: tuple[str, ...], say: Say) -> None:
    absent = missing(names)
    if not absent:
        return
    say(f"installing {' '.join(absent)}")
    # Services of the packages (containerd's above all) are not for us to start.
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive", "RUNLEVEL": "1"}
    options = ["-qq", "-o", "DPkg::Lock::Timeout=300", "-o", "Dpkg::Use-Pty=0"]
    log = paths.cache() / "logs/apt.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("w") as output:
        for command in (["update"], ["install", "--no-install-recommends", *absent]):
            done = subprocess.run(
                ["apt-get", *options, *command], env=environment, stdout=output, stderr=output, check=False
            )
            if done.returncode and command[0] == "install":
                raise Refusal(
                    f"the Debian packages {' '.join(absent)} could not be installed: check that the package "
                    f"mirror answers (apt-get update) and run this again; the whole log is {log}"
                )
