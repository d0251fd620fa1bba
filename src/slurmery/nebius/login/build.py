"""The login pods, the Service that ssh comes in by, and the one that gives each pod its name."""

from collections.abc import Mapping
from typing import Any, Final

from slurmery.kube.desired import Desired
from slurmery.kube.resources import SERVICES, STATEFUL_SETS
from slurmery.nebius import containers, names, pods, sets, volumes
from slurmery.nebius.cluster import Cluster
from slurmery.nebius.directory import Directory, directory
from slurmery.nebius.objects import desired, named, service_ports
from slurmery.nebius.objects import service as a_service
from slurmery.nebius.pods import Part
from slurmery.nebius.ports import port
from slurmery.nebius.volumes import Storage

_DAEMON: Final = names.SSHD
_FIELD: Final = "slurmNodes.login"
_ISOLATION: Final = volumes.read_only(names.USER_ISOLATION, names.USER_ISOLATION_DIR)


def isolated(cluster: Cluster) -> bool:
    """Whether users are kept from using up a login node."""
    given = cluster.spec.slurm_nodes.login.user_isolation
    return given is not None and given.enabled


def service(cluster: Cluster) -> Desired:
    """The Service that ssh comes in by."""
    login = cluster.spec.slurm_nodes.login
    number, spec = port(login.sshd, _DAEMON), dict[str, Any]()
    node_port = login.sshd_service_node_port
    own = {"nodePort": node_port} if login.sshd_service_type == "NodePort" and node_port else {}
    if login.sshd_service_type == "LoadBalancer":
        if login.sshd_service_load_balancer_ip:
            spec["loadBalancerIP"] = login.sshd_service_load_balancer_ip
        if login.sshd_service_load_balancer_source_ranges:
            spec["loadBalancerSourceRanges"] = list(login.sshd_service_load_balancer_source_ranges)
    body: dict[str, Any] = {
        "spec": {
            "type": login.sshd_service_type,
            "selector": cluster.selector(names.LOGIN),
            "ports": service_ports(_DAEMON, number, **own),
            **spec,
        }
    }
    if login.sshd_service_annotations:
        body["metadata"] = {"annotations": dict(login.sshd_service_annotations)}
    return desired(cluster, SERVICES, cluster.names.login_service, names.LOGIN, body)


def headless_service(cluster: Cluster) -> Desired:
    """The Service that gives every login pod a DNS name."""
    number = port(cluster.spec.slurm_nodes.login.sshd, _DAEMON)
    spec = {"clusterIP": "None", "ports": service_ports(_DAEMON, number)}
    return a_service(cluster, cluster.names.login_headless_service, names.LOGIN, spec)


def stateful_set(cluster: Cluster, versions: Mapping[str, str]) -> Desired:
    """The login pods; `versions` are hashes of what they read only when they start, by object."""
    given, storage = cluster.spec.slurm_nodes.login, _storage(cluster)
    part = Part(names.LOGIN, _FIELD, given, (given.sshd, given.munge, given.sssd))
    own = {
        **pods.searches(cluster),
        "terminationGracePeriodSeconds": 30,
        "initContainers": [
            *given.custom_init_containers,
            containers.munge(given.munge),
            *_directory(cluster).sidecars,
        ],
        "containers": [_sshd(cluster)],
        "volumes": list(storage.volumes),
    }
    spec: dict[str, Any] = {
        "replicas": cluster.replicas(given.size),
        "serviceName": cluster.names.login_headless_service,
        "podManagementPolicy": "Parallel",
        "updateStrategy": {"type": "RollingUpdate"},
        "selector": {"matchLabels": cluster.selector(names.LOGIN)},
        "template": pods.template(
            cluster.labels(names.LOGIN),
            pods.annotations(cluster, _DAEMON.name, versions),
            pods.pod_spec(cluster, part, own),
        ),
    }
    if storage.claims:
        spec["volumeClaimTemplates"] = list(storage.claims)
    manifest = named(cluster, STATEFUL_SETS, cluster.names.login, names.LOGIN, {"spec": spec})
    return sets.stateful_set(cluster.sets, manifest, sets.replaced(in_place=False))


def _directory(cluster: Cluster) -> Directory:
    given = cluster.spec.slurm_nodes.login
    return directory(given.sssd, given, cluster.names.sssd_conf(names.LOGIN))


def _sshd(cluster: Cluster) -> dict[str, Any]:
    given, at = cluster.spec.slurm_nodes.login, cluster.names
    number = port(given.sshd, _DAEMON)
    profile = f"localhost/{at.app_armor_profile}" if cluster.spec.use_default_app_armor_profile else ""
    own = {
        "ports": containers.port(_DAEMON, number),
        "env": containers.env(containers.cluster_kind(cluster)),
        "readinessProbe": containers.probe(tcpSocket={"port": number}),
        "securityContext": containers.security(given.sshd, privileged=True, profile=profile),
        "volumeMounts": [
            *volumes.NODE_MOUNTS,
            volumes.read_only(names.SSH_CONFIGS, names.SSH_CONFIGS_DIR),
            *_directory(cluster).mounts,
            *([_ISOLATION] if isolated(cluster) else ()),
            *volumes.sub_mounts(given.volumes.jail_sub_mounts),
            *volumes.custom_mounts(given.volumes.custom_mounts),
        ],
    }
    return containers.daemon(given.sshd, _DAEMON.name, own)


def _storage(cluster: Cluster) -> Storage:
    given, at = cluster.spec.slurm_nodes.login, cluster.names
    field, component = f"{_FIELD}.volumes", names.LOGIN
    parts = [
        volumes.of_spec(cluster, names.JAIL, given.volumes.jail, component, f"{field}.jail"),
        volumes.storage(
            *volumes.of_node(cluster, component, given.sshd.resources.get("memory")),
            volumes.config_map(names.SSH_CONFIGS, given.sshd_config_map_ref_name or at.ssh_configs),
            *_directory(cluster).volumes,
            *([volumes.config_map(names.USER_ISOLATION, at.user_isolation)] if isolated(cluster) else ()),
        ),
        volumes.mounts_of_spec(cluster, given.volumes.jail_sub_mounts, component, f"{field}.jailSubMounts"),
        volumes.mounts_of_spec(cluster, given.volumes.custom_mounts, component, f"{field}.customMounts"),
    ]
    return volumes.united(parts, field)
