"""What each user of a login node may use of it, as lines of Key=Value for the node's scripts."""

from decimal import Decimal
from typing import Final

from slurmery.api.nebius.components import Login
from slurmery.api.quantity import quantity
from slurmery.nebius.config import words

_HIGH: Final = Decimal("0.8")
_MAX: Final = Decimal("0.9")


def isolation_conf(login: Login) -> str:
    """The file: memory in bytes, by default shares of the container's, which may have none."""
    given = login.user_isolation
    if given is None or not given.enabled:
        return "ENABLED=false"
    whole = login.sshd.resources.get("memory")
    limits = {
        "MEMORY_HIGH": given.memory_high if given.memory_high is not None else _share(whole, _HIGH),
        "MEMORY_MAX": given.memory_max if given.memory_max is not None else _share(whole, _MAX),
    }
    memory = [f"{key}={int(quantity(limit))}" for key, limit in limits.items() if limit is not None]
    return words.file(["ENABLED=true", *memory, f"CPU_WEIGHT={given.cpu_weight}"])


def _share(whole: str | int | None, share: Decimal) -> int | None:
    return int(quantity(whole) * share) if whole is not None else None
