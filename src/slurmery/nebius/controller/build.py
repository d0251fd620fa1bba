"""The slurmctld pod, the Service in front of it, and the pods that keep its images near."""

from collections.abc import Mapping
from typing import Any, Final

from slurmery.kube.desired import Desired
from slurmery.kube.meta import Manifest
from slurmery.kube.resources import DAEMON_SETS, SERVICE_MONITORS, STATEFUL_SETS
from slurmery.nebius import containers, names, pods, sets, volumes
from slurmery.nebius.access import Access, granted, rule
from slurmery.nebius.cluster import Cluster
from slurmery.nebius.directory import Directory, directory
from slurmery.nebius.kinds import POWER_STATES
from slurmery.nebius.objects import desired, named, service_ports
from slurmery.nebius.objects import service as a_service
from slurmery.nebius.pods import Part
from slurmery.nebius.ports import port
from slurmery.nebius.volumes import Storage

_DAEMON: Final = names.SLURMCTLD
_FIELD: Final = "slurmNodes.controller"
_MAIN: Final = {names.CONTROLLER_TYPE_LABEL: names.CONTROLLER_MAIN}
_PLACEHOLDER: Final = {names.CONTROLLER_TYPE_LABEL: names.CONTROLLER_PLACEHOLDER}
_METRICS: Final = ("jobs", "jobs-users-accts", "nodes", "partitions", "scheduler")
_SLEEP: Final = ["sleep", "infinity"]
# What a placeholder of a user's init container needs none of.
_STRIPPED: Final = frozenset(
    {"args", "env", "envFrom", "volumeMounts", "volumeDevices", "resources", "ports", "restartPolicy"}
    | {"livenessProbe", "readinessProbe", "startupProbe", "lifecycle"}
)


def service(cluster: Cluster) -> Desired:
    """The Service in front of slurmctld."""
    number = port(cluster.spec.slurm_nodes.controller.slurmctld, _DAEMON)
    spec = {
        "type": "ClusterIP",
        "selector": {**cluster.selector(names.CONTROLLER), **_MAIN},
        "ports": service_ports(_DAEMON, number),
    }
    return a_service(cluster, cluster.names.controller_service, names.CONTROLLER, spec)


def service_monitor(cluster: Cluster) -> Desired | None:
    """How Prometheus scrapes the metrics that slurmctld itself offers (5.0)."""
    given = cluster.spec.slurm_nodes.controller.open_metrics
    if cluster.is_1_22 or not given.enabled:
        return None
    monitor = given.service_monitor
    common = {
        "port": _DAEMON.port_name,
        "scheme": "http",
        "interval": monitor.interval,
        "scrapeTimeout": monitor.scrape_timeout,
        "metricRelabelings": [{"action": "labeldrop", "regex": "pod|instance|container"}],
    }
    groups = monitor.endpoints or _METRICS
    spec = {
        "namespaceSelector": {"matchNames": [cluster.names.namespace]},
        "selector": {"matchLabels": cluster.selector(names.CONTROLLER)},
        "endpoints": [{"path": f"/metrics/{group}", **common} for group in groups],
    }
    name = cluster.names.controller
    return desired(cluster, SERVICE_MONITORS, name, names.CONTROLLER, {"spec": spec})


def access(cluster: Cluster) -> tuple[Desired, ...]:
    """What slurmctld's power programs may do: say which nodes of this cluster's ephemeral NodeSets are on."""
    if cluster.is_1_22:
        return ()
    ephemeral = [nodeset.name for nodeset in cluster.nodesets if nodeset.spec.ephemeral_nodes]
    allowed = rule(POWER_STATES.group, [POWER_STATES.plural], ("get", "patch"))
    # Without a name the rule would be for every NodeSet.
    rules = ({**allowed, "resourceNames": ephemeral},) if ephemeral else ()
    at = cluster.names
    rights = Access(names.CONTROLLER, at.power_account, at.power_role, rules)
    return granted(cluster, rights, cluster.spec.slurm_nodes.controller.service_account_name)


def stateful_set(cluster: Cluster, versions: Mapping[str, str]) -> Desired:
    """The slurmctld pod; `versions` are hashes of what it reads only when it starts, by object."""
    part, storage = _part(cluster), _storage(cluster)
    labels = {**cluster.labels(names.CONTROLLER), **_MAIN}
    spec: dict[str, Any] = {
        "replicas": cluster.replicas(1),
        "serviceName": cluster.names.controller_service,
        "podManagementPolicy": "Parallel",
        "selector": {"matchLabels": {**cluster.selector(names.CONTROLLER), **_MAIN}},
        "template": pods.template(
            labels,
            pods.annotations(cluster, _DAEMON.name, versions),
            pods.pod_spec(cluster, part, _pod(cluster, storage)),
        ),
    }
    if storage.claims:
        spec["volumeClaimTemplates"] = list(storage.claims)
    body = {"metadata": {"labels": _MAIN}, "spec": spec}
    manifest = named(cluster, STATEFUL_SETS, cluster.names.controller, names.CONTROLLER, body)
    return sets.stateful_set(cluster.sets, manifest, sets.replaced(in_place=True))


