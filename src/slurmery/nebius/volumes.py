"""Volumes and mounts of the pods.

A volume of the spec is a named source, shared by all pods, or a claim made for each. `Storage` keeps the two
apart until the pod and its StatefulSet take what is theirs.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from slurmery.api.nebius.volumes import NodeVolume, NodeVolumeMount, VolumeMountSource
from slurmery.kube.meta import Manifest
from slurmery.nebius import names
from slurmery.nebius.cluster import Cluster
from slurmery.nebius.errors import SpecError

Volume = dict[str, Any]
Mounted = NodeVolumeMount | VolumeMountSource


@dataclass(frozen=True)
class Storage:
    """Volumes of a pod, and claims that are made for each."""

    volumes: tuple[Volume, ...] = ()
    claims: tuple[Volume, ...] = ()

    def __add__(self, other: "Storage") -> "Storage":
        return Storage((*self.volumes, *other.volumes), (*self.claims, *other.claims))


def storage(*shared: Volume) -> Storage:
    """Volumes that need no claim."""
    return Storage(volumes=shared)


def united(parts: Iterable[Storage], field: str) -> Storage:
    """All volumes, each once; two that share a name must be the same."""
    whole = sum(parts, Storage())
    known: dict[str, Volume] = {}
    for volume in (*whole.volumes, *whole.claims):
        name = volume["name"] if "name" in volume else volume["metadata"]["name"]
        if known.setdefault(name, volume) != volume:
            raise SpecError(f"{field}: two different volumes are named {name!r}")
    return Storage(
        tuple(volume for name, volume in known.items() if "name" in volume),
        tuple(claim for name, claim in known.items() if "name" not in claim),
    )


def of_spec(cluster: Cluster, name: str, given: NodeVolume, component: str, field: str) -> Storage:
    """A volume of the spec, called `name` in the pod."""
    claim, source = given.volume_claim_template_spec, given.volume_source_name
    if bool(source) == (claim is not None):
        raise SpecError(f"{field}: give either volumeSourceName or volumeClaimTemplateSpec")
    if claim is None:
        return storage(from_source(cluster, name, source, f"{field}.volumeSourceName"))
    return Storage(claims=(_claim(cluster, name, component, claim),))


def of_nodeset(cluster: Cluster, given: Iterable[VolumeMountSource], field: str) -> Storage:
    """The volumes of a NodeSet's sub-mounts or custom mounts."""
    whole = Storage()
    for index, each in enumerate(given):
        claim, source = each.volume_claim_template_spec, each.volume_source
        if claim is not None and not source:
            whole += Storage(claims=(_claim(cluster, each.name, names.NODESET, claim),))
        elif source and claim is None:
            whole += storage({"name": each.name, **source})
        else:
            raise SpecError(f"{field}[{index}]: give either volumeSource or volumeClaimTemplateSpec")
    return whole


def from_source(cluster: Cluster, name: str, source: str, field: str) -> Volume:
    """A volume from one of the named sources of the spec."""
    for each in cluster.spec.volume_sources:
        if each.name == source:
            return {"name": name, **each.source}
    raise SpecError(f"{field}: {source!r} is not the name of one of volumeSources")


def mounts_of_spec(cluster: Cluster, given: Iterable[NodeVolumeMount], component: str, field: str) -> Storage:
    """The volumes of sub-mounts or custom mounts."""
    return sum(
        (
            of_spec(cluster, each.name, each, component, f"{field}[{index}]")
            for index, each in enumerate(given)
        ),
        Storage(),
    )


def sub_mounts(given: Iterable[Mounted]) -> list[Manifest]:
    """Where volumes inside the shared root are mounted: beside it, the image puts them in their place."""
    return [_mounted(each, f"{names.JAIL_UPPER_DIR}{_absolute(each.mount_path)}") for each in given]


def custom_mounts(given: Iterable[Mounted]) -> list[Manifest]:
    """Where volumes outside the shared root are mounted."""
    return [_mounted(each, each.mount_path) for each in given]


def mount(name: str, path: str, **more: Any) -> Manifest:
    """Where a container finds a volume."""
    return {"name": name, "mountPath": path, **more}


def read_only(name: str, path: str, **more: Any) -> Manifest:
    """Where a container finds a volume that it must not change."""
    return mount(name, path, readOnly=True, **more)


def scratch(name: str, size: str | int | None = None) -> Volume:
    """Space on the node's disk that goes with the pod."""
    return {"name": name, "emptyDir": {"sizeLimit": str(size)} if size else {}}


