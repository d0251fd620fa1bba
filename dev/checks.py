"""Looks before the leap: what would make the embedded cluster fail later is said now, in one sentence."""

import os
import shutil
import socket
from pathlib import Path

from dev import paths
from dev.refusal import Refusal

GIBIBYTE = 1 << 30
DISK_COLD = 12
DISK_WARM = 4


def machine() -> None:
    if os.geteuid() != 0:
        raise Refusal(
            "the embedded cluster needs root (it makes namespaces and mounts): run `sudo make ...`, or use "
            "another cluster with CLUSTER=kind or CLUSTER=current"
        )
    release = Path("/etc/os-release")
    if "debian" not in (release.read_text() if release.exists() else ""):
        raise Refusal(
            "the embedded cluster needs Debian 12 or newer (its packages come from there): use a Debian "
            "machine, or another cluster with CLUSTER=kind or CLUSTER=current"
        )


def disk(cold: bool) -> None:
    needed = DISK_COLD if cold else DISK_WARM
    for folder in (paths.cache(), paths.state()):
        folder.mkdir(parents=True, exist_ok=True)
        free = shutil.disk_usage(folder).free / GIBIBYTE
        if free < needed:
            variable = "XDG_CACHE_HOME" if folder == paths.cache() else "XDG_STATE_HOME"
            raise Refusal(
                f"{folder} has {free:.1f} GiB free and {needed} GiB are needed: make room there, or move it "
                f"to a larger disk with {variable}=..."
            )


def listener(port: int) -> socket.socket:
    """A socket that listens on loopback; port 0 lets the kernel choose a free one."""
    server = socket.socket()
    server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        server.bind(("127.0.0.1", port))
    except OSError as error:
        server.close()
        raise Refusal(
            f"port {port} on 127.0.0.1 cannot be had ({error.strerror}): choose another with PORT=..., or "
            "leave PORT unset to get a free one"
        ) from error
    server.listen(128)
    return server