def placeholder(cluster: Cluster) -> Desired | None:
    """Pods that sleep wherever slurmctld may run, so that its images are there when it moves (1.22)."""
    if not cluster.is_1_22:
        return None
    given = cluster.spec.slurm_nodes.controller
    munge = _asleep(names.MUNGE, given.munge.image, given.munge.image_pull_policy)
    own = {
        # A sleep that is the first process of its container does not listen to SIGTERM.
        "terminationGracePeriodSeconds": 1,
        "initContainers": [{**munge, "restartPolicy": "Always"}],
        "containers": [
            _asleep(_DAEMON.name, given.slurmctld.image, given.slurmctld.image_pull_policy),
            *(_stripped(each) for each in given.custom_init_containers),
        ],
    }
    labels = {**cluster.labels(names.CONTROLLER), **_PLACEHOLDER}
    spec = {
        "selector": {"matchLabels": {**cluster.selector(names.CONTROLLER), **_PLACEHOLDER}},
        "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 1}},
        "template": pods.template(
            labels,
            pods.annotations(cluster, _DAEMON.name, {}),
            pods.pod_spec(cluster, _part(cluster), own),
        ),
    }
    body = {"metadata": {"labels": _PLACEHOLDER}, "spec": spec}
    return desired(cluster, DAEMON_SETS, cluster.names.controller_placeholder, names.CONTROLLER, body)


def _part(cluster: Cluster) -> Part:
    given = cluster.spec.slurm_nodes.controller
    return Part(names.CONTROLLER, _FIELD, given, (given.slurmctld, given.munge, given.sssd))


def _directory(cluster: Cluster) -> Directory:
    given = cluster.spec.slurm_nodes.controller
    return directory(given.sssd, given, cluster.names.sssd_conf(names.CONTROLLER))


def _pod(cluster: Cluster, storage: Storage) -> Manifest:
    given = cluster.spec.slurm_nodes.controller
    account = "" if cluster.is_1_22 else cluster.names.power_account
    return {
        "serviceAccountName": given.service_account_name or account,
        "initContainers": [
            *given.custom_init_containers,
            containers.munge(given.munge),
            *_directory(cluster).sidecars,
        ],
        "containers": [_slurmctld(cluster)],
        "volumes": list(storage.volumes),
    }


def _slurmctld(cluster: Cluster) -> dict[str, Any]:
    given = cluster.spec.slurm_nodes.controller
    number = port(given.slurmctld, _DAEMON)
    own = {
        "ports": containers.port(_DAEMON, number),
        "livenessProbe": containers.probe(exec={"command": ["scontrol", "ping"]}, initialDelaySeconds=25),
        "securityContext": containers.security(given.slurmctld),
        "volumeMounts": [
            volumes.mount(names.CONTROLLER_SPOOL, names.SLURMCTLD_SPOOL),
            volumes.JAIL,
            volumes.MUNGE_SOCKET,
            volumes.LIMITS,
            volumes.REST_JWT,
            *_directory(cluster).mounts,
            *volumes.custom_mounts(given.volumes.custom_mounts),
        ],
    }
    return containers.daemon(given.slurmctld, _DAEMON.name, own)


def _storage(cluster: Cluster) -> Storage:
    given = cluster.spec.slurm_nodes.controller.volumes
    field, component = f"{_FIELD}.volumes", names.CONTROLLER
    parts = [
        volumes.of_spec(cluster, names.CONTROLLER_SPOOL, given.spool, component, f"{field}.spool"),
        volumes.of_spec(cluster, names.JAIL, given.jail, component, f"{field}.jail"),
        volumes.storage(
            volumes.munge_key(cluster),
            volumes.scratch(names.MUNGE_SOCKET),
            volumes.config_map(names.SECURITY_LIMITS, cluster.names.security_limits(component)),
            volumes.rest_jwt_key(cluster),
            *_directory(cluster).volumes,
        ),
        volumes.mounts_of_spec(cluster, given.custom_mounts, component, f"{field}.customMounts"),
    ]
    return volumes.united(parts, field)


def _asleep(name: str, image: str, pull_policy: str) -> dict[str, Any]:
    return {"name": name, "image": image, "imagePullPolicy": pull_policy, "command": _SLEEP}


def _stripped(container: Manifest) -> dict[str, Any]:
    kept = {field: value for field, value in container.items() if field not in _STRIPPED}
    return {**kept, "command": _SLEEP}
