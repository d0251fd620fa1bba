"""The front door: what each kind is made of, and which changes wake it.

its own children                          ──► the object
Secrets, ConfigMaps, claims, Accountings  ──► the objects whose specs name them
a Controller, its Secrets and children    ──► its RestApis, LoginSets and NodeSets
a worker pod, its Kubernetes node, Slurm  ──► the NodeSet
a NodeSet, a RestApi, a slurmctld pod     ──► its Controller
"""

from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

from slurmery.api.resource import CustomResource
from slurmery.api.slinky import Accounting, Controller, LoginSet, NodeSet, RestApi, Token
from slurmery.doors.contents import Contents
from slurmery.doors.hold import Hold
from slurmery.doors.reconcile import Kind, Reconcile
from slurmery.doors.report import Reporter
from slurmery.doors.views import Custom, resource
from slurmery.kube.apply import Applier
from slurmery.kube.controller import Controller as Workers
from slurmery.kube.controller import controller_of, not_only_status, unreported
from slurmery.kube.meta import Key, Resource, View
from slurmery.kube.observed import Cached
from slurmery.kube.resources import PERSISTENT_VOLUME_CLAIMS
from slurmery.kube.runtime import Runtime, Wing
from slurmery.slinky import names, needs
from slurmery.slinky.accounting.decide import decide as decide_accounting
from slurmery.slinky.accounting.gather import gather as gather_accounting
from slurmery.slinky.caches import Caches, instance
from slurmery.slinky.controller.decide import decide as decide_controller
from slurmery.slinky.controller.gather import gather as gather_controller
from slurmery.slinky.controller.gather import relabel
from slurmery.slinky.kinds import ACCOUNTINGS, CONTROLLERS, LOGIN_SETS, NODE_SETS, REST_APIS
from slurmery.slinky.links import Links, Reach, in_cluster
from slurmery.slinky.loginset.decide import decide as decide_loginset
from slurmery.slinky.loginset.decide import status as loginset_status
from slurmery.slinky.loginset.gather import gather as gather_loginset
from slurmery.slinky.nodeset.fleet import Fleet
from slurmery.slinky.nodeset.reconcile import Reconcile as ReconcileNodeSet
from slurmery.slinky.references import uses
from slurmery.slinky.restapi.decide import decide as decide_restapi
from slurmery.slinky.restapi.gather import gather as gather_restapi
from slurmery.slinky.token.decide import decide as decide_token
from slurmery.slinky.token.gather import gather as gather_token
from slurmery.slinky.token.gather import labels as token_labels
from slurmery.slinky.token.gather import status as token_status
from slurmery.slinky.world import World

# The kinds that live by the Secrets and files of their Controller.
_OF_A_CLUSTER: Final = frozenset({REST_APIS, LOGIN_SETS, NODE_SETS})


@dataclass(frozen=True)
class Door:
    """How the front door is opened; no namespaces are all. `workers` are how many of a kind work at once.

    `propagated` are types of node conditions that become part of a drain's reason.
    """

    namespaces: Sequence[str] = ()
    domain: str = "cluster.local"
    workers: Mapping[type[CustomResource], int] = field(default_factory=dict)
    time_limit: float = 180.0
    propagated: Sequence[str] = ()
    reach: Reach = in_cluster

    @asynccontextmanager
    async def open(self, runtime: Runtime) -> AsyncIterator[None]:
        """Give the runtime the informers and controllers of these kinds, for as long as it runs."""
        wing = Wing(runtime, CONTROLLERS)
        caches = Caches(wing, self.namespaces)
        world = World(caches, Contents(runtime.client, caches.metadata), self.domain)
        links = Links(world, self.reach)
        informers = [one for cache in caches.owned.values() for one in cache.informers]
        applier = Applier(runtime.client, Cached(runtime.client, informers), runtime.discovery)
        recorder = runtime.recorder("slurm-operator")
        for kind in kinds(runtime, world, links):
            served = resource(kind.model)
            reporter = Reporter(runtime.client, recorder, served)
            reconcile = Reconcile(kind, caches.custom[served], applier, reporter)
            workers = Workers(
                kind.model.__name__.lower(),
                reconcile,
                unreported,
                workers=self.workers.get(kind.model, 1),
                time_limit=self.time_limit,
            )
            _wake(workers, served, caches)
            if served == CONTROLLERS:
                links.pinged.append(workers.queue.add)
            wing.add(workers)
        fleet = Fleet(wing, caches, self.namespaces)
        reporter = Reporter(runtime.client, recorder, NODE_SETS)
        reconcile_nodeset = ReconcileNodeSet(
            runtime.client,
            world,
            links,
            fleet,
            applier=applier,
            reporter=reporter,
            propagated=self.propagated,
        )
        nodesets = Workers(
            "nodeset",
            reconcile_nodeset,
            unreported,
            workers=self.workers.get(NodeSet, 1),
            time_limit=self.time_limit,
        )
        _wake(nodesets, NODE_SETS, caches)
        fleet.wakes(nodesets)
        links.changed.append(partial(_wake_nodesets, nodesets, caches))
        wing.add(nodesets)
        try:
            yield
        finally:
            await links.clusters.close()


