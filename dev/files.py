"""Files that are either whole or absent, whatever kills us in between."""

import fcntl
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def write(path: Path, content: str | bytes, mode: int = 0o644) -> Path:
    """Write by rename, so that a reader or a later run never sees half a file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    data = content.encode() if isinstance(content, str) else content
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    with os.fdopen(handle, "wb") as file:
        file.write(data)
    Path(temporary).chmod(mode)
    Path(temporary).replace(path)
    return path


@contextmanager
def lock(path: Path) -> Iterator[None]:
    """One holder at a time over all processes; the kernel lets go when the holder dies."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
