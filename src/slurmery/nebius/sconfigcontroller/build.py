"""The Deployment of sconfigcontroller, and what it may do."""

from typing import Any, Final

from slurmery.api.nebius.containers import NodeContainer, SlurmNode
from slurmery.api.nebius.slurmcluster import SConfigController
from slurmery.kube.desired import Desired
from slurmery.kube.meta import Manifest
from slurmery.kube.resources import DEPLOYMENTS
from slurmery.nebius import containers, names, pods, volumes
from slurmery.nebius.access import READ, Access, granted, rule
from slurmery.nebius.cluster import Cluster
from slurmery.nebius.errors import SpecError
from slurmery.nebius.kinds import JAILED_CONFIGS
from slurmery.nebius.objects import desired
from slurmery.nebius.pods import Part
from slurmery.nebius.ports import port

_FIELD: Final = "sConfigController"
_WATCH: Final = ("list", "watch")
_LEASES: Final = "coordination.k8s.io"
# The program's own name for it, unless --leader-election-id says otherwise.
_LEASE: Final = "vqeyz6ae.nebius.ai"
_GROUP: Final = JAILED_CONFIGS.group
_COMMAND: Final = ("/usr/bin/sconfigcontroller",)
# The paths come by the environment, so that no shell ever reads them as words of its own.
_INIT_DIR: Final = (
    'mkdir -p "$JAIL_CONFIG_PATH" && chown "$JAIL_UID:$JAIL_GID" "$JAIL_CONFIG_PATH"'
    ' && chmod 755 "$JAIL_CONFIG_PATH"'
)


def access(cluster: Cluster) -> tuple[Desired, ...]:
    """ServiceAccount, Role and RoleBinding."""
    at = cluster.names
    rights = Access(
        names.SCONFIGCONTROLLER, at.sconfigcontroller_account, at.sconfigcontroller_role, _rules(cluster)
    )
    return granted(cluster, rights, _given(cluster).service_account_name or "")


def deployment(cluster: Cluster) -> Desired:
    """The Deployment."""
    given = _given(cluster)
    node, container = _node(given), _container(given)
    host_users = given.host_users if node.host_users is None else node.host_users
    placed = node.model_copy(update={"host_users": host_users})
    uid, gid = _ids(given)
    own = {
        "serviceAccountName": given.service_account_name or cluster.names.sconfigcontroller_account,
        "securityContext": {"runAsUser": uid, "runAsGroup": gid},
        "initContainers": [*node.custom_init_containers, _init_dir(cluster, given)],
        "containers": [_sconfigctrl(cluster, given, container)],
        "volumes": [volumes.shared_root(cluster)],
    }
    pulled = (container, cluster.spec.slurm_nodes.controller.slurmctld)
    part = Part(names.SCONFIGCONTROLLER, f"{_FIELD}.node", placed, pulled)
    spec = {
        "replicas": cluster.replicas(node.size),
        "strategy": {"type": "RollingUpdate"},
        "selector": {"matchLabels": cluster.selector(names.SCONFIGCONTROLLER)},
        "template": pods.template(
            cluster.selector(names.SCONFIGCONTROLLER),
            pods.annotations(cluster, names.SCONFIGCTRL, {}),
            pods.pod_spec(cluster, part, own),
        ),
    }
    name = cluster.names.sconfigcontroller
    return desired(cluster, DEPLOYMENTS, name, names.SCONFIGCONTROLLER, {"spec": spec})


def _rules(cluster: Cluster) -> tuple[Manifest, ...]:
    """What the program does, and no more: of all Secrets it reads the one that its tokens are signed with."""
    return (
        rule(_GROUP, ["jailedconfigs"], _WATCH),
        rule(_GROUP, ["jailedconfigs/status"], ("patch",)),
        rule("", ["configmaps"], READ),
        {**rule("", ["secrets"], ("get",)), "resourceNames": [cluster.names.rest_jwt_key]},
        # What is created cannot be named beforehand.
        rule(_LEASES, ["leases"], ("create",)),
        {**rule(_LEASES, ["leases"], ("get", "update")), "resourceNames": [_LEASE]},
        rule("events.k8s.io", ["events"], ("create", "patch")),
    )


def _given(cluster: Cluster) -> SConfigController:
    if cluster.spec.s_config_controller is None:
        raise SpecError(f"{_FIELD} is missing: nothing would write Slurm's files into the shared root")
    return cluster.spec.s_config_controller


def _node(given: SConfigController) -> SlurmNode:
    if given.node is None:
        raise SpecError(f"{_FIELD}.node is missing")
    return given.node


def _container(given: SConfigController) -> NodeContainer:
    if given.container is None:
        raise SpecError(f"{_FIELD}.container is missing")
    return given.container


def _ids(given: SConfigController) -> tuple[int, int]:
    uid = names.JAIL_UID if given.run_as_uid is None else given.run_as_uid
    gid = names.JAIL_GID if given.run_as_gid is None else given.run_as_gid
    return uid, gid


def _init_dir(cluster: Cluster, given: SConfigController) -> Manifest:
    """Makes the directory of the files; it runs in the image of slurmctld, which has a shell."""
    slurmctld = cluster.spec.slurm_nodes.controller.slurmctld
    uid, gid = _ids(given)
    return {
        "name": names.INIT_DIR,
        "image": slurmctld.image,
        "imagePullPolicy": slurmctld.image_pull_policy,
        "command": ["sh", "-c", _INIT_DIR],
        "env": containers.env(
            {
                "JAIL_CONFIG_PATH": names.JAIL_DIR + names.JAILED_ETC_SLURM,
                "JAIL_UID": str(uid),
                "JAIL_GID": str(gid),
            }
        ),
        "securityContext": {"runAsUser": 0, "runAsGroup": 0},
        "volumeMounts": [volumes.JAIL],
    }


def _sconfigctrl(cluster: Cluster, given: SConfigController, container: NodeContainer) -> dict[str, Any]:
    number = port(cluster.spec.slurm_nodes.rest.rest, names.SLURMRESTD)
    arguments = [
        f"--cluster-namespace={cluster.names.namespace}",
        f"--cluster-name={cluster.name}",
        f"--jail-path={names.JAIL_DIR}",
        f"--slurmapiserver={cluster.names.rest_url(number)}",
        "--leader-elect",
    ]
    if given.reconfigure_poll_interval:
        arguments.append(f"--reconfigure-poll-interval={given.reconfigure_poll_interval}")
    if given.reconfigure_wait_timeout:
        arguments.append(f"--reconfigure-wait-timeout={given.reconfigure_wait_timeout}")
    made = containers.daemon(container, names.SCONFIGCTRL, {"volumeMounts": [volumes.JAIL]})
    return {
        **made,
        "command": list(container.command or _COMMAND),
        "args": [*arguments, *container.args],
        **(
            {"securityContext": profile}
            if (profile := containers.app_armor(container.app_armor_profile))
            else {}
        ),
    }
