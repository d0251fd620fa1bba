"""What is known around a RestApi."""

from slurmery.api.slinky import RestApi
from slurmery.doors import hashes
from slurmery.kube.meta import Key
from slurmery.kube.resources import DEPLOYMENTS
from slurmery.slinky import names
from slurmery.slinky.controller.config import for_clients
from slurmery.slinky.restapi.observed import Observed
from slurmery.slinky.world import World


async def gather(world: World, restapi: RestApi) -> Observed:
    """The world around a RestApi."""
    metadata, ref = restapi.metadata, restapi.spec.controller_ref
    controller, slurm_key_hash = await world.cluster(metadata.namespace, ref)
    config = await world.config_map(metadata.namespace, names.controller_config(ref.name)) or {}
    conf = config.get(names.SLURM_CONF)
    workload = Key(metadata.namespace, names.restapi(metadata.name))
    return Observed(
        controller=controller,
        slurm_conf_hash=None if conf is None else hashes.of_value(for_clients(conf)),
        slurm_key_hash=slurm_key_hash,
        rollout=world.rollout(DEPLOYMENTS, workload, metadata.uid),
    )
