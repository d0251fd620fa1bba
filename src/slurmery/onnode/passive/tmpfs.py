"""A folder in memory for each job, /mnt/memory/job_<id> in the jail, that ends with it."""

import ctypes
import os
import re
from collections.abc import Mapping

from ..checks.run import JAIL
from . import slurm

_FOLDER = f"{JAIL}/mnt/memory"
_NO_SET_ID_NO_DEVICES = 2 | 4
_DETACH = 2


def job_tmpfs_recreate(environment: Mapping[str, str], folder: str = _FOLDER) -> str:
    """Make it anew; where there is no such folder, jobs have none in memory."""
    if _is_there(folder):
        place = _place(environment, folder)
        _remove(place)
        os.makedirs(place, exist_ok=True)
        options = f"mode=0700,uid={environment['SLURM_JOB_UID']},gid={environment['SLURM_JOB_GID']}"
        _call("mount", b"tmpfs", place.encode(), b"tmpfs", _NO_SET_ID_NO_DEVICES, options.encode())
    return ""


def job_tmpfs_delete(environment: Mapping[str, str], folder: str = _FOLDER) -> str:
    """Take it away."""
    if _is_there(folder):
        _remove(_place(environment, folder))
    return ""


def job_tmpfs_delete_leftover(environment: Mapping[str, str], folder: str = _FOLDER) -> str:
    """Take away those whose job is not here any more, for example because its epilog did not run."""
    places = [path for path in _mounted() if re.fullmatch(rf"{re.escape(folder)}/job_\d+", path)]
    # Asked after looking: a job whose folder is there was given this node before.
    here = {job.number for job in slurm.jobs(environment)} if places else set()
    for place in places:
        if place.rpartition("_")[2] not in here:
            _remove(place)
    return ""


def _place(environment: Mapping[str, str], folder: str) -> str:
    return f"{folder}/job_{int(environment['SLURM_JOB_ID'])}"


def _is_there(folder: str) -> bool:
    """Users are root in the jail: a link that they laid must not lead out of it."""
    return os.path.isdir(folder) and os.path.realpath(folder) == folder


def _remove(place: str) -> None:
    while place in _mounted():
        _call("umount2", place.encode(), _DETACH)
    if os.path.isdir(place) and not os.path.islink(place):
        os.rmdir(place)


def _mounted() -> list[str]:
    with open("/proc/self/mounts") as file:
        return [line.split()[1] for line in file]


def _call(function: str, *arguments: bytes | int) -> None:
    """By the C library: not every worker image has the program."""
    if getattr(ctypes.CDLL(None, use_errno=True), function)(*arguments):
        code = ctypes.get_errno()
        raise OSError(code, f"{function}: {os.strerror(code)}")
