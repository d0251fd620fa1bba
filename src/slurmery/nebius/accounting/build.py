"""The slurmdbd pod, its configuration and the Service in front of it."""

from collections.abc import Mapping
from typing import Any, Final

from slurmery.api.nebius.containers import NodeContainer
from slurmery.kube.desired import Desired
from slurmery.kube.meta import Manifest
from slurmery.kube.resources import DEPLOYMENTS
from slurmery.nebius import containers, names, pods, volumes
from slurmery.nebius.cluster import Cluster
from slurmery.nebius.config.slurmdbd import database
from slurmery.nebius.errors import SpecError
from slurmery.nebius.objects import desired, secret, service_ports
from slurmery.nebius.objects import service as a_service
from slurmery.nebius.pods import Part
from slurmery.nebius.ports import port
from slurmery.nebius.volumes import Volume

_DAEMON: Final = names.SLURMDBD
_FIELD: Final = "slurmNodes.accounting"
_WAIT: Final = (
    'until (exec 3<>"/dev/tcp/$DATABASE_HOST/$DATABASE_PORT") 2>/dev/null; do '
    'echo "waiting for the database at $DATABASE_HOST:$DATABASE_PORT"; sleep 2; done'
)


def config_secret(cluster: Cluster, slurmdbd_conf: str) -> Desired:
    """The Secret with slurmdbd.conf."""
    content = {names.SLURMDBD_CONF: slurmdbd_conf.encode()}
    return secret(cluster, cluster.names.slurmdbd_configs, names.ACCOUNTING, content, once=False)


def service(cluster: Cluster) -> Desired:
    """The Service in front of slurmdbd."""
    number = port(cluster.spec.slurm_nodes.accounting.slurmdbd, _DAEMON)
    spec = {"type": "ClusterIP", "ports": service_ports(_DAEMON, number)}
    return a_service(cluster, cluster.names.accounting_service, names.ACCOUNTING, spec)


def deployment(cluster: Cluster, versions: Mapping[str, str]) -> Desired:
    """The slurmdbd pod; `versions` are hashes of what it reads only when it starts, by object."""
    given = cluster.spec.slurm_nodes.accounting
    slurmdbd, munge = _given("slurmdbd", given.slurmdbd), _given("munge", given.munge)
    own = {
        "hostname": names.ACCOUNTING,
        "initContainers": [
            *given.custom_init_containers,
            containers.munge(munge),
            *([] if cluster.is_1_22 else [_wait_for_database(cluster, slurmdbd)]),
        ],
        "containers": [_slurmdbd(cluster, slurmdbd)],
        "volumes": _volumes(cluster, slurmdbd),
    }
    part = Part(names.ACCOUNTING, _FIELD, given, (slurmdbd, munge))
    spec = {
        "replicas": cluster.replicas(1),
        "strategy": {"type": "Recreate"},
        "selector": {"matchLabels": cluster.selector(names.ACCOUNTING)},
        "template": pods.template(
            cluster.selector(names.ACCOUNTING),
            pods.annotations(cluster, _DAEMON.name, versions),
            pods.pod_spec(cluster, part, own),
        ),
    }
    return desired(cluster, DEPLOYMENTS, cluster.names.accounting, names.ACCOUNTING, {"spec": spec})


def _wait_for_database(cluster: Cluster, slurmdbd: NodeContainer) -> Manifest:
    """slurmdbd gives up when nobody answers; this waits, and its pod says for whom (5.0)."""
    host, number = database(cluster)
    return {
        "name": names.WAIT_FOR_DATABASE,
        "image": slurmdbd.image,
        "imagePullPolicy": slurmdbd.image_pull_policy,
        "command": ["bash", "-c", _WAIT],
        "env": containers.env({"DATABASE_HOST": host, "DATABASE_PORT": str(number)}),
    }


def _given(name: str, container: NodeContainer | None) -> NodeContainer:
    if container is None:
        raise SpecError(f"{_FIELD}.{name} is missing")
    return container


def _slurmdbd(cluster: Cluster, slurmdbd: NodeContainer) -> dict[str, Any]:
    number = port(slurmdbd, _DAEMON)
    own = {
        "ports": containers.port(_DAEMON, number),
        # slurmctld waits for it.
        "readinessProbe": containers.probe(
            tcpSocket={"port": number}, initialDelaySeconds=1, periodSeconds=1
        ),
        "securityContext": containers.security(slurmdbd),
        "volumeMounts": [
            volumes.SLURM_CONFIGS,
            volumes.MUNGE_SOCKET,
            volumes.REST_JWT,
            volumes.mount(names.SPOOL, names.SLURMDBD_SPOOL),
            *(volumes.read_only(volume["name"], path) for volume, path in _tls(cluster)),
        ],
    }
    return containers.daemon(slurmdbd, _DAEMON.name, own)


def _volumes(cluster: Cluster, slurmdbd: NodeContainer) -> list[Volume]:
    return [
        _config_files(cluster),
        volumes.munge_key(cluster),
        volumes.scratch(names.MUNGE_SOCKET),
        volumes.rest_jwt_key(cluster),
        volumes.scratch(names.SPOOL, slurmdbd.resources.get("storage")),
        *(volume for volume, _ in _tls(cluster)),
    ]


def _config_files(cluster: Cluster) -> Volume:
    private: Manifest = {"key": names.SLURMDBD_CONF, "path": names.SLURMDBD_CONF, "mode": 0o600}
    sources = [
        {"configMap": {"name": cluster.names.slurm_configs}},
        {"secret": {"name": cluster.names.slurmdbd_configs, "items": [private]}},
    ]
    return {"name": names.SLURM_CONFIGS, "projected": {"defaultMode": 0o644, "sources": sources}}


def _tls(cluster: Cluster) -> list[tuple[Volume, str]]:
    """What slurmdbd shows to a database elsewhere and checks it with, and where that is mounted."""
    external = cluster.spec.slurm_nodes.accounting.external_db
    if not external.enabled or external.tls is None:
        return []
    found = []
    if ca := external.tls.server_ca_secret_ref:
        volume = volumes.secret(names.DATABASE_CA, ca, {names.CA_CERTIFICATE: 0o400})
        found.append((volume, names.DATABASE_CA_DIR))
    if client := external.tls.client_cert_secret_ref:
        files = {names.TLS_KEY: 0o400, names.TLS_CERTIFICATE: 0o400}
        found.append((volumes.secret(names.DATABASE_CLIENT, client, files), names.DATABASE_CLIENT_DIR))
    return found
