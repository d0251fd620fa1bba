"""The objects of a NodeSet around its pods. The pods are in `pod`.

The StatefulSet replaces no pod by itself: pods are taken away one by one, when no job runs on them.
"""

from collections.abc import Collection, Mapping
from typing import Any, Final

from slurmery.kube.desired import Desired, Policy
from slurmery.kube.resources import STATEFUL_SETS
from slurmery.nebius import names, pods, sets
from slurmery.nebius.access import Access, granted
from slurmery.nebius.cluster import Cluster, Workers
from slurmery.nebius.configmaps.build import security_limits
from slurmery.nebius.directory import configuration
from slurmery.nebius.kinds import POWER_STATES
from slurmery.nebius.nodeset import pod
from slurmery.nebius.objects import named, service_ports
from slurmery.nebius.objects import service as a_service

_DAEMON: Final = names.SLURMD
_SLURM_AWARE: Final = "slurmAwareRollingUpdate"


def umbrella_service(cluster: Cluster) -> Desired:
    """The Service that gives every worker of every NodeSet a DNS name, ready or not."""
    spec = {
        "clusterIP": "None",
        "publishNotReadyAddresses": True,
        "ports": service_ports(_DAEMON, _DAEMON.port),
    }
    return a_service(cluster, cluster.names.nodeset_service, names.NODESET, spec)


def service(cluster: Cluster, nodeset: Workers) -> Desired:
    """The Service of one NodeSet."""
    spec = {
        "clusterIP": "None",
        "selector": selector(cluster, nodeset),
        "ports": service_ports(_DAEMON, nodeset.spec.slurmd.port),
    }
    return a_service(cluster, cluster.names.nodeset_service_of(nodeset.name), names.NODESET, spec)


def limits(cluster: Cluster, nodeset: Workers) -> Desired:
    """limits.conf of the workers."""
    return security_limits(
        cluster,
        names.NODESET,
        nodeset.spec.slurmd.security.limits_config,
        cluster.names.nodeset_limits(nodeset.name),
    )


def directory(cluster: Cluster, nodeset: Workers) -> tuple[Desired, ...]:
    """sssd.conf of the workers, where they have sssd and the spec names none."""
    made = cluster.names.sssd_conf(cluster.names.nodeset_limits(nodeset.name))
    return configuration(cluster, nodeset.spec.sssd is not None, nodeset.spec, names.NODESET, made)


def access(cluster: Cluster, nodeset: Workers, ordinals: Collection[int]) -> tuple[Desired, ...]:
    """ServiceAccount, Role and RoleBinding: a worker may mark itself and its like, and nothing else."""
    rule = {
        "apiGroups": [""],
        "resources": ["pods"],
        "resourceNames": [f"{nodeset.name}-{ordinal}" for ordinal in sorted(ordinals)],
        "verbs": ["get", "patch"],
    }
    at = cluster.names
    # Without a name the rule would be for every pod.
    rules = (rule,) if ordinals else ()
    rights = Access(names.NODESET, at.nodeset_account(nodeset.name), at.nodeset_role(nodeset.name), rules)
    return granted(cluster, rights)


def power_state(cluster: Cluster, nodeset: Workers) -> Desired | None:
    """Which ephemeral nodes are on; made once, then it is the power manager's."""
    if not nodeset.spec.ephemeral_nodes:
        return None
    initial = min(nodeset.spec.initial_number_ephemeral_nodes, nodeset.spec.replicas)
    body = {
        "metadata": {"labels": {names.NODESET_LABEL: nodeset.name}},
        "spec": {"nodeSetRef": nodeset.name, "activeNodes": list(range(initial))},
    }
    manifest = named(cluster, POWER_STATES, nodeset.name, names.NODESET, body)
    return Desired(POWER_STATES, manifest, Policy.CREATE_ONCE)


def stateful_set(cluster: Cluster, nodeset: Workers, replicas: int, versions: Mapping[str, str]) -> Desired:
    """The worker pods; how many is decided elsewhere, since a busy one is not taken away.

    `versions` are hashes of what the pods read only when they start, by object.
    """
    given, storage = nodeset.spec, pod.storage(cluster, nodeset)
    own = _labels(nodeset)
    annotations = {**pods.annotations(cluster, _DAEMON.name, versions), **given.worker_annotations}
    retention = given.slurmd.volumes.persistent_volume_claim_retention_policy
    spec: dict[str, Any] = {
        "replicas": replicas,
        # The one of all NodeSets: Slurm looks for nodes there.
        "serviceName": cluster.names.nodeset_service,
        "podManagementPolicy": "Parallel",
        "updateStrategy": {"type": "OnDelete"},
        "persistentVolumeClaimRetentionPolicy": {
            "whenDeleted": retention.when_deleted,
            "whenScaled": retention.when_scaled,
        },
        "selector": {"matchLabels": selector(cluster, nodeset)},
        "template": pods.template(
            {**cluster.labels(names.NODESET), **own}, annotations, pod.pod_spec(cluster, nodeset, storage)
        ),
    }
    if storage.claims:
        spec["volumeClaimTemplates"] = list(storage.claims)
    notes = {"annotations": sets.STAYING} if cluster.sets == sets.KRUISE else {}
    body = {"metadata": {"labels": own, **notes}, "spec": spec}
    manifest = named(cluster, STATEFUL_SETS, nodeset.name, names.NODESET, body)
    return sets.stateful_set(cluster.sets, manifest, sets.kept(given.max_unavailable))


def reserved(active: Collection[int]) -> tuple[int, ...]:
    """The ordinals that are off below the highest that is on."""
    return tuple(ordinal for ordinal in range(max(active, default=0)) if ordinal not in active)


def selector(cluster: Cluster, nodeset: Workers) -> dict[str, str]:
    """The labels by which the pods of a NodeSet are selected."""
    return {**cluster.selector(names.NODESET), names.NODESET_LABEL: nodeset.name}


def _labels(nodeset: Workers) -> dict[str, str]:
    labels = {names.NODESET_LABEL: nodeset.name, names.WORKER_LABEL: "true"}
    aware = nodeset.spec.update_strategy == _SLURM_AWARE
    return {**labels, names.ROLLING_UPDATE_LABEL: "true"} if aware else labels
