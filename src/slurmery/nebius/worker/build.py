"""The worker pods of a cluster that has its own, and the Service that gives each its name.

The StatefulSet replaces no pod by itself: pods are taken away one by one, when no job runs on them.
"""

import re
from collections.abc import Mapping
from typing import Any, Final

from slurmery.api.nebius.components import Worker
from slurmery.kube.desired import Desired
from slurmery.kube.meta import Manifest
from slurmery.kube.resources import STATEFUL_SETS
from slurmery.nebius import containers, names, pods, sets, volumes
from slurmery.nebius.access import service_account as a_service_account
from slurmery.nebius.cluster import Cluster
from slurmery.nebius.config.nodes import real_memory
from slurmery.nebius.errors import SpecError
from slurmery.nebius.objects import named, service_ports
from slurmery.nebius.objects import service as a_service
from slurmery.nebius.pods import Part
from slurmery.nebius.ports import port
from slurmery.nebius.volumes import Storage
from slurmery.slurmconf import hostlist

_DAEMON: Final = names.SLURMD
_FIELD: Final = "slurmNodes.worker"
_VARIABLE: Final = re.compile(r"[-._a-zA-Z0-9]+")
_FROM_HOST: Final = {"mountPropagation": "HostToContainer"}


def service_account(cluster: Cluster) -> Desired:
    """The account of the pods."""
    return a_service_account(cluster, cluster.names.worker_account, names.WORKER)


def service(cluster: Cluster) -> Desired:
    """The Service that gives every worker a DNS name, ready or not: slurmctld talks to it before it is."""
    spec = {
        "clusterIP": "None",
        "publishNotReadyAddresses": True,
        "ports": service_ports(_DAEMON, port(_given(cluster).slurmd, _DAEMON)),
    }
    return a_service(cluster, cluster.names.worker_service, names.WORKER, spec)


def stateful_set(cluster: Cluster, replicas: int, versions: Mapping[str, str]) -> Desired:
    """The worker pods; how many is decided elsewhere, since a busy one is not taken away.

    `versions` are hashes of what the pods read only when they start, by object.
    """
    given, storage = _given(cluster), _storage(cluster)
    part = Part(names.WORKER, _FIELD, given, (given.slurmd, given.munge))
    annotations = {**pods.annotations(cluster, _DAEMON.name, versions), **given.worker_annotations}
    own = {
        **pods.searches(cluster),
        "serviceAccountName": cluster.names.worker_account,
        "restartPolicy": "Always",
        "terminationGracePeriodSeconds": 30,
        "initContainers": [
            containers.munge(given.munge),
            _wait_for_controller(given),
            *given.custom_init_containers,
        ],
        "containers": [_slurmd(cluster, given)],
        "volumes": list(storage.volumes),
    }
    spec: dict[str, Any] = {
        "replicas": replicas,
        "serviceName": cluster.names.worker_service,
        "podManagementPolicy": "Parallel",
        "updateStrategy": {"type": "OnDelete"},
        "persistentVolumeClaimRetentionPolicy": {"whenDeleted": "Delete", "whenScaled": "Retain"},
        "selector": {"matchLabels": cluster.selector(names.WORKER)},
        "template": pods.template(
            cluster.labels(names.WORKER), annotations, pods.pod_spec(cluster, part, own)
        ),
    }
    if storage.claims:
        spec["volumeClaimTemplates"] = list(storage.claims)
    manifest = named(cluster, STATEFUL_SETS, cluster.names.worker, names.WORKER, {"spec": spec})
    return sets.stateful_set(cluster.sets, manifest, sets.kept(given.max_unavailable))


def _given(cluster: Cluster) -> Worker:
    worker = cluster.spec.slurm_nodes.worker
    if worker is None:
        raise SpecError(f"{_FIELD} is missing")
    return worker


def _wait_for_controller(given: Worker) -> Manifest:
    return {
        "name": names.WAIT_FOR_CONTROLLER,
        "image": given.slurmd.image,
        "imagePullPolicy": given.slurmd.image_pull_policy,
        "command": [f"{names.SLURM_SCRIPTS_DIR}/wait-for-controller.sh"],
        "volumeMounts": [volumes.JAIL, volumes.MUNGE_SOCKET],
    }


