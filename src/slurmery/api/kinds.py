"""Every kind there is."""

from functools import cache

from slurmery.api import nebius, slinky
from slurmery.api.resource import CustomResource


def registry() -> tuple[type[CustomResource], ...]:
    """All kinds, in the order in which people meet them."""
    return (*nebius.KINDS, *slinky.KINDS)


@cache
def find(api_version: str, kind: str) -> type[CustomResource] | None:
    """The kind that a manifest names."""
    wanted = (api_version, kind)
    return next((k for k in registry() if (k.place.api_version, k.place.kind) == wanted), None)
