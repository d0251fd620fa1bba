"""What a job leaves behind when it ends: shared memory, cached files, containers.

Nothing is taken from others: users who have another job here keep theirs, and root's is never taken.
"""

import glob
import os
import shutil
from collections.abc import Mapping
from contextlib import suppress

from . import slurm


def drop_posix_shmem(environment: Mapping[str, str], folder: str = "/dev/shm") -> str:  # noqa: S108
    """Remove what the job's user left in shared memory, unless they have another job here."""
    owner = environment["SLURM_JOB_UID"]
    if owner == "0" or owner in {job.uid for job in slurm.others(environment)}:
        return ""
    for entry in os.scandir(folder):
        if str(entry.stat(follow_symlinks=False).st_uid) == owner:
            _remove(entry.path)
    return ""


def drop_page_cache(environment: Mapping[str, str], file: str = "/proc/sys/vm/drop_caches") -> str:
    """Forget files that were read, so that the next job finds its memory free; if no other job is here."""
    if not slurm.others(environment):
        with open(file, "w") as switch:
            switch.write("1")
    return ""


def cleanup_enroot(environment: Mapping[str, str], *folders: str) -> str:
    """Remove the job's containers and their images, which pyxis named after it."""
    number = int(environment["SLURM_JOB_ID"])
    for folder in folders:
        for name in (f"pyxis_{number}[._]*", f"{number}.*.squashfs"):
            for path in (*glob.glob(f"{folder}/{name}"), *glob.glob(f"{folder}/*/{name}")):
                _remove(path)
    return ""


def _remove(path: str) -> None:
    with suppress(FileNotFoundError):
        if os.path.isdir(path) and not os.path.islink(path):
            shutil.rmtree(path)
        else:
            os.unlink(path)
