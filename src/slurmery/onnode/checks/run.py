"""Running a check's command: bounded in time, its output kept, details read from file descriptor 3."""

import os
import re
import signal
import subprocess
from collections.abc import Mapping
from typing import BinaryIO

from .check import Check
from .consequence import Result

JAIL = "/mnt/jail"
OUTPUTS = "/opt/soperator-outputs"
# The exit code of a check that could not find out: nothing follows from it.
UNKNOWN = 75
_MOST_DETAILS = 512
_PLACEHOLDER = re.compile(r"\$(worker|name|context)")


def run(check: Check, environment: Mapping[str, str], outputs: str = "") -> Result | None:
    """Run it; None if it could not find out. One that does not end in time has failed. Raises OSError."""
    number = os.memfd_create("details")
    with open(number, "r+b") as details, _log(check, environment, outputs or _outputs()) as log:
        words = ["bash", "-c", f"exec 3>&{number}; {check.command}"]
        process = subprocess.Popen(
            ["chroot", JAIL, *words] if check.run_in_jail else words,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            env=dict(environment),
            pass_fds=(number,),
            start_new_session=True,
        )
        try:
            code = process.wait(check.timeout)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            return Result(True, f"no answer within {check.timeout:g} s")
        if code == UNKNOWN:
            return None
        details.seek(0)
        return Result(code != 0, details.read(_MOST_DETAILS).decode(errors="replace").strip())


def _log(check: Check, environment: Mapping[str, str], outputs: str) -> BinaryIO:
    """Where its output goes: a file whose name may hold $worker, $name and $context; or nowhere."""
    if not check.log:
        return open(os.devnull, "wb")
    known = {
        "worker": environment.get("CHECKS_NODE", ""),
        "name": check.name,
        "context": environment.get("CHECKS_CONTEXT", ""),
    }
    path = f"{outputs}/{_PLACEHOLDER.sub(lambda found: known[found[1]], check.log).lstrip('/')}"
    os.makedirs(os.path.dirname(path), exist_ok=True)
    if os.path.realpath(path) != path:
        raise OSError(f"{path} leads elsewhere by a link")  # users are root in the jail
    return open(path, "wb")


def _outputs() -> str:
    """Where users look for it: in the jail, if there is one."""
    return f"{JAIL}{OUTPUTS}" if os.path.isdir(JAIL) else OUTPUTS
