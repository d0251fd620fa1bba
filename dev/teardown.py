"""Removes the embedded cluster of this checkout: `python -m dev.teardown`.

Needs nothing but Python's own library, so that it works where the virtual environment is broken or gone.
"""

import shutil
from pathlib import Path

from dev import cgroups, files, paths
from dev.sandbox import Sandbox


def remove(folder: Path) -> None:
    """End what runs for a cluster's folder and take away all it made."""
    with files.lock(paths.cache() / "locks" / folder.name):
        Sandbox(folder).kill()
        cgroups.remove(folder.name)
        shutil.rmtree(folder, ignore_errors=True)


def main() -> None:
    existed = paths.state().exists()
    remove(paths.state())
    print("the embedded cluster is gone" if existed else "there is no embedded cluster to remove")


if __name__ == "__main__":
    main()
