"""The caches of this front door: what it knows of the cluster without asking."""

from collections.abc import Mapping, Sequence
from typing import Final, cast

from slurmery.doors.cache import WORKLOADS, Cache, cache
from slurmery.doors.views import Claim, Custom, Pod, Workload
from slurmery.kube.meta import Key, Resource, Selection, View
from slurmery.kube.observed import OWNER_INDEX, owners
from slurmery.kube.ownership import Footprint
from slurmery.kube.resources import (
    CONFIG_MAPS,
    PERSISTENT_VOLUME_CLAIMS,
    POD_DISRUPTION_BUDGETS,
    PODS,
    SECRETS,
    SERVICE_MONITORS,
    SERVICES,
)
from slurmery.kube.runtime import Wing
from slurmery.slinky import names
from slurmery.slinky.kinds import ACCOUNTINGS, CONTROLLERS, LOGIN_SETS, NODE_SETS, REST_APIS, TOKENS
from slurmery.slinky.references import USES, uses

_CUSTOM: Final = (CONTROLLERS, NODE_SETS, LOGIN_SETS, ACCOUNTINGS, REST_APIS, TOKENS)
_METADATA: Final = (SERVICES, SECRETS, CONFIG_MAPS, POD_DISRUPTION_BUDGETS, SERVICE_MONITORS)


class Caches:
    """Secrets, ConfigMaps and whatever else is only owned are known by their metadata alone."""

    def __init__(self, wing: Wing, namespaces: Sequence[str] = ()) -> None:
        self.custom = {one: cache(wing, namespaces, Selection(one), Custom, {USES: uses}) for one in _CUSTOM}
        self.metadata = {
            one: cache(wing, namespaces, Selection(one, metadata_only=True), Footprint, {OWNER_INDEX: owners})
            for one in _METADATA
        }
        self.workloads = {
            one: cache(wing, namespaces, Selection(one), Workload, {OWNER_INDEX: owners}) for one in WORKLOADS
        }
        slurmctld = f"{names.NAME_LABEL}={names.SLURMCTLD.name}"
        self.slurmctld_pods = cache(
            wing, namespaces, Selection(PODS, label_selector=slurmctld), Pod, {"instance": instance}
        )
        self.claims = cache(
            wing, namespaces, Selection(PERSISTENT_VOLUME_CLAIMS), Claim, {"instance": instance}
        )

    @property
    def owned(self) -> Mapping[Resource, Cache[Footprint]]:
        """Whatever we apply."""
        # A cache of workloads is one of footprints to whoever only reads it.
        return {**self.metadata, **cast("Mapping[Resource, Cache[Footprint]]", self.workloads)}

    def users(self, kind: Resource, used: Resource, key: Key) -> list[Custom]:
        """The objects of a kind whose specs name an object."""
        return self.custom[kind].by(USES, (used, key))

    def claims_of(self, key: Key) -> list[Claim]:
        """The claims of a NodeSet's workers."""
        found = self.claims.by("instance", key)
        return [claim for claim in found if claim.labels.get(names.NAME_LABEL) == names.SLURMD.name]

    def pods_of(self, key: Key) -> list[Pod]:
        """The slurmctld pods of a Controller."""
        return self.slurmctld_pods.by("instance", key)


def instance(view: View) -> Sequence[Key]:
    """The custom resource that a pod or claim belongs to, by its label."""
    return (Key(view.metadata.namespace, view.labels.get(names.INSTANCE_LABEL, "")),)
