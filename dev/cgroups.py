"""Control groups of the embedded cluster: one root per node, under one folder per cluster."""

import time
from collections.abc import Iterator
from pathlib import Path

from dev.refusal import Refusal

MOUNT = Path("/sys/fs/cgroup")
OURS = "slurmery"


def root(instance: str, node: str) -> str:
    return f"/{OURS}/{instance}/{node}"


def create(path: str) -> None:
    for hierarchy in _hierarchies():
        folder = hierarchy
        for part in Path(path).relative_to("/").parts:
            parent, folder = folder, folder / part
            folder.mkdir(exist_ok=True)
            _delegate(parent, folder)


def remove(instance: str) -> None:
    """Remove a cluster's groups; those that the kernel is still emptying get a moment."""
    deadline = time.monotonic() + 10
    for hierarchy in _hierarchies():
        top = hierarchy / OURS / instance
        for folder in _bottom_up(top):
            _remove(folder, deadline)
        if (hierarchy / OURS).exists() and not any(p.is_dir() for p in (hierarchy / OURS).iterdir()):
            (hierarchy / OURS).rmdir()


def _hierarchies() -> list[Path]:
    """Every v1 controller (and the v2 tree beside them, in hybrid mode), or the one v2 tree."""
    if (MOUNT / "cgroup.controllers").exists():
        return [MOUNT]
    return [p for p in MOUNT.iterdir() if p.is_dir() and not p.is_symlink()]


def _delegate(parent: Path, folder: Path) -> None:
    controllers = parent / "cgroup.controllers"
    if controllers.exists():
        for name in controllers.read_text().split():
            (parent / "cgroup.subtree_control").write_text(f"+{name}")
    # A new v1 cpuset is empty, and nothing can run in it until it is filled.
    for name in ("cpuset.cpus", "cpuset.mems"):
        file = folder / name
        if file.exists() and not controllers.exists() and not file.read_text().strip():
            file.write_text((parent / name).read_text())


def _bottom_up(top: Path) -> Iterator[Path]:
    if top.is_dir():
        for child in top.iterdir():
            if child.is_dir():
                yield from _bottom_up(child)
        yield top


def _remove(folder: Path, deadline: float) -> None:
    while folder.exists():
        try:
            folder.rmdir()
        except OSError as error:
            if time.monotonic() > deadline:
                raise Refusal(
                    f"control group {folder} is still in use ({error.strerror}): end the processes listed in "
                    f"{folder}/cgroup.procs and run `make down` again"
                ) from error
            time.sleep(0.05)
