"""The slurmrestd pods and the Service in front of them. They need no accounting."""

from collections.abc import Mapping
from typing import Any, Final

from slurmery.api.nebius.containers import NodeContainer
from slurmery.kube.desired import Desired
from slurmery.kube.resources import DEPLOYMENTS
from slurmery.nebius import containers, names, pods, volumes
from slurmery.nebius.cluster import Cluster
from slurmery.nebius.errors import SpecError
from slurmery.nebius.objects import desired, service_ports
from slurmery.nebius.objects import service as a_service
from slurmery.nebius.pods import Part
from slurmery.nebius.ports import port

_DAEMON: Final = names.SLURMRESTD
_FIELD: Final = "slurmNodes.rest"


def service(cluster: Cluster) -> Desired:
    """The Service in front of slurmrestd."""
    number = port(cluster.spec.slurm_nodes.rest.rest, _DAEMON)
    spec = {"type": "ClusterIP", "ports": service_ports(_DAEMON, number)}
    return a_service(cluster, cluster.names.rest_service, names.REST, spec)


def deployment(cluster: Cluster, versions: Mapping[str, str]) -> Desired:
    """The slurmrestd pods; `versions` are hashes of what they read only when they start, by object."""
    given, container = cluster.spec.slurm_nodes.rest, _container(cluster)
    own = {
        "hostname": names.REST,
        "initContainers": list(given.custom_init_containers),
        "containers": [_slurmrestd(cluster, container)],
        "volumes": [
            volumes.config_map(names.SLURM_CONFIGS, cluster.names.slurm_configs),
            volumes.shared_root(cluster),
        ],
    }
    part = Part(names.REST, _FIELD, given, (container,))
    spec = {
        "replicas": cluster.replicas(given.size),
        "strategy": {"type": "Recreate"},
        "selector": {"matchLabels": cluster.selector(names.REST)},
        "template": pods.template(
            cluster.selector(names.REST),
            pods.annotations(cluster, _DAEMON.name, versions),
            pods.pod_spec(cluster, part, own),
        ),
    }
    return desired(cluster, DEPLOYMENTS, cluster.names.rest, names.REST, {"spec": spec})


def _container(cluster: Cluster) -> NodeContainer:
    container = cluster.spec.slurm_nodes.rest.rest
    if container is None or not container.image:
        raise SpecError(f"{_FIELD}.rest.image is missing")
    return container


def _slurmrestd(cluster: Cluster, container: NodeContainer) -> dict[str, Any]:
    given, number = cluster.spec.slurm_nodes.rest, port(container, _DAEMON)
    own = {
        "ports": containers.port(_DAEMON, number),
        "env": containers.env(
            {
                "SLURMRESTD_THREAD_COUNT": str(given.thread_count),
                "SLURMRESTD_MAX_CONNECTIONS": str(given.max_connections),
            }
        ),
        "livenessProbe": containers.probe(
            tcpSocket={"port": number}, initialDelaySeconds=15, failureThreshold=5
        ),
        "securityContext": containers.app_armor(container.app_armor_profile),
        "volumeMounts": [volumes.SLURM_CONFIGS, volumes.JAIL_READ_ONLY],
    }
    return containers.daemon(container, _DAEMON.name, own)
