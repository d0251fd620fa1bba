"""One look at one Kubernetes node: gather, decide, act, and say what is waited for."""

import time
from collections.abc import Hashable, Iterable
from typing import Final

from slurmery.health.clusters import Slurms
from slurmery.health.hosts import Host
from slurmery.health.ref import Ref
from slurmery.health.repair.act import Act, clusters
from slurmery.health.repair.decide import decide, held
from slurmery.health.repair.gather import Gather
from slurmery.health.repair.machines import Machines, machine
from slurmery.health.repair.policy import Policy
from slurmery.kube.controller import Controller, Result
from slurmery.kube.meta import Key
from slurmery.slurm.snapshot import Changes, Part

# Until Slurm has told of what it was told, and has had time to settle.
_SOON: Final = 1.0
_LATER: Final = 30.0


class Reconcile:
    """Brings a node one step further. One worker runs it: budgets are spent by one hand."""

    def __init__(self, policy: Policy, machines: Machines, gather: Gather, slurms: Slurms, act: Act) -> None:
        self._policy = policy
        self._machines = machines
        self._gather = gather
        self._slurms = slurms
        self._act = act
        # What each node waits for, as it was last said.
        self._waits: dict[str, str] = {}
        self._silent: set[Ref] = set()

    async def __call__(self, key: Key) -> Result:
        host = self._machines.get(key.name)
        if host is None:
            self._waits.pop(key.name, None)
            return Result()
        workers = self._gather.workers(key.name)
        if not workers and held(host.conditions.items()) and (cluster := self._slurms.blind()):
            return self._wait(host, (), f"Its workers are unknown: {cluster} has not answered yet.")
        if any(self._slurms.unheard(each.cluster, each.name) for each in workers):
            return Result(_SOON)
        away = self._gather.away(key.name)
        verdict = decide(machine(host), workers, self._policy, away, time.time())
        problems = await self._act.carry_out(host, verdict.actions)
        result = self._wait(host, clusters(workers), verdict.waits)
        settling = any(each.known and each.drains and not (each.busy or each.drained) for each in workers)
        if settling and verdict.waits and not problems:
            return Result(_SOON)
        return Result(verdict.again or result.requeue_after or (_LATER if verdict.actions else None))

    def heard(self, controller: Controller, cluster: Ref, changes: Changes) -> None:
        """Slurm said something new: look at the machines that it is about."""
        names: Iterable[Hashable] = changes.touched if changes.part is Part.NODES else ()
        if not self._slurms.known(cluster):
            self._silent.add(cluster)
        elif cluster in self._silent:
            self._silent.discard(cluster)
            names = self._slurms.snapshot(cluster).nodes
        hosts = {self._gather.host_of(cluster, str(name)) for name in names} - {""}
        for host in hosts | self._waits.keys() if changes.part is Part.JOBS else hosts:
            controller.queue.add(Key("", host))

    def _wait(self, host: Host, about: Iterable[Ref], words: str) -> Result:
        """Say once what is waited for; no words are no wait."""
        name = host.metadata.name
        if not words:
            self._waits.pop(name, None)
            return Result()
        if words != self._waits.get(name):
            self._act.say(host, about, "Normal", "RepairWaits", words)
        self._waits[name] = words
        return Result(_LATER)
