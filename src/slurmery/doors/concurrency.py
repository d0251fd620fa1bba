"""Many requests to Kubernetes at once, each of which may fail without the others."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import Final, TypeVar

from slurmery.doors.conditions import Problem
from slurmery.kube.errors import AlreadyExistsError, ApiError, ConflictError, KubeError, NotFoundError

T = TypeVar("T")

_AT_ONCE: Final = 32


def tolerantly(
    work: Callable[[T], Awaitable[None]], reason: str, problems: list[Problem]
) -> Callable[[T], Awaitable[None]]:
    """What is gone needs no work; any other refusal is a problem of this one, not of the others."""

    async def run(item: T) -> None:
        try:
            await work(item)
        except (NotFoundError, ConflictError) as error:
            if isinstance(error, AlreadyExistsError):
                problems.append(Problem(reason, f"{error.message}."))
        except ApiError as error:
            problems.append(Problem(reason, f"{error.message}."))
        except KubeError as error:
            problems.append(Problem(reason, f"{error}."))

    return run


async def concurrently(items: Iterable[T], work: Callable[[T], Awaitable[None]]) -> None:
    """All of them, some at once; those that need no waiting cost no task of their own."""
    waiting = iter([*items])

    async def some() -> None:
        for item in waiting:
            await work(item)

    await asyncio.gather(*(some() for _ in range(_AT_ONCE)))
