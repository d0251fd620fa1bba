"""A MariaDB of our own, for where the mariadb-operator is not installed: one server with one volume."""

from collections.abc import Mapping
from typing import Any, Final

from slurmery.api.nebius.mariadb import MariaDbOperator
from slurmery.kube.desired import Desired, Policy
from slurmery.kube.meta import Manifest
from slurmery.kube.resources import STATEFUL_SETS
from slurmery.nebius import containers, names, pods, volumes
from slurmery.nebius.accounting.mariadb import given
from slurmery.nebius.accounting.tuning import settings
from slurmery.nebius.cluster import Cluster
from slurmery.nebius.objects import named, service_ports
from slurmery.nebius.objects import service as a_service
from slurmery.nebius.pods import Part
from slurmery.nebius.ports import port

_DAEMON: Final = names.MYSQLD
_SIZE: Final = "10Gi"


def service(cluster: Cluster) -> Desired:
    """The Service that slurmdbd finds the database by."""
    spec = {"type": "ClusterIP", "ports": service_ports(_DAEMON, port(given(cluster), _DAEMON))}
    return a_service(cluster, cluster.names.database, names.MARIADB, spec)


def stateful_set(cluster: Cluster, versions: Mapping[str, str]) -> Desired:
    """The server; `versions` are hashes of what it reads only when it starts, by object."""
    database, accounting = given(cluster), cluster.spec.slurm_nodes.accounting
    claim = _claim(cluster, database)
    own: dict[str, Any] = {
        "securityContext": database.pod_security_context,
        "containers": [_server(database)],
        "volumes": [] if claim else [volumes.scratch(names.DATABASE_STORAGE)],
    }
    if database.priority_class_name:
        own["priorityClassName"] = database.priority_class_name
    # A user namespace for slurmdbd says nothing about the volume of the database.
    placed = accounting.model_copy(update={"host_users": None})
    part = Part(names.MARIADB, "slurmNodes.accounting", placed, (database,))
    spec: dict[str, Any] = {
        "replicas": cluster.replicas(1),
        "serviceName": cluster.names.database,
        "selector": {"matchLabels": cluster.selector(names.MARIADB)},
        "template": pods.template(
            cluster.labels(names.MARIADB),
            pods.annotations(cluster, _DAEMON.name, versions),
            pods.pod_spec(cluster, part, own),
        ),
    }
    if claim:
        spec["volumeClaimTemplates"] = [claim]
    manifest = named(cluster, STATEFUL_SETS, cluster.names.database, names.MARIADB, {"spec": spec})
    return Desired(STATEFUL_SETS, manifest, Policy.RECREATE_ORPHANING)


def _server(database: MariaDbOperator) -> dict[str, Any]:
    number = port(database, _DAEMON)
    own = {
        "ports": containers.port(_DAEMON, number),
        "args": [f"--port={number}", *(f"--{name}={value}" for name, value in settings(database).items())],
        "env": [
            _from_secret("MARIADB_ROOT_PASSWORD", names.MARIADB_ROOT),
            *containers.env({"MARIADB_DATABASE": names.DATABASE, "MARIADB_USER": names.DATABASE_USER}),
            _from_secret("MARIADB_PASSWORD", names.MARIADB_PASSWORD),
        ],
        # Others start when it is ready.
        "readinessProbe": containers.probe(tcpSocket={"port": number}, periodSeconds=1),
        "livenessProbe": containers.probe(tcpSocket={"port": number}, initialDelaySeconds=60),
        "securityContext": database.security_context,
        "volumeMounts": [volumes.mount(names.DATABASE_STORAGE, names.DATABASE_DIR)],
    }
    return containers.daemon(database, _DAEMON.name, own)


def _from_secret(variable: str, secret: str) -> Manifest:
    ref = {"name": secret, "key": names.PASSWORD_KEY}
    return {"name": variable, "valueFrom": {"secretKeyRef": ref}}


def _claim(cluster: Cluster, database: MariaDbOperator) -> dict[str, Any] | None:
    storage = database.storage
    if storage and storage.ephemeral:
        return None
    metadata = {"name": names.DATABASE_STORAGE, "labels": cluster.labels(names.MARIADB)}
    if storage and storage.volume_claim_template:
        template = storage.volume_claim_template
        return {"metadata": {**(template.metadata or {}), **metadata}, "spec": template.inlined}
    size = str(storage.size) if storage and storage.size is not None else _SIZE
    spec: dict[str, Any] = {
        "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": size}},
    }
    if storage and storage.storage_class_name:
        spec["storageClassName"] = storage.storage_class_name
    return {"metadata": metadata, "spec": spec}
