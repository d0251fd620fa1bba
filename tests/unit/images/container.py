"""Entry points run as in a container: their own mounts and processes, with stubs for the daemons."""

import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from dev import paths

PRIVATE = ("/run", "/mnt", "/var/lib", "/var/spool")
ENTER = """
for folder in {private}; do mount -t tmpfs tmpfs "$folder"; done
mount -t tmpfs tmpfs {layers} && mkdir {layers}/upper {layers}/work
mount -t overlay -o lowerdir=/etc,upperdir={layers}/upper,workdir={layers}/work overlay /etc
{setup}
exec "$0" "$@"
"""
# Keeps its arguments apart by NUL, then does what the test says.
STUB = """#!/bin/sh
for word in "$@"; do printf '%s\\0' "$word"; done >"{calls}/{name}.$$"
mv "{calls}/{name}.$$" "{calls}/{name}"
{body}
"""


@dataclass(frozen=True)
class Outcome:
    status: int
    output: str


class Container:
    """One image's entry points, with its daemons replaced by stubs."""

    def __init__(self, folder: Path) -> None:
        self._bin = folder / "bin"
        self._calls = folder / "calls"
        self._layers = folder / "layers"
        for path in (self._bin, self._calls, self._layers):
            path.mkdir()

    def stub(self, name: str, body: str = "") -> None:
        program = self._bin / name
        program.write_text(STUB.format(calls=self._calls, name=name, body=body))
        program.chmod(0o755)

    def run(self, script: str, *arguments: str, setup: str = "", env: Mapping[str, str] = {}) -> Outcome:
        """Run images/`script` after the shell lines `setup`, which see the private folders."""
        as_root = [] if os.geteuid() == 0 else ["--map-root-user"]
        inside = ENTER.format(private=" ".join(PRIVATE), layers=self._layers, setup=setup)
        enter = ["unshare", *as_root, "--mount", "--pid", "--fork", "--kill-child", "sh", "-euc", inside]
        done = subprocess.run(
            [*enter, str(paths.ROOT / "images" / script), *arguments],
            env={"PATH": f"{self._bin}:/usr/sbin:/usr/bin:/sbin:/bin", **env},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=30,
            check=False,
        )
        return Outcome(done.returncode, done.stdout)

    def arguments(self, daemon: str) -> list[str]:
        """What the daemon was last started with."""
        return (self._calls / daemon).read_bytes().decode().split("\0")[:-1]

    def started(self, daemon: str) -> bool:
        return (self._calls / daemon).exists()
