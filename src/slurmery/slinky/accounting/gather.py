"""What is known around an Accounting."""

from slurmery.api.slinky import Accounting, Controller
from slurmery.kube.meta import Key
from slurmery.kube.resources import STATEFUL_SETS
from slurmery.slinky import names
from slurmery.slinky.accounting.observed import Observed
from slurmery.slinky.kinds import ACCOUNTINGS
from slurmery.slinky.world import World


async def gather(world: World, accounting: Accounting) -> Observed:
    """The world around an Accounting."""
    spec, metadata = accounting.spec, accounting.metadata
    namespace, storage = metadata.namespace, spec.storage_config
    workload = Key(namespace, names.accounting(metadata.name))
    password = await world.secret_value(namespace, storage.password_key_ref if storage else None)
    slurm_key_hash = await world.secret_hash(namespace, spec.slurm_key_ref)
    return Observed(
        slurm_key_hash=slurm_key_hash,
        jwt_key_hash=await world.secret_hash(namespace, spec.jwt_key),
        jwks_hash=await world.config_map_hash(namespace, spec.jwks_key_ref),
        # A password that is not text cannot be written to slurmdbd.conf; its database will say so.
        password=None if password is None else password.decode(errors="replace"),
        rollout=world.rollout(STATEFUL_SETS, workload, metadata.uid),
        waits_for=_behind(world, accounting, slurm_key_hash),
    )


def _behind(world: World, accounting: Accounting, key: str | None) -> tuple[str, ...]:
    metadata = accounting.metadata
    controllers = world.users(Controller, ACCOUNTINGS, Key(metadata.namespace, metadata.name))
    sharing = [each for each in controllers if each.spec.slurm_key_ref == accounting.spec.slurm_key_ref]
    return tuple(each.metadata.name for each in sharing if world.key_in_force(each) not in {None, key})
