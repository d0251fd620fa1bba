"""Verdicts on the kinds of slurm.nebius.ai beyond their schemas."""

from typing import Any

import pytest

from slurmery.admission.review import Object, Verdict
from tests.unit.admission.reviews import BY_PATH, creation, everything, judged, manifest


def cluster(nodes: dict[str, Any], **spec: Any) -> Verdict:
    hook = BY_PATH["/validate-slurm-nebius-ai-v1-slurmcluster"]
    container = {"image": "i"}
    node = {"k8sNodeFilterName": "f", "munge": container}
    volume = {"volumeSourceName": "jail"}
    login = {
        **node,
        "sshd": container,
        "sshdServiceType": "LoadBalancer",
        "sshRootPublicKeys": [],
        "volumes": {"jail": volume},
    }
    controller = {**node, "slurmctld": container, "volumes": {"jail": volume, "spool": volume}}
    slurm_nodes = {"login": login, "controller": controller} | {
        name: {"k8sNodeFilterName": "f"} for name in ("accounting", "exporter", "rest")
    }
    whole = {
        "populateJail": {"image": "i", "k8sNodeFilterName": "f"},
        "k8sNodeFilters": [{"name": "f"}],
        "volumeSources": [{"name": "jail", "emptyDir": {}}],
        "secrets": {},
        "slurmNodes": {name: {**part, **nodes.get(name, {})} for name, part in slurm_nodes.items()},
        **spec,
    }
    return judged(hook, creation(manifest("SlurmCluster", whole, version="slurm.nebius.ai/v1")), everything)


def test_a_plain_cluster_is_taken_in_silence() -> None:
    assert cluster({}) == Verdict.on([])


def isolation(memory: str | None, **limits: Any) -> Verdict:
    sshd = {"image": "i", "resources": {"memory": memory} if memory else {}}
    return cluster({"login": {"sshd": sshd, "userIsolation": {"enabled": True, **limits}}})


@pytest.mark.parametrize(
    ("memory", "limits", "faulty"),
    [
        ("9Gi", {}, []),
        ("9Gi", {"memoryMax": "8Gi"}, []),
        ("9Gi", {"memoryHigh": "8Gi"}, []),
        ("9Gi", {"memoryMax": "7Gi"}, ["memoryMax"]),
        ("9Gi", {"memoryHigh": "8500Mi"}, ["memoryHigh"]),
        ("9Gi", {"memoryMax": "9Gi"}, ["memoryMax"]),
        ("9Gi", {"memoryHigh": "10Gi", "memoryMax": "11Gi"}, ["memoryHigh", "memoryMax"]),
        ("9Gi", {"memoryHigh": -1, "memoryMax": "8Gi"}, ["memoryHigh"]),
        (None, {"memoryHigh": 0}, ["memoryHigh"]),
        (None, {"memoryHigh": "100Gi"}, []),
        ("9Gi", {"memoryHigh": "10Gi", "enabled": False}, []),
    ],
)
def test_users_get_less_memory_than_there_is(
    memory: str | None, limits: dict[str, Any], faulty: list[str]
) -> None:
    paths = [problem.path.rpartition(".")[2] for problem in isolation(memory, **limits).problems]
    assert sorted(set(paths)) == faulty


def test_what_a_cluster_lacks_is_warned_of() -> None:
    verdict = cluster(
        {"accounting": {"enabled": True}},
        volumeSources=[{"name": name, "emptyDir": {}} for name in ("jail", "jail")],
    )
    assert verdict.allowed
    assert [warning.partition(":")[0] for warning in verdict.warnings] == [
        "spec.volumeSources",
        "spec.slurmNodes.accounting",
    ]


def test_nodes_of_no_cluster_are_warned_of() -> None:
    hook = BY_PATH["/validate-slurm-nebius-ai-v1alpha1-nodeset"]
    nodeset = manifest("NodeSet", None, version="slurm.nebius.ai/v1alpha1")
    adopted: Object = {
        **nodeset,
        "metadata": {"name": "x", "annotations": {"slurm.nebius.ai/parental-cluster-ref": "c"}},
    }

    assert judged(hook, creation(nodeset)).warnings
    assert not judged(hook, creation(adopted)).warnings
