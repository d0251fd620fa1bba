"""What is known around a Controller, and the one thing that no apply can do: label the active slurmctld."""

from datetime import UTC, datetime, timedelta
from typing import Final

from slurmery.api.slinky import Accounting, Controller, NodeSet
from slurmery.doors import hashes
from slurmery.kube.client import Client
from slurmery.kube.errors import NotFoundError
from slurmery.kube.meta import Key
from slurmery.kube.resources import CONFIG_MAPS, PODS, STATEFUL_SETS
from slurmery.slinky import names
from slurmery.slinky.controller import files
from slurmery.slinky.controller.decide import ControllerPlan
from slurmery.slinky.controller.observed import Observed, SlurmctldPod
from slurmery.slinky.kinds import CONTROLLERS
from slurmery.slinky.links import Links, answering, busy, job_partitions
from slurmery.slinky.world import World, texts

# NodeSets and an Accounting that are made together with a Controller are there by then.
_ARRIVAL: Final = timedelta(seconds=2)


async def gather(world: World, links: Links, controller: Controller) -> Observed:
    """The world around a Controller."""
    spec, name, namespace = controller.spec, controller.metadata.name, controller.metadata.namespace
    key = Key(namespace, name)
    workload = Key(namespace, names.controller(name))
    # What is in force decides which partitions may go: it must not be older than our last write.
    in_force = await world.contents.live(CONFIG_MAPS, Key(namespace, names.controller_config(name))) or {}
    jwt_key = await world.secret_value(namespace, spec.jwt_key)
    claim = world.caches.claims.get(Key(namespace, spec.persistence.existing_claim))
    slurm = links.follow(controller)
    slurm_key_hash = await world.secret_hash(namespace, spec.slurm_key_ref)
    return Observed(
        slurm_key_hash=slurm_key_hash,
        jwt_key_hash=None if jwt_key is None else hashes.of_value(jwt_key),
        jwt_key=jwt_key,
        config_maps=await _config_maps(world, controller),
        accounting=world.find(Accounting, namespace, spec.accounting_ref),
        nodesets=world.users(NodeSet, CONTROLLERS, key),
        claim_modes=claim.modes if claim else None,
        slurm_conf=texts(in_force).get(names.SLURM_CONF, ""),
        rollout=world.rollout(STATEFUL_SETS, workload, controller.metadata.uid),
        pods=_pods(world, key),
        job_partitions=job_partitions(slurm),
        answering=answering(slurm),
        key_in_force=world.key_in_force(controller),
        busy=busy(slurm, links.noticed(key, slurm_key_hash)),
        arriving=_arriving(controller),
    )


async def relabel(client: Client, controller: Controller, plan: ControllerPlan) -> None:
    """Lead clients to the active slurmctld."""
    for each in plan.relabels:
        labels = {names.ACTIVE_LABEL: "true" if each.active else None}
        try:
            await client.patch(
                PODS, Key(controller.metadata.namespace, each.pod), {"metadata": {"labels": labels}}
            )
        except NotFoundError:
            continue  # its successor starts with the right label, or comes here again


def _arriving(controller: Controller) -> bool:
    made = controller.metadata.creation_timestamp
    return made is not None and datetime.now(UTC) - made < _ARRIVAL


async def _config_maps(world: World, controller: Controller) -> dict[str, dict[str, str]]:
    ref = controller.spec.jwks_key_ref
    wanted = {*files.named(controller), *([ref.name] if ref and ref.name else ())}
    found = {name: await world.config_map(controller.metadata.namespace, name) for name in sorted(wanted)}
    return {name: dict(content) for name, content in found.items() if content is not None}


def _pods(world: World, key: Key) -> tuple[SlurmctldPod, ...]:
    return tuple(
        SlurmctldPod(pod.metadata.name, pod.ready, pod.labels.get(names.ACTIVE_LABEL) == "true")
        for pod in world.caches.pods_of(key)
        if not pod.deleting
    )
