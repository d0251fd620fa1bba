"""Containers as the spec gives them, with what is their own; and the one that runs munge."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from slurmery.api.nebius.containers import NodeContainer
from slurmery.api.nebius.kubernetes import ResourceList
from slurmery.api.quantity import quantity
from slurmery.kube.meta import Manifest
from slurmery.nebius import names, volumes
from slurmery.nebius.cluster import Cluster
from slurmery.nebius.errors import SpecError

_MUNGE_IS_THERE: Final = ["sh", "-c", f"test -S {names.MUNGE_SOCKET_PATH}"]
_MUNGE_WORKS: Final = ["sh", "-c", "munge -n >/dev/null"]


def daemon(given: NodeContainer, name: str, own: Manifest) -> dict[str, Any]:
    """A container; `own` are the fields that its component gives it. Probes of the user replace ours."""
    container: dict[str, Any] = {
        "name": name,
        "image": given.image,
        "imagePullPolicy": given.image_pull_policy,
        "resources": resources(given.resources),
        **own,
        "env": environment(own.get("env", ()), given.custom_env),
    }
    spelled = {
        "command": list(given.command),
        "args": list(given.args),
        "livenessProbe": given.liveness_probe,
        "readinessProbe": given.readiness_probe,
    }
    container.update({field: value for field, value in spelled.items() if value})
    return {field: value for field, value in container.items() if value not in ([], {}, None)}


def munge(given: NodeContainer) -> dict[str, Any]:
    """munge beside the daemon: it starts before it and outlives it."""
    own = {
        "restartPolicy": "Always",
        "securityContext": security(given),
        "readinessProbe": probe(exec={"command": _MUNGE_IS_THERE}),
        "livenessProbe": probe(exec={"command": _MUNGE_WORKS}),
        "volumeMounts": [
            volumes.read_only(names.MUNGE_KEY, names.MUNGE_KEY_DIR),
            volumes.MUNGE_SOCKET,
        ],
    }
    return daemon(given, names.MUNGE, own)


def security(given: NodeContainer, *, privileged: bool = False, profile: str = "") -> dict[str, Any]:
    """The security context of a daemon that mounts file systems; `profile` wins over the spec's."""
    context: dict[str, Any] = {"capabilities": {"add": ["SYS_ADMIN"]}}
    if privileged:
        context["privileged"] = True
    if given.proc_mount:
        context["procMount"] = given.proc_mount
    return {**context, **app_armor(profile or given.app_armor_profile)}


def app_armor(profile: str) -> dict[str, Any]:
    """An AppArmor profile as a security context spells it; nothing for an empty one."""
    if not profile:
        return {}
    if profile == "unconfined":
        return {"appArmorProfile": {"type": "Unconfined"}}
    if profile == "runtime/default":
        return {"appArmorProfile": {"type": "RuntimeDefault"}}
    local = profile.removeprefix("localhost/")
    return {"appArmorProfile": {"type": "Localhost", "localhostProfile": local}}


def resources(given: ResourceList) -> dict[str, dict[str, str]]:
    """Requests, and as limits the same without cpu: a daemon may use what is idle."""
    requests = _amounts(given)
    limits = {name: amount for name, amount in requests.items() if name != "cpu"}
    return {key: amounts for key, amounts in (("requests", requests), ("limits", limits)) if amounts}


def guaranteed(given: ResourceList, field: str) -> dict[str, dict[str, str]]:
    """The same requests and limits; jobs are promised cpu and memory, so both are needed."""
    for name in ("cpu", "memory"):
        if quantity(given.get(name, 0)) <= 0:
            raise SpecError(f"{field}.resources needs {name}")
    amounts = _amounts(given)
    return {"requests": amounts, "limits": amounts}


def probe(**given: Any) -> dict[str, Any]:
    """A probe with the usual times, where it does not say others.

    On a busy machine a program takes more than a second to start, though nothing is wrong with what it asks.
    """
    seconds = 10 if "exec" in given else 1
    usual = {"timeoutSeconds": seconds, "periodSeconds": 10, "successThreshold": 1, "failureThreshold": 3}
    return {**usual, **given}


def port(given: names.Daemon, number: int) -> list[Manifest]:
    """The port of a daemon, by its name."""
    return [{"name": given.port_name, "containerPort": number, "protocol": "TCP"}]


def env(values: Mapping[str, str]) -> list[Manifest]:
    """Environment variables with plain values."""
    return [{"name": name, "value": value} for name, value in values.items()]


def flag(value: bool) -> str:
    """A yes or no as images read it from their environment."""
    return "true" if value else "false"


def cluster_kind(cluster: Cluster) -> dict[str, str]:
    """How images are told whether there are GPUs, in the words of their generation."""
    if cluster.is_1_22:
        return {"SLURM_CLUSTER_TYPE": cluster.kind}
    return {"SLURM_CLUSTER_WITH_GPU": flag(cluster.gpu)}


def env_field(name: str, path: str) -> Manifest:
    """An environment variable with something about the pod."""
    return {"name": name, "valueFrom": {"fieldRef": {"fieldPath": path}}}


def environment(ours: Iterable[Manifest], theirs: Sequence[Manifest]) -> list[Manifest]:
    """Our variables and the user's, who wins."""
    replaced = {each["name"] for each in theirs}
    return [*(each for each in ours if each["name"] not in replaced), *theirs]


def _amounts(given: ResourceList) -> dict[str, str]:
    # `storage` sizes a volume of slurmdbd and is no resource of a container.
    return {name: str(amount) for name, amount in given.items() if name != "storage"}