def kinds(runtime: Runtime, world: World, links: Links) -> tuple[Kind[Any, Any, Any], ...]:
    """What is special about each kind."""
    return (
        Kind(
            Controller,
            gather=partial(gather_controller, world, links),
            decide=decide_controller,
            labels=partial(names.labels, names.SLURMCTLD),
            finish=partial(relabel, runtime.client),
            hold=Hold(runtime.client, CONTROLLERS, partial(needs.controller, world.caches)),
        ),
        Kind(
            Accounting,
            gather=partial(gather_accounting, world),
            decide=decide_accounting,
            labels=partial(names.labels, names.SLURMDBD),
            hold=Hold(runtime.client, ACCOUNTINGS, partial(needs.accounting, world.caches)),
        ),
        Kind(
            RestApi,
            gather=partial(gather_restapi, world),
            decide=decide_restapi,
            labels=partial(names.labels, names.SLURMRESTD),
            hold=Hold(runtime.client, REST_APIS, partial(needs.restapi, world.caches)),
        ),
        Kind(
            LoginSet,
            gather=partial(gather_loginset, world),
            decide=lambda loginset, seen: decide_loginset(loginset, seen.observed, seen.fresh),
            labels=partial(names.labels, names.LOGIN),
            status=lambda loginset, seen, _: loginset_status(loginset, seen.observed),
        ),
        Kind(
            Token,
            gather=partial(gather_token, world),
            decide=lambda token, seen: decide_token(token, seen.observed, now=seen.now, jti=seen.jti),
            labels=token_labels,
            status=token_status,
            essential=True,
        ),
    )


def _wake(workers: Workers, kind: Resource, caches: Caches) -> None:
    """Let everything reach a kind that its decisions look at."""
    caches.custom[kind].wakes(workers, relevant=not_only_status)
    for owned, cache in caches.owned.items():
        cache.wakes(workers, _concerned(caches, kind, owned))
    if kind == CONTROLLERS:
        caches.custom[ACCOUNTINGS].wakes(
            workers, _concerned(caches, kind, ACCOUNTINGS), relevant=not_only_status
        )
        caches.custom[NODE_SETS].wakes(workers, _cluster_of, relevant=_resized)
        caches.claims.wakes(workers, _concerned(caches, kind, PERSISTENT_VOLUME_CLAIMS))
        caches.slurmctld_pods.wakes(workers, instance)
        caches.custom[REST_APIS].wakes(workers, _cluster_of, relevant=not_only_status)
    if kind in _OF_A_CLUSTER:
        caches.custom[CONTROLLERS].wakes(
            workers, _concerned(caches, kind, CONTROLLERS), relevant=not_only_status
        )


def _wake_nodesets(workers: Workers, caches: Caches, controller: Key) -> None:
    for nodeset in caches.users(NODE_SETS, CONTROLLERS, controller):
        workers.queue.add(nodeset.key)


def _concerned(caches: Caches, kind: Resource, changed: Resource) -> Callable[[View], Iterable[Key]]:
    """Who of a kind owns an object, names it, or names the Controller that does."""
    owner, cluster = controller_of(kind), controller_of(CONTROLLERS)

    def find(view: View) -> Iterable[Key]:
        yield from owner(view)
        yield from (user.key for user in caches.users(kind, changed, view.key))
        if kind in _OF_A_CLUSTER:
            clusters = {*cluster(view), *(one.key for one in caches.users(CONTROLLERS, changed, view.key))}
            for key in clusters:
                yield from (user.key for user in caches.users(kind, CONTROLLERS, key))

    return find


def _cluster_of(view: Custom) -> Iterable[Key]:
    return [key for used, key in uses(view) if used == CONTROLLERS]


def _resized(old: Custom, new: Custom) -> bool:
    """A NodeSet on every node says in its status how many that are: Slurm must make room for them."""
    wanted = [(view.status or {}).get("desired") for view in (old, new)]
    return not_only_status(old, new) or wanted[0] != wanted[1]
