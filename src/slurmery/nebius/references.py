"""Which objects a spec names: the index by which a changed object finds its users without a search.

It reads specs as they were written, so that an object that does not fit its model is found as well.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from slurmery.doors.views import Custom
from slurmery.kube.meta import Key, Resource
from slurmery.kube.resources import CONFIG_MAPS, SECRETS
from slurmery.nebius import names
from slurmery.nebius.kinds import SLURM_CLUSTERS

USES: Final = "uses"

Reference = tuple[Resource, Key]


def uses(view: Custom) -> Iterable[Reference]:
    """The index: what a SlurmCluster or NodeSet names in its namespace."""
    namespace = view.metadata.namespace
    if "slurmNodes" not in view.spec:
        cluster = view.spec.get("clusterName") or view.annotations.get(names.PARENT_ANNOTATION)
        return [(SLURM_CLUSTERS, Key(namespace, cluster))] if cluster else []
    found = {
        *((SECRETS, name) for name in secrets(view.spec)),
        *((CONFIG_MAPS, name) for name in config_maps(view.spec)),
        # These are nobody's: they outlive the cluster.
        (SECRETS, names.MARIADB_PASSWORD),
        (SECRETS, names.MARIADB_ROOT),
    }
    return [(resource, Key(namespace, name)) for resource, name in found]


def cluster_of(view: Custom) -> Key | None:
    """The SlurmCluster that a NodeSet names."""
    return next((key for used, key in uses(view) if used == SLURM_CLUSTERS), None)


def secrets(spec: Mapping[str, Any]) -> set[str]:
    """Secrets that the user has made."""
    external = _at(spec, "slurmNodes", "accounting", "externalDB")
    found = {
        _at(spec, "secrets").get("sshdKeysName"),
        _at(external, "passwordSecretKeyRef").get("name"),
        _at(external, "tls").get("serverCASecretRef"),
        _at(external, "tls").get("clientCertSecretRef"),
    }
    return {name for name in found if name}


def config_maps(spec: Mapping[str, Any]) -> set[str]:
    """ConfigMaps that the user has made."""
    worker, login = _at(spec, "slurmNodes", "worker"), _at(spec, "slurmNodes", "login")
    found = {
        worker.get("supervisordConfigMapRefName"),
        worker.get("sshdConfigMapRefName"),
        login.get("sshdConfigMapRefName"),
    }
    return {name for name in found if name}


def _at(value: Mapping[str, Any], *path: str) -> Mapping[str, Any]:
    for part in path:
        value = value.get(part) or {}
    return value
