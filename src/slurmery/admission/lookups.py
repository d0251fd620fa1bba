"""What hooks need to know of other objects, read from the API server within a short time.

A hook says beforehand what it `wants`; all of it is read at once. Of Secrets and ConfigMaps the names of the
keys are kept, never the values.
"""

import asyncio
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import msgspec

from slurmery.api.resource import CustomResource
from slurmery.kube.client import Client
from slurmery.kube.errors import KubeError, NotFoundError
from slurmery.kube.meta import Key, Resource, View

LOOKUP_SECONDS = 2.0
_NAME = re.compile(r"[a-z0-9]([-.a-z0-9]*[a-z0-9])?")


class Want(NamedTuple):
    """An object to look up."""

    resource: Resource
    key: Key

    def __str__(self) -> str:
        return f"{self.resource.kind} {self.key.name}"


class _Spec(msgspec.Struct, frozen=True, rename="camel"):
    access_modes: tuple[str, ...] | None = None


class Seen(View, frozen=True):
    """An object that exists, as far as any hook looks at one."""

    data: dict[str, msgspec.Raw] | None = None
    binary_data: dict[str, msgspec.Raw] | None = None
    spec: _Spec | None = None

    @property
    def keys(self) -> list[str]:
        """The keys of a Secret or ConfigMap."""
        return [*(self.data or ()), *(self.binary_data or ())]

    @property
    def access_modes(self) -> tuple[str, ...]:
        """Of a PersistentVolumeClaim."""
        return (self.spec and self.spec.access_modes) or ()


@dataclass(frozen=True)
class Unreadable:
    """Whether the object exists is unknown."""

    why: str


# None: there is no such object.
Answer = Seen | Unreadable | None
Answers = Mapping[Want, Answer]


class Lookups:
    """Reads objects for hooks; every answer comes within `seconds`."""

    def __init__(self, client: Client, seconds: float = LOOKUP_SECONDS) -> None:
        self._client = client
        self._seconds = seconds

    async def answer(self, wants: Iterable[Want]) -> Answers:
        """What there is, for each want."""
        unique = list(dict.fromkeys(wants))
        return dict(zip(unique, await asyncio.gather(*map(self._look, unique)), strict=True))

    async def _look(self, want: Want) -> Answer:
        if not all(_NAME.fullmatch(part) for part in want.key if part):
            return None  # no object can have that name, and ".." would lead somewhere else
        try:
            async with asyncio.timeout(self._seconds):
                return await self._client.get(want.resource, want.key, as_=Seen)
        except NotFoundError:
            return None
        except TimeoutError:
            return Unreadable(f"no answer within {self._seconds:g} s")
        except KubeError as error:
            return Unreadable(str(error))


def served(kind: type[CustomResource]) -> Resource:
    """Where the API server serves a kind of ours."""
    place = kind.place
    return Resource(place.group, place.version, place.plural, place.kind)
