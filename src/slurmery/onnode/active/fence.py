"""A job that asked for no GPU can open none: what it could open, it could take from another job."""

import os
import re
from pathlib import Path

from .outcome import Outcome


def attempt(folder: str = "/dev") -> Outcome:
    """Fails if this job, which has no GPU, gets hold of one."""
    known = sorted(path for path in Path(folder).iterdir() if re.fullmatch(r"nvidia\d+", path.name))
    open_ = [path.name for path in known if _opens(path)]
    if open_:
        return Outcome(True, f"without a GPU of its own, a job can open {', '.join(open_)}")
    return Outcome(False, f"none of {len(known)} GPUs can be opened")


def _opens(path: Path) -> bool:
    try:
        os.close(os.open(path, os.O_RDWR))
    except OSError:
        return False
    return True
