"""The way to the Slurm of either front door: where its slurmrestd answers, and who we are to it."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Final, TypeVar

from slurmery.api.nebius import SlurmCluster
from slurmery.api.resource import CustomResource
from slurmery.api.slinky import Controller, RestApi
from slurmery.doors.cache import Cache
from slurmery.doors.key import KeySecret
from slurmery.doors.views import Custom, read
from slurmery.health.ref import Ref
from slurmery.kube.client import Client
from slurmery.kube.meta import Key, Resource
from slurmery.nebius import names as nebius
from slurmery.nebius.kinds import SLURM_CLUSTERS
from slurmery.nebius.ports import port
from slurmery.slinky import names as slinky
from slurmery.slinky.kinds import CONTROLLERS, REST_APIS
from slurmery.slinky.links import in_cluster
from slurmery.slinky.references import USES
from slurmery.slurm.errors import TokenError
from slurmery.slurm.tokens import SignedTokens

M = TypeVar("M", bound=CustomResource)

# SlurmUser of each door's clusters: nobody else may drain nodes.
_USERS: Final[Mapping[Resource, str]] = {SLURM_CLUSTERS: "root", CONTROLLERS: slinky.SLURM_USER}


class Ways:
    """Found in the caches of SlurmClusters, Controllers and RestApis."""

    def __init__(self, client: Client, caches: Mapping[Resource, Cache[Custom]]) -> None:
        self._client = client
        self._caches = caches

    def service(self, ref: Ref) -> str | None:
        """Where slurmrestd answers within the Kubernetes cluster; None if nobody can ask it."""
        if ref.resource == SLURM_CLUSTERS:
            return _rest_of(_fitting(SlurmCluster, self._caches[SLURM_CLUSTERS].get(ref.key)), ref.key)
        controller = _fitting(Controller, self._caches[CONTROLLERS].get(ref.key))
        if controller is None or controller.spec.jwt_key is None:
            return None
        found = self._caches[REST_APIS].by(USES, (CONTROLLERS, ref.key))
        # Of several, always the same one: the oldest, unless it is about to go.
        best = min(
            found, key=lambda one: (one.deleting, str(one.metadata.creation_timestamp), one.key), default=None
        )
        restapi = _fitting(RestApi, best)
        return in_cluster(restapi) if restapi else None

    def tokens(self, ref: Ref) -> SignedTokens:
        """What lets us in."""
        return SignedTokens(partial(_first, self._secrets(ref)), user=_USERS[ref.resource])

    def _secrets(self, ref: Ref) -> Sequence[KeySecret]:
        """Where the key may be: of a Controller, what slurmctld was started with comes first.

        The Secret that its spec names may have a newer key, and is all there is where another operator looks
        after the Controller.
        """
        namespace, cluster = ref.key
        if ref.resource == SLURM_CLUSTERS:
            return [KeySecret(self._client, namespace, cluster)]
        controller = _fitting(Controller, self._caches[CONTROLLERS].get(ref.key))
        given = controller.spec.jwt_key if controller else None
        places = [(slinky.controller_keys(cluster), slinky.JWT_KEY)]
        places += [(given.name, given.key)] if given and given.name else []
        return [KeySecret.of(self._client, Key(namespace, name), field) for name, field in places]


async def _first(secrets: Sequence[KeySecret]) -> bytes:
    """The key of the first Secret that has one."""
    *preferred, last = secrets
    for secret in preferred:
        with suppress(TokenError):
            return await secret()
    return await last()


def _rest_of(cluster: SlurmCluster | None, key: Key) -> str | None:
    rest = cluster.spec.slurm_nodes.rest if cluster and cluster.spec else None
    if rest is None or not rest.enabled:
        return None
    return nebius.Names(key.name, key.namespace).rest_url(port(rest.rest, nebius.SLURMRESTD))


def _fitting(kind: type[M], view: Custom | None) -> M | None:
    """The model; one that does not fit, since a CRD that is not ours let it in, is as good as none."""
    try:
        return read(kind, view) if view else None
    except ValueError:
        return None
