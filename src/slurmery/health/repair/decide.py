"""What to do about one Kubernetes node: pure, of the node, its Slurm workers, the policy and the budget.

    sign of trouble ─► workers drained ─► condition for the repairer ─► rebooter evicts ─► reboot or deletion
                        (jobs finish)        (within the budget)

Each call does the next step that is due, whatever happened before: the conditions of the node are all the
memory there is. A step that takes the machine away needs every worker drained beyond doubt, and a worker gets
jobs again only when no repairer has its machine in hand any more.
"""

from collections.abc import Iterable, Iterator

from slurmery.health.repair import policy as names
from slurmery.health.repair.model import (
    Action,
    Condition,
    DeleteMachine,
    DrainWorker,
    Machine,
    ResumeWorker,
    SetCondition,
    Verdict,
    Worker,
)
from slurmery.health.repair.policy import Policy, Response

_ABSENT = Condition("False")
_AGAIN_SECONDS = 30.0


def decide(machine: Machine, workers: tuple[Worker, ...], policy: Policy, away: int, now: float) -> Verdict:
    """The next step. `away` is how many other nodes the repairers hold now."""
    signs = _Signs(machine, workers, policy)
    # Of a node whose workers were evicted, the conditions tell that it is ours.
    if not workers and not any(signs.condition(kind).true for kind in (names.MAINTENANCE, names.DEGRADED)):
        return Verdict()
    if any(machine.labels.get(key) == value for key, value in policy.spared.items()):
        return Verdict()
    freed = () if held(machine.conditions.items()) else tuple(_resumed(signs))
    if freed and machine.cordoned:
        return Verdict(waits="It is cordoned: its workers stay drained until it is not.")
    if freed:
        return Verdict(freed)
    if signs.response is not Response.IGNORE and (drains := _drained(signs, signs.reason)):
        return Verdict(drains)
    return _machine_step(signs, away) or _not_ready(signs, away, now)


class _Signs:
    """What the conditions and drain reasons come to."""

    def __init__(self, machine: Machine, workers: tuple[Worker, ...], policy: Policy) -> None:
        self.machine = machine
        self.workers = workers
        self.policy = policy
        self.trigger = self._strongest_condition()
        self.worker = self._strongest_worker()
        asked = [self._asks(self.trigger)] if self.trigger else []
        asked += [self._of(self.worker)] if self.worker else []
        self.response = max(asked, key=_strength, default=Response.IGNORE)

    def condition(self, kind: str) -> Condition:
        return self.machine.conditions.get(kind, _ABSENT)

    @property
    def drained(self) -> bool:
        """Whether no worker has a job or can get one; one that Slurm did not tell of is busy."""
        return all(worker.known and worker.drained for worker in self.workers)

    @property
    def reason(self) -> str:
        """Why workers are drained: the reason that health checks gave stays what it is."""
        if self.announced:
            return names.REPLACEMENT_REASON
        if self.trigger and self._asks(self.trigger) is self.response:
            return f"{names.CONDITION_REASON}{self.trigger}"
        return names.REBOOT_REASON if self.response is Response.REBOOT else self._word

    @property
    def announced(self) -> bool:
        """Whether a condition of the node says that it is to be replaced."""
        return self.trigger is not None and self._asks(self.trigger) is Response.REPLACE

    @property
    def cause(self) -> str:
        """What asks for a reboot."""
        return f"Slurm says: {self._word}" if self.worker else f"{names.spelt(self.trigger or '')}."

    @property
    def _word(self) -> str:
        return self.worker.reason if self.worker else ""

    def _strongest_condition(self) -> str | None:
        found = [
            kind
            for kind in self.policy.conditions
            if self.machine.shows(kind) and self._asks(kind) is not Response.IGNORE
        ]
        return max(found, key=lambda kind: _strength(self._asks(kind)), default=None)

    def _asks(self, kind: str) -> Response:
        """What a condition asks for; one that a reboot did not help keeps the workers drained, no more."""
        response, degraded = self.policy.conditions[kind], self.machine.conditions.get(names.DEGRADED)
        shown = self.machine.shows(kind)
        rebooted = degraded and not degraded.true and shown and shown.since < degraded.since
        return Response.DRAIN if response is Response.REBOOT and rebooted else response

    def _strongest_worker(self) -> Worker | None:
        asking = [each for each in self.workers if self._of(each) is not Response.IGNORE]
        return max(asking, key=lambda each: _strength(self._of(each)), default=None)

    def _of(self, worker: Worker) -> Response:
        """What a worker's drain asks for; one that a repair has answered already asks for nothing."""
        if not (worker.known and worker.drains) or resolved(self.machine, worker, self.policy):
            return Response.IGNORE
        response = self.policy.of_reason(worker.reason)
        if response is not Response.REPLACE or worker.reason == names.REPLACEMENT_REASON:
            # Our own word for a replacement follows from a condition: it is no sign in itself.
            return Response.IGNORE if response is Response.REPLACE else response
        return response if self.policy.replaces else Response.IGNORE