def _slurmd(cluster: Cluster, given: Worker) -> dict[str, Any]:
    profile = ""
    if cluster.spec.use_default_app_armor_profile:
        profile = f"localhost/{cluster.names.app_armor_profile}"
    security = containers.security(given.slurmd, privileged=True, profile=profile)
    own = {
        "ports": containers.port(_DAEMON, port(given.slurmd, _DAEMON)),
        "env": _environment(cluster, given),
        "resources": containers.guaranteed(given.slurmd.resources, f"{_FIELD}.slurmd"),
        "readinessProbe": containers.probe(exec={"command": ["scontrol", "show", "slurmd"]}, periodSeconds=1),
        "securityContext": {**security, "seccompProfile": {"type": "Unconfined"}},
        "volumeMounts": _mounts(given),
    }
    return containers.daemon(given.slurmd, _DAEMON.name, own)


def _environment(cluster: Cluster, given: Worker) -> list[Manifest]:
    switches = {
        "CGROUP_V2": "true" if given.cgroup_version == "v2" else "",
        "NVIDIA_GDRCOPY": "enabled" if given.enable_gdr_copy else "",
    }
    plain = {
        "K8S_SERVICE_NAME": cluster.names.worker_service,
        "SLURM_CLUSTER_TYPE": cluster.kind,
        "SLURM_REAL_MEMORY": str(real_memory(given.slurmd.resources)),
        "SLURM_NODE_EXTRA": given.slurm_node_extra,
        **{name: value for name, value in switches.items() if value},
        **_features(cluster),
    }
    return [
        containers.env_field("K8S_POD_NAME", "metadata.name"),
        containers.env_field("K8S_POD_NAMESPACE", "metadata.namespace"),
        containers.env_field("INSTANCE_ID", "spec.nodeName"),
        *containers.env(plain),
    ]


def _features(cluster: Cluster) -> dict[str, str]:
    """Which workers have a feature: each finds itself in the hostlist, or not."""
    found = {}
    for index, feature in enumerate(cluster.spec.worker_features):
        field = f"workerFeatures[{index}]"
        if not _VARIABLE.fullmatch(feature.name):
            raise SpecError(f"{field}.name must be letters, digits, '-', '.' and '_', not {feature.name!r}")
        try:
            hostlist.expand(feature.hostlist_expr)
        except hostlist.HostlistError as error:
            raise SpecError(f"{field}.hostlistExpr: {error}") from error
        found[f"SLURM_FEATURE_{feature.name}"] = feature.hostlist_expr
    return found


def _mounts(given: Worker) -> list[Manifest]:
    return [
        volumes.mount(names.WORKER_SPOOL, names.SLURMD_SPOOL),
        *volumes.NODE_MOUNTS,
        volumes.read_only(names.SSH_CONFIGS_WORKER, names.SSH_CONFIGS_DIR),
        volumes.mount(names.NVIDIA, names.NVIDIA_DIR, **_FROM_HOST),
        volumes.mount(names.BOOT, names.BOOT_DIR, **_FROM_HOST),
        volumes.mount(names.DEV_SHM, names.SHM_DIR),
        volumes.mount(names.SYSCTL, names.SYSCTL_PATH, subPath=names.SYSCTL_CONF),
        volumes.read_only(names.SUPERVISORD_CONFIG, names.SUPERVISORD_DIR),
        *volumes.sub_mounts(given.volumes.jail_sub_mounts),
        *volumes.custom_mounts(given.volumes.custom_mounts),
    ]


def _storage(cluster: Cluster) -> Storage:
    worker, at = _given(cluster), cluster.names
    given, field, component = worker.volumes, f"{_FIELD}.volumes", names.WORKER
    sshd = worker.sshd_config_map_ref_name or at.ssh_configs_worker
    supervisord = worker.supervisord_config_map_ref_name or at.supervisord
    parts = [
        volumes.of_spec(cluster, names.WORKER_SPOOL, given.spool, component, f"{field}.spool"),
        volumes.of_spec(cluster, names.JAIL, given.jail, component, f"{field}.jail"),
        volumes.storage(
            *volumes.of_node(cluster, component, worker.slurmd.resources.get("memory")),
            volumes.config_map(names.SSH_CONFIGS_WORKER, sshd),
            volumes.host_path(names.NVIDIA, names.NVIDIA_DIR),
            volumes.host_path(names.BOOT, names.BOOT_DIR),
            volumes.memory(names.DEV_SHM, given.shared_memory_size),
            volumes.config_map(names.SYSCTL, at.sysctl),
            volumes.config_map(names.SUPERVISORD_CONFIG, supervisord),
        ),
        volumes.mounts_of_spec(cluster, given.jail_sub_mounts, component, f"{field}.jailSubMounts"),
        volumes.mounts_of_spec(cluster, given.custom_mounts, component, f"{field}.customMounts"),
    ]
    return volumes.united(parts, field)
