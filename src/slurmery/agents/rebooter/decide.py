"""What to do about the own node: pure, of the node, the pods on it, and when it was booted.

    asked ─► cordon ─► evict ─► empty: NodeDrained ─┬─ a drain was asked for: done
               (ours is noted on the node)          └─ a reboot: NodeRebooting, reboot ─► NodeRebooted
    taken back, or rebooted ─► our own cordon is undone, nobody else's

Each call does the next steps that are due, whatever happened before: the node itself is all the memory.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from slurmery.agents.rebooter.model import Cordon, Evict, Guest, Own, Reboot, Step, Uncordon, Verdict
from slurmery.health.repair import policy as names
from slurmery.health.repair.model import SetCondition

UNDRAINED: Final = "NodeUndrained"
REBOOTING: Final = "NodeRebooting"

_LEAVING_SECONDS: Final = 5.0
_REBOOT_SECONDS: Final = 60.0
_NAMED: Final = 3


def decide(node: Own, guests: Sequence[Guest], booted: float) -> Verdict:
    """The next steps. `booted` is when the machine was started, in seconds of the epoch."""
    if reboot_asked(node):
        if returned(node, booted):
            return Verdict((*_after_reboot(node), *_said(node, names.REBOOT, "True", names.REBOOTED, _BACK)))
        return _reboot(node, guests)
    if node.condition(names.DRAIN).true:
        return _drain(node, guests)
    return Verdict(tuple(_taken_back(node)))


def concerned(node: Own) -> bool:
    """Whether there may be something to do; of other nodes nothing more need be known."""
    return reboot_asked(node) or node.condition(names.DRAIN).true or node.cordoned_by_us


def returned(node: Own, booted: float) -> bool:
    """Whether the machine was started after the reboot was asked for."""
    return booted >= node.condition(names.REBOOT).since


def reboot_asked(node: Own) -> bool:
    """Whether a reboot was asked for and has not been seen to its end."""
    condition = node.condition(names.REBOOT)
    return condition.true and condition.reason != names.REBOOTED


_BACK: Final = "The machine was started after the reboot was asked for."
_EMPTY: Final = "No pod is left that could be evicted."


def _reboot(node: Own, guests: Sequence[Guest]) -> Verdict:
    drained = _drain(node, guests)
    if not _empty(node, guests):
        return drained
    said = _said(node, names.REBOOT, "True", REBOOTING, "The node is empty: the machine is restarted.")
    return Verdict((*drained.steps, *said, Reboot()), _REBOOT_SECONDS)


def _drain(node: Own, guests: Sequence[Guest]) -> Verdict:
    cordon: tuple[Step, ...] = () if node.unschedulable else (Cordon(),)
    if _empty(node, guests):
        return Verdict(tuple(_said(node, names.DRAIN, "True", names.DRAINED, _EMPTY)))
    present = [guest for guest in guests if not guest.stays]
    said = _said(node, names.DRAIN, "True", names.DRAINING, _waiting(present))
    evictions = (Evict(guest.key, guest.uid) for guest in present if not guest.leaving)
    return Verdict((*cordon, *said, *evictions), _LEAVING_SECONDS)


def _empty(node: Own, guests: Iterable[Guest]) -> bool:
    """Whether nobody is left, and nobody can have come since: the cordon was seen, not only made."""
    return node.unschedulable and all(guest.stays for guest in guests)


def _after_reboot(node: Own) -> Iterator[Step]:
    """What follows a reboot. A drain that was asked for before the reboot was, goes on."""
    drain = node.condition(names.DRAIN)
    asked_before = drain.true and drain.since < node.condition(names.REBOOT).since
    if asked_before:
        return
    if node.cordoned_by_us:
        yield Uncordon()
    if drain.true:
        yield from _said(node, names.DRAIN, "False", UNDRAINED, _BACK)


def _taken_back(node: Own) -> Iterator[Step]:
    if node.cordoned_by_us:
        yield Uncordon()
        yield from _said(node, names.DRAIN, "False", UNDRAINED, "Nothing asks for a drain any more.")


def _said(node: Own, kind: str, status: str, reason: str, message: str) -> Iterator[Step]:
    """A condition, unless the node has it already."""
    now = node.condition(kind)
    if (now.status, now.reason, now.message) != (status, reason, message):
        yield SetCondition(kind, status, reason, message)


def _waiting(present: Iterable[Guest]) -> str:
    named = sorted(str(guest.key) for guest in present)
    more = " and others" if len(named) > _NAMED else ""
    return f"Waits for {', '.join(named[:_NAMED])}{more} to leave." if named else "The node was cordoned."