def memory(name: str, size: str | int | None) -> Volume:
    """Space in memory that goes with the pod."""
    limit = {"sizeLimit": str(size)} if size else {}
    return {"name": name, "emptyDir": {"medium": "Memory", **limit}}


def host_path(name: str, path: str) -> Volume:
    """A directory of the Kubernetes node."""
    return {"name": name, "hostPath": {"path": path}}


def config_map(name: str, config_map_name: str, mode: int = 0o644) -> Volume:
    """The files of a ConfigMap."""
    return {"name": name, "configMap": {"name": config_map_name, "defaultMode": mode}}


def secret(name: str, secret_name: str, modes: Mapping[str, int]) -> Volume:
    """Files of a Secret, each with its mode."""
    return {
        "name": name,
        "secret": {
            "secretName": secret_name,
            "defaultMode": 0o400,
            "items": [{"key": key, "path": key, "mode": mode} for key, mode in modes.items()],
        },
    }


def munge_key(cluster: Cluster) -> Volume:
    """The key by which the daemons of a cluster know each other."""
    return secret(names.MUNGE_KEY, cluster.names.munge, {names.MUNGE_KEY_FILE: 0o400})


def rest_jwt_key(cluster: Cluster) -> Volume:
    """The key that tokens are signed with."""
    return secret(names.REST_JWT_KEY, cluster.names.rest_jwt_key, {names.REST_JWT_FILE: 0o400})


def sshd_keys(cluster: Cluster) -> Volume:
    """The host keys of sshd."""
    modes = {
        file: mode
        for algorithm in names.HOST_KEY_ALGORITHMS
        for file, mode in (
            (names.host_key(algorithm), 0o600),
            (names.host_key_public(algorithm), 0o644),
        )
    }
    return secret(names.SSHD_KEYS, cluster.spec.secrets.sshd_keys_name or cluster.names.sshd_keys, modes)


def shared_root(cluster: Cluster) -> Volume:
    """The shared root of components that do not name its volume."""
    return from_source(cluster, names.JAIL, names.JAIL, "volumeSources")


JAIL = mount(names.JAIL, names.JAIL_DIR)
JAIL_READ_ONLY = read_only(names.JAIL, names.JAIL_DIR)
MUNGE_SOCKET = mount(names.MUNGE_SOCKET, names.MUNGE_DIR)
LIMITS = mount(names.SECURITY_LIMITS, names.LIMITS_PATH, subPath=names.LIMITS_CONF)
REST_JWT = read_only(names.REST_JWT_KEY, names.REST_JWT_DIR)
SLURM_CONFIGS = read_only(names.SLURM_CONFIGS, names.SLURM_CONFIGS_DIR)


# What login nodes and workers have alike; `of_node` has the volumes.
NODE_MOUNTS: tuple[Manifest, ...] = (
    JAIL,
    MUNGE_SOCKET,
    LIMITS,
    read_only(names.SSHD_KEYS, names.SSHD_KEYS_DIR),
    read_only(names.SSH_ROOT_KEYS, names.ROOT_KEYS_PATH, subPath=names.AUTHORIZED_KEYS),
    mount(names.IN_MEMORY, names.IN_MEMORY_DIR),
    mount(names.TMP_DISK, names.TMP_DIR),
)


def of_node(cluster: Cluster, limits: str, memory_size: str | int | None) -> tuple[Volume, ...]:
    """The volumes that login nodes and workers have alike, but for the shared root.

    `limits` is the component, or the NodeSet, whose limits.conf is theirs.
    """
    at = cluster.names
    return (
        munge_key(cluster),
        scratch(names.MUNGE_SOCKET),
        config_map(names.SECURITY_LIMITS, at.security_limits(limits)),
        sshd_keys(cluster),
        config_map(names.SSH_ROOT_KEYS, at.ssh_root_keys, mode=0o600),
        memory(names.IN_MEMORY, memory_size),
        scratch(names.TMP_DISK),
    )


def _claim(cluster: Cluster, name: str, component: str, spec: Manifest) -> Volume:
    return {"metadata": {"name": name, "labels": cluster.labels(component)}, "spec": spec}


def _absolute(path: str) -> str:
    return path if path.startswith("/") else f"/{path}"


def _mounted(given: Mounted, path: str) -> Manifest:
    sub_path = {"subPath": given.sub_path} if given.sub_path else {}
    return mount(given.name, path, **sub_path, **({"readOnly": True} if given.read_only else {}))
