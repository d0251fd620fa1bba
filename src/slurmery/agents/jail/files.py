"""Files in the jail: compared before they are written, replaced in one step, never through a symlink.

Users of the cluster are root in the jail. A link that one of them lays must not lead us out of it, so every
part of a path is opened in its parent, and links are refused.

    RefusedError    a part of the path is a symlink or not a folder: a person must remove it
"""

import contextlib
import errno
import os
import secrets
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from slurmery.agents.jail.payload import File

_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_NOT_FOLLOWED: Final = frozenset({errno.ELOOP, errno.ENOTDIR})


class RefusedError(Exception):
    """The path leads where we do not go."""


class Jail:
    """The shared root file system, from outside. Its calls block: they belong in a thread."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def mounted(self) -> bool:
        """Whether there is a jail at all: writing into an empty mount point would be lost."""
        return self._root.is_dir()

    def holds(self, file: File) -> bool:
        """Whether the file is there already, with this content and mode."""
        try:
            with self._folder(file.path, make=False) as (folder, name):
                return _same(folder, name, file)
        except FileNotFoundError:
            return False

    def write(self, file: File) -> None:
        """Make it so: readers see the old file or the new one, whole. Raises RefusedError or OSError."""
        with self._folder(file.path, make=True) as (folder, name):
            with contextlib.suppress(FileNotFoundError):
                found = os.stat(name, dir_fd=folder, follow_symlinks=False)
                if not stat.S_ISREG(found.st_mode):
                    raise RefusedError(f"{file.path} is no plain file.")
            draft = f".{name}-sconfigcontroller-{secrets.token_hex(4)}"
            try:
                _create(folder, draft, file)
                os.rename(draft, name, src_dir_fd=folder, dst_dir_fd=folder)
            except BaseException:
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(draft, dir_fd=folder)
                raise
            os.fsync(folder)

    @contextlib.contextmanager
    def _folder(self, path: str, *, make: bool) -> Iterator[tuple[int, str]]:
        """The open parent folder of a path, and the file's name in it."""
        *parents, name = path.strip("/").split("/")
        folder = os.open(self._root, _FOLDER)
        try:
            walked = ""
            for part in parents:
                walked += f"/{part}"
                inner = _enter(folder, part, walked, make=make)
                os.close(folder)
                folder = inner
            yield folder, name
        finally:
            os.close(folder)


def _enter(folder: int, part: str, walked: str, *, make: bool) -> int:
    if make:
        with contextlib.suppress(FileExistsError):
            os.mkdir(part, 0o755, dir_fd=folder)
    try:
        return os.open(part, _FOLDER, dir_fd=folder)
    except OSError as error:
        if error.errno in _NOT_FOLLOWED:
            raise RefusedError(f"{walked} in the jail is a symlink or no folder.") from None
        raise


def _same(folder: int, name: str, file: File) -> bool:
    try:
        found = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK, dir_fd=folder)
    except OSError as error:
        if error.errno == errno.ELOOP:
            return False
        raise
    with os.fdopen(found, "rb") as opened:
        shape = os.fstat(found)
        alike = stat.S_ISREG(shape.st_mode) and stat.S_IMODE(shape.st_mode) == file.mode
        return alike and shape.st_size == len(file.content) and opened.read() == file.content


def _create(folder: int, name: str, file: File) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    created = os.open(name, flags, 0o600, dir_fd=folder)
    with os.fdopen(created, "wb") as opened:
        opened.write(file.content)
        opened.flush()
        os.fchmod(created, file.mode)
        os.fsync(created)
