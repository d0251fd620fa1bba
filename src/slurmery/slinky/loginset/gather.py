"""What is known around a LoginSet, and host keys for one that has none."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field

from slurmery.api.slinky import LoginSet
from slurmery.doors import hashes
from slurmery.kube.meta import Key
from slurmery.kube.resources import DEPLOYMENTS, SECRETS
from slurmery.slinky import names
from slurmery.slinky.loginset import hostkeys
from slurmery.slinky.loginset.observed import Observed
from slurmery.slinky.world import World


@dataclass(frozen=True)
class Gathered:
    """What a decision needs; `fresh` are new host keys, made only while there are none."""

    observed: Observed
    fresh: Mapping[str, bytes] | None = field(default=None, repr=False)


async def gather(world: World, loginset: LoginSet) -> Gathered:
    """The world around a LoginSet."""
    metadata, spec = loginset.metadata, loginset.spec
    controller, slurm_key_hash = await world.cluster(metadata.namespace, spec.controller_ref)
    host_keys = await _host_keys(world, Key(metadata.namespace, names.ssh_host_keys(metadata.name)))
    observed = Observed(
        controller=controller,
        slurm_key_hash=slurm_key_hash,
        sssd_conf_hash=await world.secret_hash(metadata.namespace, spec.sssd_conf_ref),
        host_keys_hash=None if host_keys is None else hashes.of_map(host_keys),
        rollout=world.rollout(DEPLOYMENTS, Key(metadata.namespace, metadata.name), metadata.uid),
        domain=world.domain,
    )
    fresh = await asyncio.to_thread(hostkeys.generate) if host_keys is None else None
    return Gathered(observed, fresh)


async def _host_keys(world: World, key: Key) -> Mapping[str, bytes] | None:
    # The server is asked before new ones are made: the cache may not show those of a moment ago.
    return await world.contents.secret(key) or await world.contents.live(SECRETS, key)
