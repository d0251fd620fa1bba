"""Runs one passive check: exit code 1 if something is wrong, which file descriptor 3 is told."""

import os
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from importlib import import_module

from ..checks.run import UNKNOWN

# The module of each check; only that one is imported.
MODULES = {
    "boot_disk_full": "disk",
    "alloc_mem_used": "memory",
    "alloc_gpus_busy": "gpus",
    "map_job_dcgm": "gpus",
    "unmap_job_dcgm": "gpus",
    "job_tmpfs_recreate": "tmpfs",
    "job_tmpfs_delete": "tmpfs",
    "job_tmpfs_delete_leftover": "tmpfs",
    "drop_posix_shmem": "leftovers",
    "drop_page_cache": "leftovers",
    "cleanup_enroot": "leftovers",
}


def main(arguments: Sequence[str], environment: Mapping[str, str] = os.environ) -> int:
    """Exit code: 0 if all is well, 1 if not, 75 if nobody knows."""
    try:
        name, *rest = arguments
        wrong = getattr(import_module(f".{MODULES[name]}", __package__), name)(environment, *rest)
    except Exception as error:  # noqa: BLE001 whatever it is, the job must not suffer for it
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        return UNKNOWN
    if not wrong:
        return 0
    print(wrong)
    with suppress(OSError):  # by hand, nobody listens there
        os.write(3, wrong.encode())
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
