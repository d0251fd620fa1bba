"""Mounts of the sandbox and its nodes. They live in mount namespaces of their own and end with them."""

import subprocess
from pathlib import Path


def bind(source: Path, target: Path) -> None:
    source.mkdir(parents=True, exist_ok=True)
    target.mkdir(parents=True, exist_ok=True)
    _mount("--bind", str(source), str(target))


def empty(target: Path) -> None:
    """Hide what the machine has at `target` behind an empty folder."""
    _mount("-t", "tmpfs", "-o", "mode=755", "slurmery", str(target))


def share() -> None:
    """Let mounts reach the containers, as volumes with mountPropagation ask."""
    _mount("--make-rshared", "/")


def _mount(*arguments: str) -> None:
    subprocess.run(["mount", *arguments], check=True)
