"""The Deployment of the exporter, what it may do, and how Prometheus finds it."""

from collections.abc import Iterable
from typing import Any, Final

from slurmery.api.nebius.containers import NodeContainer
from slurmery.api.nebius.exporter import RelabelConfig
from slurmery.kube.desired import Desired
from slurmery.kube.meta import Manifest
from slurmery.kube.resources import DEPLOYMENTS, POD_MONITORS
from slurmery.nebius import containers, names, pods
from slurmery.nebius.access import READ, Access, granted, rule
from slurmery.nebius.cluster import Cluster
from slurmery.nebius.errors import SpecError
from slurmery.nebius.objects import desired
from slurmery.nebius.pods import Part
from slurmery.nebius.ports import port

_FIELD: Final = "slurmNodes.exporter"
_PORTS: Final = (names.EXPORTER_METRICS, names.EXPORTER_MONITORING)
_DROPPED: Final = {"action": "labeldrop", "regex": "pod|instance|container"}
_VARIABLE: Final = "SLURM_EXPORTER_"


def access(cluster: Cluster) -> tuple[Desired, ...]:
    """ServiceAccount, Role and RoleBinding."""
    at = cluster.names
    rules = (rule("", ["secrets"], READ),)
    rights = Access(names.EXPORTER, at.exporter_account, at.exporter_role, rules)
    return granted(cluster, rights, cluster.spec.slurm_nodes.exporter.service_account_name)


def deployment(cluster: Cluster) -> Desired:
    """The Deployment; without a node filter of its name the pod may run anywhere."""
    given = cluster.spec.slurm_nodes.exporter
    container = given.exporter_container
    if container is None:
        raise SpecError(f"{_FIELD}.exporterContainer is missing")
    own = {
        "serviceAccountName": given.service_account_name or cluster.names.exporter_account,
        "initContainers": list(given.custom_init_containers),
        "containers": [_exporter(cluster, container)],
    }
    part = Part(names.EXPORTER, _FIELD, given, (container,))
    spec = {
        "replicas": cluster.replicas(1),
        "strategy": {"type": "Recreate"},
        "selector": {"matchLabels": cluster.selector(names.EXPORTER)},
        "template": pods.template(
            cluster.selector(names.EXPORTER),
            pods.annotations(cluster, names.EXPORTER, {}),
            pods.pod_spec(cluster, part, own, optional=True),
        ),
    }
    return desired(cluster, DEPLOYMENTS, cluster.names.exporter, names.EXPORTER, {"spec": spec})


def pod_monitor(cluster: Cluster) -> Desired:
    """What Prometheus scrapes: Slurm's metrics and the exporter's own."""
    given = cluster.spec.slurm_nodes.exporter.pod_monitor_config
    endpoint = {
        "path": "/metrics",
        "scheme": "http",
        "interval": given.interval,
        "scrapeTimeout": given.scrape_timeout,
        "metricRelabelings": [_DROPPED, *_written(given.metric_relabel_configs)],
        "relabelings": _written(given.relabel_config),
    }
    kept = {field: value for field, value in endpoint.items() if value}
    body = {
        "metadata": {"labels": {names.NAME_LABEL: "slurm-exporter"}},
        "spec": {
            "jobLabel": given.job_label,
            "selector": {"matchLabels": cluster.selector(names.EXPORTER)},
            "podMetricsEndpoints": [{"port": each.port_name, **kept} for each in _PORTS],
        },
    }
    return desired(cluster, POD_MONITORS, cluster.names.pod_monitor, names.EXPORTER, body)


def _exporter(cluster: Cluster, container: NodeContainer) -> dict[str, Any]:
    server = cluster.names.rest_url(port(cluster.spec.slurm_nodes.rest.rest, names.SLURMRESTD))
    own: Manifest = {
        "ports": [found for each in _PORTS for found in containers.port(each, each.port)],
        "env": containers.env(_settings(cluster, server)),
        "securityContext": containers.app_armor(container.app_armor_profile),
    }
    arguments = [
        f"--cluster-namespace={cluster.names.namespace}",
        f"--cluster-name={cluster.name}",
        f"--slurm-api-server={server}",
        *container.args,
    ]
    return {**containers.daemon(container, names.EXPORTER, own), "args": arguments}


def _settings(cluster: Cluster, server: str) -> dict[str, str]:
    given = cluster.spec.slurm_nodes.exporter
    settings = {
        "CLUSTER_NAMESPACE": cluster.names.namespace,
        "CLUSTER_NAME": cluster.name,
        "SLURM_API_SERVER": server,
        "COLLECTION_INTERVAL": given.collection_interval,
    }
    if not cluster.is_1_22:
        settings |= {
            "MAX_COLLECTOR_INFLIGHT": str(given.max_collector_inflight),
            "JOB_SOURCE": given.job_source,
            "ACCOUNTING_JOBS_LOOKBACK": given.accounting_jobs_lookback,
        }
    return {_VARIABLE + name: value for name, value in settings.items()}


def _written(steps: Iterable[RelabelConfig]) -> list[Manifest]:
    return [step.model_dump(mode="json", by_alias=True, exclude_unset=True) for step in steps]
