"""The caches of this front door: what it knows of the cluster without asking."""

from collections.abc import Mapping, Sequence
from typing import Final, cast

from slurmery.doors.cache import WORKLOADS, Cache, cache
from slurmery.doors.views import Custom, Workload
from slurmery.kube.meta import Key, Resource, Selection
from slurmery.kube.observed import OWNER_INDEX, owners
from slurmery.kube.ownership import Footprint
from slurmery.kube.resources import (
    CONFIG_MAPS,
    DAEMON_SETS,
    JOBS,
    POD_MONITORS,
    ROLE_BINDINGS,
    ROLES,
    SECRETS,
    SERVICE_ACCOUNTS,
    SERVICE_MONITORS,
    SERVICES,
)
from slurmery.kube.runtime import Wing
from slurmery.nebius.kinds import (
    APP_ARMOR_PROFILES,
    DATABASES,
    GRANTS,
    JAILED_CONFIGS,
    MARIADBS,
    NODE_SETS,
    POWER_STATES,
    SLURM_CLUSTERS,
)
from slurmery.nebius.references import USES, uses
from slurmery.nebius.sets import KRUISE
from slurmery.nebius.views import Database, Job

_CUSTOM: Final = (SLURM_CLUSTERS, NODE_SETS, POWER_STATES)
_METADATA: Final = (
    SERVICES,
    SECRETS,
    CONFIG_MAPS,
    SERVICE_ACCOUNTS,
    ROLES,
    ROLE_BINDINGS,
    DAEMON_SETS,
    JAILED_CONFIGS,
    POD_MONITORS,
    SERVICE_MONITORS,
    APP_ARMOR_PROFILES,
    GRANTS,
    DATABASES,
    POWER_STATES,
)


class Caches:
    """Secrets, ConfigMaps and whatever else is only owned are known by their metadata alone."""

    def __init__(self, wing: Wing, namespaces: Sequence[str] = ()) -> None:
        self.custom = {one: cache(wing, namespaces, Selection(one), Custom, {USES: uses}) for one in _CUSTOM}
        owned = {OWNER_INDEX: owners}
        self.metadata = {
            one: cache(wing, namespaces, Selection(one, metadata_only=True), Footprint, owned)
            for one in _METADATA
        }
        self.workloads = {
            one: cache(wing, namespaces, Selection(one), Workload, owned) for one in (*WORKLOADS, KRUISE)
        }
        self.jobs = cache(wing, namespaces, Selection(JOBS), Job, owned)
        self.databases = cache(wing, namespaces, Selection(MARIADBS), Database, owned)

    @property
    def owned(self) -> Mapping[Resource, Cache[Footprint]]:
        """Whatever we apply."""
        # A cache of more is one of footprints to whoever only reads it.
        more = {**self.workloads, JOBS: self.jobs, MARIADBS: self.databases}
        return {**self.metadata, **cast("Mapping[Resource, Cache[Footprint]]", more)}

    def users(self, kind: Resource, used: Resource, key: Key) -> list[Custom]:
        """The objects of a kind whose specs name an object."""
        return self.custom[kind].by(USES, (used, key))
