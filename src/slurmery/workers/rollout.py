"""Which workers leave to come back with a new revision, without taking away more than the user allows.

    in flight = missing + new but not available yet + already leaving + released but not yet given back
    budget    = maxUnavailable - in flight

Unhealthy workers go first, and healthy ones only with what the unhealthy leave of the budget. Of the healthy,
the idle go before the busy, so that an update waits for as few jobs as it can. A worker that is unavailable
and on which nothing can be running costs nothing and goes at once.
"""

from collections.abc import Callable, Sequence
from math import ceil

from slurmery.workers.model import Worker
from slurmery.workers.order import busy, expendability
from slurmery.workers.safety import objection


def rolling(
    workers: Sequence[Worker], revision: str, wanted: int, max_unavailable: int | str
) -> tuple[str, ...]:
    """The pods to replace now, of those that stay otherwise; `wanted` is how many there should be."""
    allowed = limit(max_unavailable, wanted)
    present = [w for w in workers if not w.terminating]
    old = [w for w in present if w.revision != revision]
    lost = {w.pod: w for w in old if not w.available and objection(w) is None}
    waiting = sorted((w for w in old if w.pod not in lost), key=lambda w: (busy(w), *expendability(w)))
    leaving = [w for w in waiting if w.leaving][:allowed]
    unhealthy = [w for w in waiting if not w.leaving and not w.available]
    idle_first = [w for w in waiting if not w.leaving and w.available]

    missing = max(wanted - len(present), 0)
    arriving = sum(not w.available or bool(w.leaving) for w in present if w.revision == revision)
    budget = max(allowed - missing - arriving - len(leaving) - len(lost), 0)
    chosen = (*unhealthy[:budget], *idle_first[: max(budget - len(unhealthy), 0)])
    return tuple(w.pod for w in (*lost.values(), *leaving, *chosen))


def scheduled(
    workers: Sequence[Worker], revision: str, under_maintenance: Callable[[Worker], bool]
) -> tuple[str, ...]:
    """The pods to replace during a maintenance reservation: the unhealthy, and those that it holds."""
    old = [w for w in workers if w.revision != revision and not w.terminating]
    return tuple(w.pod for w in old if not w.healthy or w.leaving or under_maintenance(w))


def limit(max_unavailable: int | str, total: int) -> int:
    """A number, or a percentage that rounds up; never less than one, or nothing would ever be replaced."""
    if isinstance(max_unavailable, int):
        return max(max_unavailable, 1)
    digits = max_unavailable.removesuffix("%")
    if not digits.isdecimal():
        return 1
    return max(ceil(int(digits) * total / 100), 1) if max_unavailable.endswith("%") else max(int(digits), 1)
