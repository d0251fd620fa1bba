"""Reconciling a NodeSet: gather, decide, apply, act, report.

Workers are pods that we make and delete ourselves, so the steps differ from those of the other kinds: a
NodeSet that is being deleted is held by a finalizer until its workers are drained and gone, and the status
tells what they wait for.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from typing import Final

from slurmery.api.slinky import NodeSet
from slurmery.doors.concurrency import concurrently, tolerantly
from slurmery.doors.conditions import Problem, degrade
from slurmery.doors.reconcile import misfit
from slurmery.doors.report import Reporter
from slurmery.doors.views import Custom, read
from slurmery.doors.words import Told
from slurmery.kube.apply import Act as Applied
from slurmery.kube.apply import Applier
from slurmery.kube.client import Client
from slurmery.kube.controller import Result
from slurmery.kube.desired import Desired, Owner
from slurmery.kube.meta import Key
from slurmery.kube.resources import (
    CONFIG_MAPS,
    POD_DISRUPTION_BUDGETS,
    PODS,
    SERVICES,
)
from slurmery.slinky import names
from slurmery.slinky.kinds import NODE_SETS
from slurmery.slinky.links import Links
from slurmery.slinky.nodeset import build, marks, status
from slurmery.slinky.nodeset.act import Act, Blueprints, Outcome
from slurmery.slinky.nodeset.belongings import Belongings
from slurmery.slinky.nodeset.decide import Decision, claims_of, decide, pod, spent_claims
from slurmery.slinky.nodeset.fleet import Fleet
from slurmery.slinky.nodeset.gather import Gathered, gather
from slurmery.slinky.nodeset.history import History
from slurmery.slinky.nodeset.keeper import Keeper
from slurmery.slinky.nodeset.tidings import tidings
from slurmery.slinky.nodeset.upkeep import Upkeep
from slurmery.slinky.nodeset.upkeep import decide as decide_upkeep
from slurmery.slinky.world import World
from slurmery.slurm.snapshot import Part
from slurmery.workers.model import Worker

# While something is under way, and while no event may come that would tell of the end of it.
_SOON: Final = 3.0
_LATER: Final = 30.0
# What Kubernetes holds an object with whose dependents are to live on.
_ORPHAN: Final = "orphan"


class Reconcile:
    """Makes the world match one NodeSet, and says how it stands."""

    def __init__(  # noqa: PLR0913 - it stands where all parts meet
        self,
        client: Client,
        world: World,
        links: Links,
        fleet: Fleet,
        *,
        applier: Applier,
        reporter: Reporter,
        propagated: Sequence[str] = (),
    ) -> None:
        self._client = client
        self._world = world
        self._links = links
        self._fleet = fleet
        self._applier = applier
        self._reporter = reporter
        self._propagated = propagated
        self._history = History(client)
        self._belongings = Belongings(client, fleet, world.caches)
        self._keepers: dict[Key, Keeper] = defaultdict(Keeper)

    async def __call__(self, key: Key, /) -> Result:
        view = self._world.caches.custom[NODE_SETS].get(key)
        if view is None:
            self._fleet.expectations.forget(key)
            self._reporter.forget(key)
            self._history.forget(key)
            return Result()
        try:
            nodeset = read(NodeSet, view)
        except ValueError as error:
            await self._reporter.report(view, misfit(NodeSet, view, error), {})
            return Result()
        if view.deleting and _ORPHAN in (view.metadata.finalizers or ()):
            await self._release(view, marks.FINALIZER)  # its pods are to outlive it
            return Result()
        if not self._fleet.expectations.settled(key):
            return Result(_LATER)  # the cache will show what we did, and wake us
        return Result(await self._settle(view, nodeset))

    async def _settle(self, view: Custom, nodeset: NodeSet) -> float | None:
        """One pass; the answer is when to look again though nobody calls."""
        told = self._keepers[Key(nodeset.metadata.namespace, nodeset.spec.controller_ref.name)].told
        gathered = await gather(self._world, self._links, self._fleet, told, nodeset)
        seen = replace(gathered, newest=await self._history.newest(nodeset))
        decision = decide(nodeset, seen, self._propagated)
        upkeep = decide_upkeep(nodeset, seen, decision.standing)
        await self._hold(view, upkeep)
        if not view.deleting and await self._belongings.claim_pods(view, nodeset, seen):
            return _SOON
        refused = await self._apply(view, nodeset, seen)
        refused += [] if view.deleting else await self._belongings.bind_volumes(view, nodeset)
        outcome = await self._act(nodeset, seen, decision, told)
        await self._tell_pods(nodeset, seen, decision, upkeep, outcome)
        for event in tidings(nodeset, decision, outcome):
            self._reporter.say(view, event)
        if view.deleting and not seen.pods and not upkeep.reservation.held:
            await self._release(view, marks.FINALIZER, names.RESERVATION_FINALIZER)
            return None
        refused += await self._keep(view, nodeset, seen, upkeep)
        conditions = degrade(status.conditions(nodeset, decision.standing), [*refused, *outcome.problems])
        said = (*conditions, upkeep.reservation.condition) if upkeep.reservation.condition else conditions
        if view.status or not outcome.created or refused or outcome.problems:
            await self._reporter.report(view, said, status.fields(nodeset, decision.standing))
        # Else it is new, and what its first workers do is known when the watch brings it, which wakes us.
        if decision.template and not view.deleting:
            in_use = {each.labels.get(names.HASH_LABEL, "") for each in seen.pods.values()}
            await self._history.keep(nodeset, decision.standing.revision, in_use)
        return _pending(seen, decision, outcome) or (_LATER if refused else None)

    async def _apply(self, view: Custom, nodeset: NodeSet, seen: Gathered) -> list[Problem]:
        """The objects around the workers; the answer is what the server would not have."""
        controller = nodeset.spec.controller_ref.name
        shared = Owner(NODE_SETS, view.key, view.metadata.uid, names.cluster_worker_selector(controller))
        own = Owner(
            NODE_SETS, view.key, view.metadata.uid, names.worker_labels(view.metadata.name, controller)
        )
        ssh = nodeset.spec.ssh and nodeset.spec.ssh.enabled
        desired = [Desired(CONFIG_MAPS, build.ssh_config(nodeset))] if ssh else []
        outcomes = await self._applier.apply(own, desired, prune=(CONFIG_MAPS,))
        if seen.siblings:
            around = [
                Desired(SERVICES, build.worker_service(seen.siblings), owned=False),
                Desired(POD_DISRUPTION_BUDGETS, build.worker_pdb(seen.siblings), owned=False),
            ]
            outcomes += await self._applier.apply(shared, around)
        return [Problem(each.reason, each.message) for each in outcomes if each.act is Applied.BLOCKED]

    async def _act(self, nodeset: NodeSet, seen: Gathered, decision: Decision, told: Told) -> Outcome:
        key = Key(nodeset.metadata.namespace, nodeset.metadata.name)
        cluster = str(Key(key.namespace, nodeset.spec.controller_ref.name))
        blueprints = Blueprints(
            pod=partial(pod, nodeset, seen, decision),
            claims=partial(claims_of, nodeset, seen),
            spent=partial(spent_claims, nodeset, seen),
        )
        act = Act(self._client, self._fleet.expectations, key)
        client = self._links.clusters.client(cluster)
        outcome = await act.carry_out(decision.plan, seen.pods, blueprints, client, told)
        # What was told in an earlier pass has settled by now: both lists have to be newer than that.
        if any(not each.fresh and each.slurm_name in seen.slurm.told for each in decision.standing.workers):
            for part in {Part.NODES, Part.JOBS} & seen.slurm.snapshot.asked:
                self._links.clusters.poke(cluster, part)
        return outcome

    async def _tell_pods(
        self, nodeset: NodeSet, seen: Gathered, decision: Decision, upkeep: Upkeep, outcome: Outcome
    ) -> None:
        """What Slurm says of the workers, where people and budgets look for it."""
        now = datetime.fromtimestamp(seen.now, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        gone = {each.pod for each in outcome.deleted}
        here = [each for each in decision.standing.workers if not each.terminating and each.pod not in gone]

        async def write(worker: Worker) -> None:
            live = seen.pods[worker.pod]
            labels = status.protection(nodeset, worker, live)
            notes = upkeep.notes.get(worker.pod)
            if labels or notes:
                metadata = {"uid": live.metadata.uid, "labels": labels or {}, "annotations": notes or {}}
                await self._client.patch(PODS, live.key, {"metadata": metadata})
            if said := status.pod_conditions(worker, live, now):
                await self._client.patch(PODS, live.key, said, kind="strategic", subresource="status")

        await concurrently(here, tolerantly(write, "FailedUpdate", outcome.problems))

    async def _keep(self, view: Custom, nodeset: NodeSet, seen: Gathered, upkeep: Upkeep) -> list[Problem]:
        """The rest of what Slurm should have of a NodeSet."""
        cluster = Key(nodeset.metadata.namespace, nodeset.spec.controller_ref.name)
        client = self._links.clusters.client(str(cluster))
        if client is None:
            return [*upkeep.problems]
        problems, events = await self._keepers[cluster].keep(client, nodeset, upkeep)
        for event in events:
            self._reporter.say(view, event)
        if events and Part.RESERVATIONS in seen.slurm.snapshot.asked:
            self._links.clusters.poke(str(cluster), Part.RESERVATIONS)
        return problems

    async def _hold(self, view: Custom, upkeep: Upkeep) -> None:
        """A NodeSet may not go before its workers and its reservation, which come only after this."""
        held = frozenset(view.metadata.finalizers or ())
        reserved = {names.RESERVATION_FINALIZER}
        wanted = held | {marks.FINALIZER}
        wanted = wanted | reserved if upkeep.reservation.held else wanted - reserved
        if wanted != held and not view.deleting:
            await self._set_finalizers(view, sorted(wanted))

    async def _release(self, view: Custom, *finalizers: str) -> None:
        held = view.metadata.finalizers or ()
        kept = [each for each in held if each not in finalizers]
        if len(kept) < len(held):
            await self._set_finalizers(view, kept)

    async def _set_finalizers(self, view: Custom, finalizers: Sequence[str]) -> None:
        metadata = {"resourceVersion": view.metadata.resource_version, "finalizers": finalizers}
        await self._client.patch(NODE_SETS, view.key, {"metadata": metadata})


def _pending(seen: Gathered, decision: Decision, outcome: Outcome) -> float | None:
    """When to look again although nobody calls; never, if all is as it should be."""
    plan, workers = decision.plan, decision.standing.workers
    steps = (plan.mark, plan.unmark, plan.drain, plan.undrain, plan.delete, plan.create, plan.waits)
    if any(steps) or outcome.problems or any(worker.ready and not worker.available for worker in workers):
        return _SOON
    # Slurm's lists come one by one, and only their changes call. Silence and its end call, too.
    answering = not seen.slurm.snapshot.nodes.error and not seen.slurm.snapshot.jobs.error
    return _SOON if answering and not all(worker.fresh for worker in workers) else None
