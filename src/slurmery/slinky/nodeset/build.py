"""The objects around the workers. Two of them serve all NodeSets of a cluster, and belong to all of them.

Service slurm-workers-<controller>       lets every pod of the cluster find a worker by its host name
PDB slurm-workers-pdb-<controller>       keeps others from evicting workers that run jobs
ConfigMap <nodeset>-ssh-config           sshd_config, if one may log in to workers
"""

from collections.abc import Sequence
from typing import Any, Final

from slurmery.api.slinky import NodeSet
from slurmery.api.slinky.shared import Labelled
from slurmery.doors.merge import merge_metadata
from slurmery.slinky import names
from slurmery.slinky.nodeset.template import sshd_config

# More pods than there can be: no busy worker may be evicted. `maxUnavailable: 0` would be counted against
# spec.replicas, so that evictions were allowed while scaling in, and of daemon pods.
_EVERY_ONE: Final = 2**31 - 1


def worker_service(nodesets: Sequence[NodeSet]) -> dict[str, Any]:
    """The headless Service of all workers of a cluster, given all its NodeSets."""
    controller = nodesets[0].spec.controller_ref.name
    port = {
        "name": names.SLURMD.name,
        "port": names.SLURMD.port,
        "targetPort": names.SLURMD.name,
        "protocol": "TCP",
    }
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": _shared(names.workers(controller), nodesets),
        "spec": {
            "clusterIP": "None",
            "publishNotReadyAddresses": True,
            "ports": [port],
            "selector": names.cluster_worker_selector(controller),
        },
    }


def worker_pdb(nodesets: Sequence[NodeSet]) -> dict[str, Any]:
    """The budget that protects every worker with the label for busy ones, given all NodeSets of a cluster."""
    controller = nodesets[0].spec.controller_ref.name
    protected = {names.POD_PROTECT_LABEL: "true", names.CLUSTER_LABEL: controller}
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": _shared(names.workers_pdb(controller), nodesets),
        "spec": {"minAvailable": _EVERY_ONE, "selector": {"matchLabels": protected}},
    }


def ssh_config(nodeset: NodeSet) -> dict[str, Any]:
    """The ConfigMap with sshd_config."""
    name, controller = nodeset.metadata.name, nodeset.spec.controller_ref.name
    operator = Labelled(labels=names.worker_labels(name, controller))
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {
            "name": names.ssh_config(name),
            "namespace": nodeset.metadata.namespace,
            **merge_metadata(nodeset.metadata, operator),
        },
        "data": {names.SSHD_CONFIG: sshd_config(nodeset)},
    }


def _shared(name: str, nodesets: Sequence[NodeSet]) -> dict[str, Any]:
    return {
        "name": name,
        "namespace": nodesets[0].metadata.namespace,
        "ownerReferences": [
            {
                "apiVersion": nodeset.place.api_version,
                "kind": nodeset.place.kind,
                "name": nodeset.metadata.name,
                "uid": nodeset.metadata.uid,
                "blockOwnerDeletion": True,
            }
            for nodeset in sorted(nodesets, key=lambda each: each.metadata.name)
        ],
    }
