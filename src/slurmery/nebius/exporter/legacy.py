"""The third-party exporter of before 1.22, which reads slurm.conf and talks munge; for those who kept it."""

from typing import Any, Final

from slurmery.api.nebius.exporter import LegacyExporter
from slurmery.kube.desired import Desired
from slurmery.kube.resources import DEPLOYMENTS
from slurmery.nebius import containers, names, pods, volumes
from slurmery.nebius.access import READ, Access, granted, rule
from slurmery.nebius.cluster import Cluster
from slurmery.nebius.errors import SpecError
from slurmery.nebius.objects import desired
from slurmery.nebius.pods import Part

_FIELD: Final = "slurmNodes.exporter"
_PORT: Final = names.EXPORTER_METRICS
_CONF: Final = f"{names.SLURM_CONFIGS_DIR}/{names.SLURM_CONF}"


def chosen(cluster: Cluster) -> bool:
    """Whether the spec wants it: by its image."""
    given = cluster.spec.slurm_nodes.exporter.exporter
    return given is not None and bool(given.image)


def access(cluster: Cluster) -> tuple[Desired, ...]:
    """ServiceAccount, Role and RoleBinding."""
    at = cluster.names
    rules = (rule("", ["secrets"], READ),)
    return granted(cluster, Access(names.EXPORTER, at.legacy_account, at.legacy_role, rules))


def deployment(cluster: Cluster) -> Desired:
    """The Deployment."""
    given, container = cluster.spec.slurm_nodes.exporter, _container(cluster)
    if given.munge is None:
        raise SpecError(f"{_FIELD}.munge is missing: the exporter of {_FIELD}.exporter talks munge")
    own = {
        "serviceAccountName": cluster.names.legacy_account,
        "initContainers": [*given.custom_init_containers, containers.munge(given.munge)],
        "containers": [_exporter(container)],
        "volumes": [
            volumes.munge_key(cluster),
            volumes.scratch(names.MUNGE_SOCKET),
            volumes.config_map(names.SLURM_CONFIGS, cluster.names.slurm_configs),
        ],
    }
    part = Part(names.EXPORTER, _FIELD, given, (container, given.munge))
    spec = {
        "replicas": cluster.replicas(1),
        "strategy": {"type": "Recreate"},
        "selector": {"matchLabels": cluster.selector(names.EXPORTER)},
        "template": pods.template(
            cluster.selector(names.EXPORTER),
            pods.annotations(cluster, names.EXPORTER, {}),
            pods.pod_spec(cluster, part, own),
        ),
    }
    return desired(cluster, DEPLOYMENTS, names.EXPORTER, names.EXPORTER, {"spec": spec})


def _container(cluster: Cluster) -> LegacyExporter:
    given = cluster.spec.slurm_nodes.exporter.exporter
    if given is None:
        raise SpecError(f"{_FIELD}.exporter is missing")
    if given.pod_template_name_ref:
        words = "PodTemplates are not merged: say it in exporter, customInitContainers and k8sNodeFilterName"
        raise SpecError(f"{_FIELD}.exporter.podTemplateNameRef: {words}")
    return given


def _exporter(container: LegacyExporter) -> dict[str, Any]:
    own = {
        "ports": containers.port(_PORT, _PORT.port),
        "env": containers.env({"SLURM_CONF": _CONF}),
        "securityContext": containers.app_armor(container.app_armor_profile),
        "volumeMounts": [volumes.MUNGE_SOCKET, volumes.SLURM_CONFIGS],
    }
    return containers.daemon(container, names.EXPORTER, own)
