"""The worker pod of a NodeSet."""

from typing import Any, Final

from slurmery.api.nebius.containers import NodeContainer
from slurmery.api.nebius.nodeset import NodeSetContainer, SlurmdContainer
from slurmery.kube.meta import Manifest
from slurmery.nebius import containers, names, pods, volumes
from slurmery.nebius.cluster import Cluster, Workers
from slurmery.nebius.config.cgroup import version as cgroup_version
from slurmery.nebius.config.nodes import real_memory
from slurmery.nebius.containers import flag
from slurmery.nebius.directory import Directory, directory
from slurmery.nebius.volumes import Storage

_DAEMON: Final = names.SLURMD
_INIT: Final = ("python3", f"{names.SLURM_SCRIPTS_DIR}/worker_init.py", "wait-controller")
_RUNTIME: Final = volumes.mount(names.RUNTIME, names.RUN_DIR)
_FROM_HOST: Final = {"mountPropagation": "HostToContainer"}


def pod_spec(cluster: Cluster, nodeset: Workers, storage: Storage) -> dict[str, Any]:
    """The spec of the pods."""
    given, slurmd = nodeset.spec, _translated(nodeset.spec.slurmd)
    spec: dict[str, Any] = {
        "affinity": given.affinity,
        "nodeSelector": dict(given.node_selector),
        "tolerations": list(given.tolerations),
        "priorityClassName": given.priority_class,
        "imagePullSecrets": list(given.image_pull_secrets),
        "serviceAccountName": cluster.names.nodeset_account(nodeset.name),
        **pods.searches(cluster),
        "terminationGracePeriodSeconds": 30,
        "initContainers": [
            *given.custom_init_containers,
            containers.munge(_translated(given.munge)),
            *_directory(cluster, nodeset).sidecars,
            _worker_init(cluster, nodeset, slurmd),
        ],
        "containers": [_slurmd(cluster, nodeset, slurmd), *_docker_proxy(nodeset, slurmd)],
        "volumes": list(storage.volumes),
    }
    kept = {field: value for field, value in spec.items() if value not in ("", [], {}, None)}
    return {**kept, "hostUsers": given.enable_host_user_namespace}


def storage(cluster: Cluster, nodeset: Workers) -> Storage:
    """The volumes of the pods."""
    given, at = nodeset.spec.slurmd.volumes, cluster.names
    field = f"NodeSet {nodeset.name}: slurmd.volumes"
    memory = nodeset.spec.slurmd.resources.get("memory")
    parts = [
        volumes.storage(
            {"name": names.WORKER_SPOOL, **given.spool},
            {"name": names.JAIL, **given.jail},
            *volumes.of_node(cluster, at.nodeset_limits(nodeset.name), memory),
            volumes.config_map(
                names.SSH_CONFIGS_WORKER, nodeset.spec.config_map_ref_sshd or at.ssh_configs_worker
            ),
            volumes.config_map(
                names.SUPERVISORD_CONFIG, nodeset.spec.config_map_ref_supervisord or at.supervisord
            ),
            volumes.memory(names.DEV_SHM, given.shared_memory_size),
            volumes.scratch(names.RUNTIME),
            volumes.host_path(names.HOST_JOURNAL, names.HOST_JOURNAL_DIR),
            {
                "name": names.OUTPUTS,
                "hostPath": {"path": names.HOST_OUTPUTS_DIR, "type": "DirectoryOrCreate"},
            },
            *_gpu_volumes(nodeset),
            *_directory(cluster, nodeset).volumes,
            *(_topology_volumes() if _has_topology(cluster) else ()),
        ),
        volumes.of_nodeset(cluster, given.jail_sub_mounts, f"{field}.jailSubMounts"),
        volumes.of_nodeset(cluster, given.custom_volume_mounts, f"{field}.customVolumeMounts"),
    ]
    return volumes.united(parts, field)


def _translated(given: NodeSetContainer) -> NodeContainer:
    """A container of a NodeSet in the words of those of a SlurmCluster."""
    custom_env = given.custom_env if isinstance(given, SlurmdContainer) else ()
    return NodeContainer(
        custom_env=custom_env,
        image=given.image.reference,
        image_pull_policy=given.image.pull_policy,
        resources=given.resources,
        security_limits_config=given.security.limits_config,
        app_armor_profile=given.security.app_armor_profile,
        proc_mount=given.security.proc_mount,
        liveness_probe=given.liveness_probe,
        readiness_probe=given.readiness_probe,
    )


def _directory(cluster: Cluster, nodeset: Workers) -> Directory:
    sssd = nodeset.spec.sssd
    made = cluster.names.sssd_conf(cluster.names.nodeset_limits(nodeset.name))
    return directory(_translated(sssd) if sssd else None, nodeset.spec, made)


def _has_topology(cluster: Cluster) -> bool:
    return bool(cluster.spec.slurm_config.topology_plugin)


