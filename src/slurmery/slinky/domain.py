"""The domain of the Kubernetes cluster's DNS, as the kubelet wrote it into every pod."""

from contextlib import suppress
from pathlib import Path
from typing import Final

RESOLV_CONF: Final = Path("/etc/resolv.conf")
_SERVICES: Final = "svc."


def found(path: Path = RESOLV_CONF) -> str:
    """The domain in which this process looks for Services; "" outside of pods."""
    with suppress(OSError):
        return of(path.read_text(errors="replace"))
    return ""


def of(resolv_conf: str) -> str:
    """The first search domain of Services in the text of resolv.conf; "" if there is none."""
    searches = (line.split()[1:] for line in resolv_conf.splitlines() if line.split()[:1] == ["search"])
    services = (each for search in searches for each in search if each.startswith(_SERVICES))
    return next((each.removeprefix(_SERVICES).rstrip(".") for each in services), "")
