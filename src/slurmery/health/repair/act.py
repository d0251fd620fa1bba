"""Carrying out a verdict: words to Slurm, one condition at a time, the deletion of a Node; and saying so."""

from collections import defaultdict
from collections.abc import Iterable
from typing import Final, Literal

import msgspec

from slurmery.doors.conditions import Problem
from slurmery.health.clusters import Slurms
from slurmery.health.hosts import Host, marked
from slurmery.health.ref import Ref
from slurmery.health.repair.machines import Machines
from slurmery.health.repair.model import (
    Action,
    DeleteMachine,
    DrainWorker,
    Half,
    ResumeWorker,
    SetCondition,
    Worker,
    half,
)
from slurmery.health.words import Drain, Resume, Word
from slurmery.kube.client import Client
from slurmery.kube.errors import ConflictError, NotFoundError
from slurmery.kube.events import Recorder, Regarding
from slurmery.kube.resources import NODES

_DRAINS: Final = "DrainWorker"
_RESUMES: Final = "ResumeWorker"


class Act:
    """Does what was decided, and records an Event for each step, on the node and on its clusters."""

    def __init__(
        self,
        client: Client,
        slurms: Slurms,
        machines: Machines,
        recorder: Recorder,
        halves: frozenset[Half] = frozenset(Half),
    ) -> None:
        self._client = client
        self._slurms = slurms
        self._machines = machines
        self._recorder = recorder
        self._halves = halves

    async def carry_out(self, host: Host, actions: Iterable[Action]) -> list[Problem]:
        """All of it; what Slurm refused is in the answer, what Kubernetes refused is raised."""
        words: dict[Ref, list[Word]] = defaultdict(list)
        for action in (each for each in actions if half(each) in self._halves):
            match action:
                case DrainWorker(cluster, name, reason):
                    words[cluster].append(Drain(name, reason))
                case ResumeWorker(cluster, name, reason):
                    words[cluster].append(Resume(name, reason))
                case SetCondition():
                    await self._set(host, action)
                case DeleteMachine():
                    await self._delete(host, action)
        problems = [
            problem for cluster, said in words.items() for problem in await self._speak(host, cluster, said)
        ]
        for problem in problems:
            self.say(host, (), "Warning", problem.reason, problem.message)
        return problems

    def say(
        self,
        host: Host,
        clusters: Iterable[Ref],
        kind: Literal["Normal", "Warning"],
        reason: str,
        note: str,
    ) -> None:
        """An Event about the node, and about each cluster that has a worker on it."""
        regarding = Regarding(NODES, host.key, host.metadata.uid)
        self._recorder.record(regarding, kind, reason, note, action="Repair")
        for cluster in clusters:
            if about := self._slurms.regarding(cluster):
                self._recorder.record(
                    about, kind, reason, f"Node {host.metadata.name}: {note}", action="Repair"
                )

    async def _speak(self, host: Host, cluster: Ref, words: list[Word]) -> list[Problem]:
        problems = await self._slurms.tell(cluster, words)
        if not problems:
            for word in words:
                if isinstance(word, Drain):
                    self.say(host, (cluster,), "Normal", _DRAINS, f"{word.node} is drained: {word.reason}")
                else:
                    self.say(host, (cluster,), "Normal", _RESUMES, f"{word.node} gets jobs again.")
        return problems

    async def _set(self, host: Host, action: SetCondition) -> None:
        patch = marked(host, action)
        try:
            answer = await self._client.patch(NODES, host.key, patch, kind="strategic", subresource="status")
        except (NotFoundError, ConflictError):
            return  # it is gone; a namesake is another node
        self._machines.wrote(msgspec.convert(answer, Host))
        self.say(host, (), "Normal", action.reason, f"{action.type} is {action.status}: {action.message}")

    async def _delete(self, host: Host, action: DeleteMachine) -> None:
        try:
            await self._client.delete(NODES, host.key, uid=host.metadata.uid)
        except (NotFoundError, ConflictError):
            return
        self._machines.deleted(host)
        self.say(host, (), "Normal", "DeletedNode", action.why)


def clusters(workers: Iterable[Worker]) -> tuple[Ref, ...]:
    """Whose workers they are."""
    return tuple(dict.fromkeys(worker.cluster for worker in workers))
