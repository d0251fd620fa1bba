"""The DaemonSet of a NodeConfigurator.

A spec that says `nodeConfigurator` and not `customContainer` is one of 1.22: either container runs, the node
is prepared by an init container of ours, and the pods have a network of their own.
"""

from collections.abc import Mapping
from typing import Any, Final

from slurmery.api.nebius.containers import Image
from slurmery.api.nebius.nodeconfigurator import HostContainer, NodeConfiguratorSpec, Rebooter
from slurmery.kube.meta import Key, Manifest
from slurmery.kube.resources import DAEMON_SETS
from slurmery.nebius import names
from slurmery.nebius.containers import env, env_field

_BUSYBOX: Final = Image(repository="busybox", tag="latest")
_SYSCTL: Final = "kernel.unprivileged_userns_clone"
_SLEEP: Final = ("sleep", "infinity")
_REBOOTER: Final = ("/usr/bin/rebooter",)
_ROOT: Final = {
    "privileged": True,
    "runAsUser": 0,
    "runAsGroup": 0,
    "readOnlyRootFilesystem": True,
    "allowPrivilegeEscalation": True,
}
_NOBODY: Final = {
    "runAsNonRoot": True,
    "runAsUser": 65534,
    "runAsGroup": 65534,
    "readOnlyRootFilesystem": True,
    "allowPrivilegeEscalation": False,
    "capabilities": {"drop": ["ALL"]},
}


def name(configurator: str) -> str:
    """The name of the DaemonSet."""
    return f"{configurator}-ds"


def labels(configurator: str) -> dict[str, str]:
    """The labels of everything that a NodeConfigurator owns."""
    return {
        names.COMPONENT_LABEL: names.NODE_CONFIGURATOR,
        names.INSTANCE_LABEL: configurator,
        names.NODE_CONFIGURATOR_LABEL: "true",
    }


def daemon_set(key: Key, spec: NodeConfiguratorSpec) -> dict[str, Any] | None:
    """The DaemonSet; None if neither container is switched on."""
    containers = _containers(spec)
    if not containers:
        return None
    pod = {**_placement(_leading(spec)), **_host(spec), "containers": containers}
    if prepared := _prepared(spec):
        pod["initContainers"] = prepared
    return {
        "apiVersion": DAEMON_SETS.api_version,
        "kind": DAEMON_SETS.kind,
        "metadata": {"name": name(key.name), "namespace": key.namespace, "labels": labels(key.name)},
        "spec": {
            "selector": {"matchLabels": labels(key.name)},
            "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": "20%"}},
            "template": {"metadata": {"labels": labels(key.name)}, "spec": pod},
        },
    }


def _is_1_22(spec: NodeConfiguratorSpec) -> bool:
    return spec.node_configurator is not None and spec.custom_container is None


def _leading(spec: NodeConfiguratorSpec) -> HostContainer:
    """The container that says where the pods run."""
    return spec.rebooter if spec.rebooter.enabled or spec.custom is None else spec.custom


def _placement(given: HostContainer) -> dict[str, Any]:
    fields = {
        "affinity": given.affinity,
        "nodeSelector": given.node_selector,
        "tolerations": list(given.tolerations),
        "priorityClassName": given.priority_class_name,
        "serviceAccountName": given.service_account_name,
    }
    placed = {field: value for field, value in fields.items() if value}
    return placed if given.host_users is None else {**placed, "hostUsers": given.host_users}


def _host(spec: NodeConfiguratorSpec) -> dict[str, Any]:
    """What the pods share with their host: the rebooter reaches the host's first process."""
    shared = {
        "hostPID": spec.rebooter.enabled,
        "hostNetwork": spec.host_network and not _is_1_22(spec),
        "hostIPC": spec.host_ipc,
        "shareProcessNamespace": spec.share_process_namespace,
    }
    return {field: True for field, wanted in shared.items() if wanted}


def _prepared(spec: NodeConfiguratorSpec) -> list[Manifest]:
    if spec.init_containers or not _is_1_22(spec):
        return list(spec.init_containers)
    # Only kernels of Debian and Ubuntu have the switch; elsewhere there is nothing to allow.
    command = f"test ! -e /proc/sys/{_SYSCTL.replace('.', '/')} || sysctl -w {_SYSCTL}=1"
    return [
        {
            "name": "node-sysctl",
            **_image(_BUSYBOX),
            "command": ["sh", "-c", command],
            "securityContext": {"privileged": True, "runAsUser": 0, "runAsGroup": 0},
        }
    ]


def _containers(spec: NodeConfiguratorSpec) -> list[Manifest]:
    containers: list[Manifest] = [_rebooter(spec.rebooter)] if spec.rebooter.enabled else []
    if spec.custom and spec.custom.enabled:
        containers.append(_custom(spec.custom, old=_is_1_22(spec)))
    return containers


def _rebooter(given: Rebooter) -> dict[str, Any]:
    ours = [
        *env({"REBOOTER_EVICTION_METHOD": given.eviction_method}),
        env_field("REBOOTER_NODE_NAME", "spec.nodeName"),
    ]
    # Ours win: a rebooter that was told another node's name would empty that one and restart its own.
    fixed = {each["name"] for each in ours}
    own = {
        "command": list(given.command or _REBOOTER),
        "args": [f"-log-level={given.log_level}", f"-log-format={given.log_format or 'json'}"],
        "env": [*(each for each in given.env if each["name"] not in fixed), *ours],
        "securityContext": _ROOT,
    }
    return _container(given, "rebooter", given.image, own)


def _custom(given: HostContainer, *, old: bool) -> dict[str, Any]:
    asleep = old or given.image is None
    command = _SLEEP if asleep and not given.command else given.command
    own = {"command": list(command), "env": list(given.env), "securityContext": _NOBODY}
    return _container(given, "node-sysctl-sleep" if old else "custom-container", given.image or _BUSYBOX, own)


def _container(
    given: HostContainer, usual_name: str, image: Image | None, own: Mapping[str, Any]
) -> dict[str, Any]:
    fields = {
        "name": given.name or usual_name,
        **(_image(image) if image else {}),
        **own,
        "resources": given.resources,
        "livenessProbe": given.liveness_probe,
        "readinessProbe": given.readiness_probe,
    }
    return {field: value for field, value in fields.items() if value not in ([], {}, None)}


def _image(image: Image) -> dict[str, str]:
    return {"image": f"{image.repository}:{image.tag or 'latest'}", "imagePullPolicy": image.pull_policy}