def _worker_init(cluster: Cluster, nodeset: Workers, slurmd: NodeContainer) -> Manifest:
    """Waits for the controller and, where Slurm knows the network, for the worker's place in it."""
    given, topology = nodeset.spec, _has_topology(cluster)
    plain = {
        "CONTROLLER_MAX_ATTEMPTS": "60",
        "CONTROLLER_POLL_INTERVAL": "5",
        "K8S_SERVICE_NAME": cluster.names.nodeset_service,
    }
    if given.worker_init_random_delay_seconds:
        plain["WORKER_INIT_RANDOM_DELAY_SECONDS"] = str(given.worker_init_random_delay_seconds)
    mounts = [volumes.JAIL, volumes.MUNGE_SOCKET]
    if topology:
        plain |= {
            "NODESET_GPU_ENABLED": flag(given.gpu.enabled),
            "TOPOLOGY_CONFIGMAP_PATH": names.TOPOLOGY_LABELS_DIR,
            "TOPOLOGY_WAIT_TIMEOUT": str(given.ephemeral_topology_wait_timeout),
            "TOPOLOGY_POLL_INTERVAL": "5",
            "SLURM_TOPOLOGY_PLUGIN": cluster.spec.slurm_config.topology_plugin,
            "SLURM_TOPOLOGY_FABRIC": given.topology.fabric,
        }
        mounts.append(volumes.read_only(names.TOPOLOGY_LABELS, names.TOPOLOGY_LABELS_DIR))
    return {
        "name": names.WORKER_INIT,
        "image": slurmd.image,
        "imagePullPolicy": slurmd.image_pull_policy,
        "command": [*_INIT, *(("wait-topology",) if topology else ())],
        "env": [
            containers.env_field("K8S_NODE_NAME", "spec.nodeName"),
            *_identity(),
            *containers.env(plain),
        ],
        "volumeMounts": mounts,
    }


def _slurmd(cluster: Cluster, nodeset: Workers, slurmd: NodeContainer) -> dict[str, Any]:
    given, at = nodeset.spec, cluster.names
    profile = f"localhost/{at.app_armor_profile}" if cluster.spec.use_default_app_armor_profile else ""
    field = f"NodeSet {nodeset.name}: slurmd"
    extra = given.node_config.dynamic or given.node_attributes.extra
    plain = {
        "SLURM_CLUSTER_WITH_GPU": flag(cluster.gpu),
        "NODESET_GPU_ENABLED": flag(given.gpu.enabled),
        "SOPERATOR_DOCKER_ENABLED": flag(given.docker.enabled),
        "SOPERATOR_NODE_REAL_MEMORY_BYTES": str(real_memory(given.slurmd.resources) * 1024 * 1024),
        **({"SLURM_NODE_EXTRA": extra} if extra else {}),
        **({"CGROUP_V2": "true"} if cgroup_version(cluster) == "v2" else {}),
        **({"NVIDIA_GDRCOPY": "enabled"} if given.gpu.nvidia.gdr_copy_enabled else {}),
    }
    security = containers.security(slurmd, privileged=True, profile=profile)
    own = {
        "ports": containers.port(_DAEMON, given.slurmd.port or _DAEMON.port),
        "env": [
            *_identity(),
            containers.env_field("INSTANCE_ID", "spec.nodeName"),
            *containers.env(plain),
        ],
        "resources": containers.guaranteed(given.slurmd.resources, field),
        "securityContext": {**security, "seccompProfile": {"type": "Unconfined"}},
        "volumeMounts": _mounts(cluster, nodeset),
    }
    return containers.daemon(slurmd, _DAEMON.name, own)


def _docker_proxy(nodeset: Workers, slurmd: NodeContainer) -> list[Manifest]:
    if not nodeset.spec.docker.enabled:
        return []
    return [
        {
            "name": names.DOCKER_PROXY,
            "image": slurmd.image,
            "imagePullPolicy": slurmd.image_pull_policy,
            "command": [f"{names.SLURM_SCRIPTS_DIR}/docker_proxy_nginx_entrypoint.sh"],
            "volumeMounts": [_RUNTIME],
        }
    ]


def _mounts(cluster: Cluster, nodeset: Workers) -> list[Manifest]:
    given = nodeset.spec.slurmd.volumes
    return [
        volumes.mount(names.WORKER_SPOOL, names.SLURMD_SPOOL),
        _RUNTIME,
        *volumes.NODE_MOUNTS,
        volumes.read_only(names.SSH_CONFIGS_WORKER, names.SSH_CONFIGS_DIR),
        volumes.mount(names.DEV_SHM, names.SHM_DIR),
        volumes.read_only(names.SUPERVISORD_CONFIG, names.SUPERVISORD_DIR),
        volumes.read_only(names.HOST_JOURNAL, names.JAIL_UPPER_DIR + names.JAILED_JOURNAL_DIR),
        volumes.mount(names.OUTPUTS, names.JAIL_UPPER_DIR + names.JAILED_OUTPUTS_DIR),
        *(
            volumes.mount(volume["name"], volume["hostPath"]["path"], **_FROM_HOST)
            for volume in _gpu_volumes(nodeset)
        ),
        *_directory(cluster, nodeset).mounts,
        *volumes.sub_mounts(given.jail_sub_mounts),
        *volumes.custom_mounts(given.custom_volume_mounts),
    ]


def _gpu_volumes(nodeset: Workers) -> tuple[volumes.Volume, ...]:
    if not nodeset.spec.gpu.enabled:
        return ()
    return (
        volumes.host_path(names.NVIDIA, names.NVIDIA_DIR),
        volumes.host_path(names.BOOT, names.BOOT_DIR),
    )


def _topology_volumes() -> tuple[volumes.Volume, ...]:
    """Where Kubernetes nodes stand in the network; not there yet on a young cluster."""
    source = {"name": names.TOPOLOGY_LABELS, "optional": True}
    return ({"name": names.TOPOLOGY_LABELS, "configMap": source},)


def _identity() -> list[Manifest]:
    return [
        containers.env_field("K8S_POD_NAME", "metadata.name"),
        containers.env_field("K8S_POD_NAMESPACE", "metadata.namespace"),
    ]