def resolved(machine: Machine, worker: Worker, policy: Policy) -> bool:
    """Whether what a worker was drained for is over."""
    if worker.reason == names.NOT_READY_REASON:
        return machine.conditions.get(names.READY, _ABSENT).true
    if worker.reason.startswith(names.CONDITION_REASON):
        return not machine.shows(worker.reason.removeprefix(names.CONDITION_REASON))
    response = policy.of_reason(worker.reason)
    if "node replacement process" in worker.reason:
        return not any(
            machine.shows(sign) for sign, asked in policy.conditions.items() if asked is Response.REPLACE
        )
    if response is Response.REBOOT:
        degraded = machine.conditions.get(names.DEGRADED)
        return degraded is not None and not degraded.true and worker.reason_since < degraded.since
    if response is Response.REPLACE:
        # The machine, or the pod on it, is younger than the trouble.
        return policy.replaces and worker.reason_since < max(machine.created, worker.placed_since)
    return False


def _resumed(signs: _Signs) -> Iterator[Action]:
    """Drains of ours that are over."""
    if signs.trigger is not None:
        return
    for worker in signs.workers:
        ours = worker.known and worker.drains and signs.policy.ours(worker.reason)
        if ours and resolved(signs.machine, worker, signs.policy):
            yield ResumeWorker(worker.cluster, worker.name, worker.reason)


def _drained(signs: _Signs, reason: str) -> tuple[Action, ...]:
    """The words that drain those who are not: an administrator's drain stays what it is."""
    return tuple(
        DrainWorker(one.cluster, one.name, reason) for one in signs.workers if one.known and not one.drains
    )


def _machine_step(signs: _Signs, away: int) -> Verdict | None:
    """The next word to the repairers, None if there is nothing to repair."""
    if signs.condition(names.REBOOT).true and signs.condition(names.REBOOT).reason == names.REBOOTED:
        # The one that says so goes last: whoever dies between them would ask for another reboot.
        over = (names.DEGRADED, names.DRAIN, names.REBOOT)
        return Verdict(
            tuple(SetCondition(kind, "False", names.REBOOTED, "It was rebooted.") for kind in over)
        )
    if signs.response is Response.DRAIN and not signs.drained:
        return Verdict(waits=_waiting(signs.workers))
    if signs.response is Response.REBOOT:
        return _reboot(signs, away)
    if signs.response is Response.REPLACE:
        return _replace(signs, away)
    return _withdrawn(signs)


def _reboot(signs: _Signs, away: int) -> Verdict:
    if not signs.drained:
        return Verdict(waits=_waiting(signs.workers))
    if not signs.condition(names.DEGRADED).true:
        return Verdict((SetCondition(names.DEGRADED, "True", names.NEED_REBOOT, signs.cause),))
    if signs.condition(names.REBOOT).true:
        return Verdict(waits="The rebooter is at work.")
    if away >= signs.policy.budget:
        return Verdict(waits=_no_budget(signs.policy, away), again=_AGAIN_SECONDS)
    words = "Its workers are drained."
    return Verdict((SetCondition(names.REBOOT, "True", names.NEED_REBOOT, words),))


def _replace(signs: _Signs, away: int) -> Verdict:
    if not signs.drained:
        return Verdict(waits=_waiting(signs.workers))
    if not signs.announced and signs.worker:
        reason, message = condition_words(signs.worker.reason)
        return Verdict((SetCondition(names.HARDWARE, "True", reason, message),))
    if not signs.condition(names.MAINTENANCE).true:
        words = f"No job is left on {_names(signs.workers)}."
        return Verdict((SetCondition(names.MAINTENANCE, "True", names.DRAINING, words),))
    return _removed(signs, away)


