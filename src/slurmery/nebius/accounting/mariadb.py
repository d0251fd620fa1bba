"""The database where the mariadb-operator is installed: what it is asked for."""

from typing import Any, Final

from slurmery.api.nebius.mariadb import MariaDbOperator
from slurmery.kube.desired import Desired
from slurmery.nebius import containers, names, pods
from slurmery.nebius.accounting.tuning import my_cnf
from slurmery.nebius.cluster import Cluster
from slurmery.nebius.errors import SpecError
from slurmery.nebius.kinds import DATABASES, GRANTS, MARIADBS
from slurmery.nebius.objects import desired
from slurmery.nebius.pods import Part
from slurmery.nebius.ports import port

_FIELD: Final = "slurmNodes.accounting"
_TERMS: Final = (
    "requiredDuringSchedulingIgnoredDuringExecution",
    "preferredDuringSchedulingIgnoredDuringExecution",
)


def given(cluster: Cluster) -> MariaDbOperator:
    """What the spec says about the database."""
    database = cluster.spec.slurm_nodes.accounting.mariadb_operator
    if database is None:
        raise SpecError(f"{_FIELD}.mariadbOperator is missing")
    return database


def mariadb(cluster: Cluster) -> Desired:
    """The servers."""
    database = given(cluster)
    replicas = 1 if database.replicas is None else database.replicas
    part = Part(names.MARIADB, _FIELD, cluster.spec.slurm_nodes.accounting)
    spec: dict[str, Any] = {
        "image": database.image,
        "imagePullPolicy": database.image_pull_policy,
        "imagePullSecrets": list(database.image_pull_secrets),
        "replicas": cluster.replicas(replicas),
        "replication": _written(database.replication),
        "port": port(database, names.MYSQLD),
        "storage": _written(database.storage),
        "database": names.DATABASE,
        "username": names.DATABASE_USER,
        "passwordSecretKeyRef": _password(names.MARIADB_PASSWORD, database),
        "rootPasswordSecretKeyRef": _password(names.MARIADB_ROOT, database),
        "rootEmptyPassword": False,
        "service": {"type": "ClusterIP"},
        "resources": _resources(database),
        "podSecurityContext": database.pod_security_context,
        "securityContext": database.security_context,
        "priorityClassName": database.priority_class_name,
        "metrics": {"enabled": database.metrics.enabled},
        "myCnf": my_cnf(database),
        **_placement(cluster, part, several=replicas > 1),
    }
    kept = {field: value for field, value in spec.items() if value not in (None, "", [], {})}
    return desired(cluster, MARIADBS, cluster.names.database, names.MARIADB, {"spec": kept})


def grant(cluster: Cluster) -> Desired:
    """What slurmdbd's user may do."""
    spec = {
        "mariaDbRef": _server(cluster),
        "privileges": ["ALL PRIVILEGES"],
        "database": names.DATABASE,
        "table": "*",
        "username": names.DATABASE_USER,
        "host": "%",
        "grantOption": True,
        "requeueInterval": "30s",
        "retryInterval": "5s",
    }
    return desired(cluster, GRANTS, cluster.names.database, names.MARIADB, {"spec": spec})


def database(cluster: Cluster) -> Desired:
    """The database itself."""
    spec = {
        "mariaDbRef": _server(cluster),
        "name": names.DATABASE,
        "requeueInterval": "30s",
        "retryInterval": "5s",
    }
    return desired(cluster, DATABASES, cluster.names.database, names.MARIADB, {"spec": spec})


def _server(cluster: Cluster) -> dict[str, Any]:
    return {"name": cluster.names.database, "waitForIt": True}


def _password(secret: str, database: MariaDbOperator) -> dict[str, Any]:
    return {"name": secret, "key": names.PASSWORD_KEY, "generate": not database.protected_secret}


def _resources(database: MariaDbOperator) -> dict[str, dict[str, str]]:
    whole = containers.resources(database.resources)
    asked = {name: amount for name, amount in whole.get("requests", {}).items() if name in ("cpu", "memory")}
    return {**whole, "requests": asked} if asked else whole


def _placement(cluster: Cluster, part: Part, *, several: bool) -> dict[str, Any]:
    """Where the servers run: several of them apart from each other."""
    found = pods.placement(cluster, part)
    affinity = found.pop("affinity", None) or {}
    ours: dict[str, Any] = {"antiAffinityEnabled": several}
    if affinity.get("nodeAffinity"):
        ours["nodeAffinity"] = affinity["nodeAffinity"]
    elif affinity.get("podAntiAffinity"):
        ours["podAntiAffinity"] = _without_namespaces(affinity["podAntiAffinity"])
    return {**found, "affinity": ours}


def _without_namespaces(anti_affinity: dict[str, Any]) -> dict[str, Any]:
    """The terms as the mariadb-operator knows them, which has no field for namespaces."""

    def bare(term: dict[str, Any]) -> dict[str, Any]:
        inner = {"podAffinityTerm": bare(term["podAffinityTerm"])} if "podAffinityTerm" in term else {}
        kept = {
            field: value for field, value in term.items() if field not in ("namespaces", "namespaceSelector")
        }
        return {**kept, **inner}

    return {kind: [bare(term) for term in anti_affinity[kind]] for kind in _TERMS if anti_affinity.get(kind)}


def _written(part: Any) -> dict[str, Any] | None:
    """A part of the spec as the user wrote it."""
    return part.model_dump(mode="json", by_alias=True, exclude_unset=True) if part else None
