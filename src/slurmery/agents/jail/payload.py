"""Which files a JailedConfig asks for: a pure function of its spec and of what its ConfigMap holds."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from slurmery.api.nebius.jailedconfig import ConfigItem, JailedConfigSpec

_MODE: Final = 0o644


@dataclass(frozen=True)
class File:
    """One file of the jail; `path` begins with a slash, which is the jail's root."""

    path: str
    content: bytes
    mode: int


class PayloadError(ValueError):
    """The spec asks for what cannot be: a person must change it."""


def payload(spec: JailedConfigSpec, content: Mapping[str, bytes]) -> tuple[File, ...]:
    """The files, in the order of their paths. Raises PayloadError."""
    items = spec.items or tuple(ConfigItem(key=key, path=key) for key in content)
    files = {}
    for item in items:
        if item.key not in content:
            raise PayloadError(f"ConfigMap {spec.config_map.name} has no key {item.key}.")
        _check(item.path)
        if item.path in files:
            raise PayloadError(f"{item.path} is asked for twice.")
        mode = next((each for each in (item.mode, spec.default_mode) if each is not None), _MODE)
        files[item.path] = File(item.path, content[item.key], mode & 0o7777)
    return tuple(files[path] for path in sorted(files))


def _check(path: str) -> None:
    parts = path.split("/")
    if parts[0] or not parts[-1]:
        raise PayloadError(f"{path} is no absolute path of a file.")
    if {"", ".", ".."} & set(parts[1:]) or "\0" in path:
        raise PayloadError(f"{path} must not have empty parts, . or .. in it.")