def _removed(signs: _Signs, away: int) -> Verdict:
    drain = signs.condition(names.DRAIN)
    if not drain.true:
        if away >= signs.policy.budget:
            return Verdict(waits=_no_budget(signs.policy, away), again=_AGAIN_SECONDS)
        words = "It is to be replaced; its workers are drained."
        return Verdict((SetCondition(names.DRAIN, "True", names.NEED_DRAIN, words),))
    if drain.reason != names.DRAINED:
        return Verdict(waits="The rebooter evicts what is left on the node.")
    return Verdict((DeleteMachine("It was drained to be replaced."),))


def _withdrawn(signs: _Signs) -> Verdict | None:
    """The trouble is gone: what was asked of the repairers is taken back."""
    if signs.condition(names.MAINTENANCE).true:
        over = [kind for kind in (names.DRAIN, names.MAINTENANCE) if signs.condition(kind).true]
    elif signs.condition(names.DEGRADED).true and _calm(signs):
        over = [names.DEGRADED]
    else:
        return None
    words = "Nothing asks for its repair any more."
    return Verdict(tuple(SetCondition(kind, "False", names.REBOOTED, words) for kind in over))


def _calm(signs: _Signs) -> bool:
    """Whether Slurm, who alone may know why a reboot was wanted, wants none, and none is asked for."""
    known = bool(signs.workers) and all(worker.known for worker in signs.workers)
    return known and not signs.condition(names.REBOOT).true


def _not_ready(signs: _Signs, away: int, now: float) -> Verdict:
    """A machine that has been silent for long, if it is wanted that such are replaced."""
    ready, policy = signs.condition(names.READY), signs.policy
    if not policy.deletes_not_ready or ready.true or names.READY not in signs.machine.conditions:
        return Verdict()
    minutes = f"{policy.not_ready_seconds / 60:g} minutes"
    left = ready.since + policy.not_ready_seconds - now
    if left > 0:
        return Verdict(waits=f"It is not ready: it is replaced if it stays so for {minutes}.", again=left)
    if drains := _drained(signs, names.NOT_READY_REASON):
        return Verdict(drains)
    if not signs.drained:
        return Verdict(waits=f"It is not ready. {_waiting(signs.workers)}", again=_AGAIN_SECONDS)
    if away >= policy.budget:
        return Verdict(waits=_no_budget(policy, away), again=_AGAIN_SECONDS)
    return Verdict((DeleteMachine(f"It has not been ready for {minutes}."),))


def held(conditions: Iterable[tuple[str, Condition]]) -> bool:
    """Whether the repairers hold a node: it counts against the budget."""
    return any(
        condition.true
        and (kind == names.DRAIN or (kind == names.REBOOT and condition.reason != names.REBOOTED))
        for kind, condition in conditions
    )


def condition_words(reason: str) -> tuple[str, str]:
    """Reason and message of a condition for a drain reason: "[node_problem] Y z: M" gives ("yZ", "M")."""
    text = reason.split("]", 1)[-1].strip()
    check, _, message = text.partition(": ")
    spelt = "".join(each if each.isalnum() else " " for each in check).lstrip("0123456789 ")
    first, *others = [word.lower() if word.isupper() else word for word in spelt.split()] or [""]
    name = "".join((first[:1].lower() + first[1:], *(word[0].upper() + word[1:] for word in others)))
    return name[:1024] or "HealthCheckFailed", (message or text)[:32768]


def _strength(response: Response) -> int:
    return list(Response).index(response)


def _waiting(workers: Iterable[Worker]) -> str:
    unknown = sorted(each.name for each in workers if not each.known)
    if unknown:
        return f"Slurm does not tell of {', '.join(unknown)}: they count as busy."
    busy = sorted(each.name for each in workers if each.busy)
    if busy:
        return f"Jobs run on {', '.join(busy)}: they are waited for."
    return f"Slurm is asked once more whether {_names(workers)} is free."


def _names(workers: Iterable[Worker]) -> str:
    return ", ".join(sorted(each.name for each in workers))


def _no_budget(policy: Policy, away: int) -> str:
    return f"{away} others are away for repair, {policy.budget} may be at once."
