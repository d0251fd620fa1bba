"""limits.conf and sysctl.conf: how much processes of a component may use."""

from typing import Final

from slurmery.nebius import names
from slurmery.nebius.config import words
from slurmery.slurmconf.text import raw

_UNLIMITED: Final = (
    *("core", "data", "fsize", "sigpending", "memlock", "rss", "msgqueue"),
    *("rtprio", "stack", "cpu", "nproc", "as", "locks"),
)
_EMPTY: Final = "#Empty security limits file"


def limits_conf(component: str, custom: str) -> str:
    """The user's text as it is, else what is usual for the component: jobs get all, others nothing more."""
    if raw("securityLimitsConfig", custom):
        return custom
    return _for_jobs() if component in (names.WORKER, names.NODESET) else _EMPTY


def sysctl_conf() -> str:
    """Kernel parameters of workers."""
    return "vm.max_map_count=655300"


def _for_jobs() -> str:
    groups = [(item, "unlimited") for item in _UNLIMITED] + [("nofile", "1048576"), ("nice", "-20")]
    return words.file(line for item, limit in groups for line in _group(item, limit))


def _group(item: str, limit: str) -> tuple[str, str, str]:
    return words.comment(item), f"* soft {item} {limit}", f"* hard {item} {limit}"
