"""Where the workshop keeps things: all of it outside the checkout.

- cache: binaries and images, keyed by content, shared by every checkout, safe to delete;
- state: one folder per checkout, so that two checkouts never meet.
"""

import hashlib
import os
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def _xdg(variable: str, fallback: str) -> Path:
    return Path(os.environ.get(variable) or Path.home() / fallback) / "slurmery"


def cache() -> Path:
    return _xdg("XDG_CACHE_HOME", ".cache")


def instance() -> str:
    """The name of this checkout's cluster: short, because it ends up in cgroup and image paths.

    INSTANCE names another beside it: the tests' own, so that they find nothing and spoil nothing.
    """
    names = (ROOT.name, hashlib.sha256(str(ROOT).encode()).hexdigest()[:6], os.environ.get("INSTANCE"))
    return "-".join(filter(None, names))


def state() -> Path:
    return _xdg("XDG_STATE_HOME", ".local/state") / instance()
