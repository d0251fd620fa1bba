"""Manifests of slurm.nebius.ai as people write them: both generations are read, and every fault is named."""

import json
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
import yaml

from slurmery.api.kinds import find
from slurmery.api.nebius import ActiveCheck, NodeConfigurator, NodeSet, SlurmCluster
from slurmery.api.validation import validate

DATA = Path(__file__).parents[2] / "data" / "nebius"
Manifest = dict[str, Any]


def manifests(version: str) -> list[Manifest]:
    return list(yaml.safe_load_all((DATA / f"soperator-{version}.yaml").read_text()))


def named(version: str, kind: str, name: str = "") -> Manifest:
    return next(
        found
        for found in manifests(version)
        if found["kind"] == kind and name in ("", found["metadata"]["name"])
    )


EVERY = [
    pytest.param(manifest, id=f"{version}-{manifest['kind']}-{manifest['metadata']['name']}")
    for version in ("1.22", "5.0")
    for manifest in manifests(version)
]
DROPPED = {
    "spec.pause",
    "spec.telemetry",
    "spec.volumeSources[0].createPVC",
    "spec.volumeSources[0].storageClassName",
    "spec.volumeSources[0].size",
    "spec.volumeSources[2].createPVC",
}


@pytest.mark.parametrize("manifest", EVERY)
def test_a_manifest_of_either_generation_has_no_problem(manifest: Manifest) -> None:
    problems = validate(manifest)

    assert [str(problem) for problem in problems if not problem.warning] == []
    assert {problem.path for problem in problems} == (
        DROPPED if manifest["metadata"]["name"] == "aurora" else set()
    )


@pytest.mark.parametrize("manifest", EVERY)
def test_what_was_written_is_what_is_read(manifest: Manifest) -> None:
    kind = find(manifest["apiVersion"], manifest["kind"])
    assert kind is not None
    read = kind.model_validate(manifest)
    written = deepcopy(manifest["spec"])
    if manifest["metadata"]["name"] == "aurora":
        del written["pause"], written["telemetry"]
        fill_in_what_1_22_does(written)

    again = json.loads(read.model_dump_json(by_alias=True, exclude_unset=True))

    assert again["spec"] == written


def fill_in_what_1_22_does(spec: Manifest) -> None:
    spec["slurmConfig"] |= {"defMemPerNode": 1048576, "minJobAge": 28800}
    spec["plugStackConfig"]["ncclDebug"]["outputDirectory"] = "/opt/soperator-outputs/nccl_logs"
    spec["sConfigController"]["reconfigureWaitTimeout"] = "1m"
    spec["slurmNodes"]["accounting"]["slurmConfig"]["jobAcctGatherType"] = "jobacct_gather/cgroup"


def cluster(manifest: Manifest) -> Any:
    return SlurmCluster.model_validate(manifest).spec


def without(manifest: Manifest, *path: str) -> Manifest:
    part = manifest["spec"]
    for step in path[:-1]:
        part = part[step]
    part.pop(path[-1], None)
    return manifest


@pytest.mark.parametrize(
    ("version", "expected"),
    [
        ("1.22", (1048576, 28800, "1m", "jobacct_gather/cgroup", "/opt/soperator-outputs/nccl_logs")),
        ("5.0", (0, 1800, "5m", "jobacct_gather/none", "/opt/soperator-outputs/local/nccl_logs")),
    ],
)
def test_each_generation_gets_its_own_defaults(version: str, expected: tuple[object, ...]) -> None:
    manifest = named(version, "SlurmCluster")
    for path in (("slurmConfig",), ("plugStackConfig",), ("slurmNodes", "accounting", "slurmConfig")):
        without(manifest, *path)
    spec = cluster(manifest)

    assert spec.has_own_workers == (version == "1.22")
    assert (
        spec.slurm_config.def_mem_per_node,
        spec.slurm_config.min_job_age,
        spec.s_config_controller.reconfigure_wait_timeout,
        spec.slurm_nodes.accounting.slurm_config.job_acct_gather_type,
        spec.plug_stack_config.nccl_debug.output_directory,
    ) == expected


def test_defaults_of_a_generation_do_not_win_over_what_was_given() -> None:
    manifest = named("1.22", "SlurmCluster")
    manifest["spec"]["slurmConfig"]["defMemPerNode"] = 0

    assert cluster(manifest).slurm_config.def_mem_per_node == 0


def test_a_cluster_without_a_config_writer_does_not_get_one_from_defaults() -> None:
    manifest = without(named("1.22", "SlurmCluster"), "sConfigController")

    assert cluster(manifest).s_config_controller is None


def test_a_volume_source_is_read_without_what_charts_write_beside_it() -> None:
    jail = cluster(named("1.22", "SlurmCluster")).volume_sources[0]

    assert (jail.name, jail.source) == (
        "jail",
        {"persistentVolumeClaim": {"claimName": "jail-pvc", "readOnly": False}},
    )


@pytest.mark.parametrize(
    ("reactions", "drain", "comment"),
    [
        ({"reactions": {"setCondition": True, "drainSlurmNode": True}}, "[node_problem]", None),
        ({"reactions": {"drainSlurmNode": True}}, "Soperator activecheck unknown", None),
        ({"reactions": {"setCondition": True, "commentSlurmNode": True}}, None, "[node_problem]"),
        ({"reactions": {}}, None, None),
        ({}, None, None),
        (
            {
                "reactions": {"drainSlurmNode": True},
                "failureReactions": {"commentSlurmNode": {"commentPrefix": "[x]"}},
            },
            None,
            "[x]",
        ),
    ],
)
def test_reactions_of_either_generation_read_alike(
    reactions: Manifest, drain: str | None, comment: str | None
) -> None:
    spec = {"name": "a", "slurmClusterRefName": "b", **reactions}
    read = ActiveCheck.model_validate({"spec": spec}).spec
    assert read is not None
    found = read.on_failure

    assert (found.drain_slurm_node and found.drain_slurm_node.drain_reason_prefix) == drain
    assert (found.comment_slurm_node and found.comment_slurm_node.comment_prefix) == comment


@pytest.mark.parametrize(
    ("given", "name"),
    [
        ({"nodeConfigurator": {"enabled": False, "name": "old"}}, "old"),
        ({"customContainer": {"enabled": True, "name": "new"}}, "new"),
        ({"nodeConfigurator": {"enabled": True}, "customContainer": {"enabled": True, "name": "new"}}, "new"),
    ],
)
def test_the_container_of_a_node_configurator_is_read_under_either_name(given: Manifest, name: str) -> None:
    read = NodeConfigurator.model_validate({"spec": given}).spec
    assert read is not None

    assert read.custom is not None
    assert read.custom.name == name


@pytest.mark.parametrize(("version", "features"), [("1.22", ("a100", "rack1")), ("5.0", ("h200",))])
def test_features_of_a_node_set_are_read_under_either_name(version: str, features: tuple[str, ...]) -> None:
    read = NodeSet.model_validate(named(version, "NodeSet")).spec
    assert read is not None

    assert read.features == features


@pytest.mark.parametrize("kind", ["NodeSet", "ActiveCheck", "NodeConfigurator", "NodeSetPowerState"])
def test_a_null_spec_is_no_spec(kind: str) -> None:
    manifest = {
        "apiVersion": "slurm.nebius.ai/v1alpha1",
        "kind": kind,
        "metadata": {"name": "a"},
        "spec": None,
    }
    model = find("slurm.nebius.ai/v1alpha1", kind)
    assert model is not None

    assert validate(manifest) == []
    assert model.model_validate(manifest).model_dump()["spec"] is None


def test_every_fault_is_named_at_once_with_its_path() -> None:
    manifest = named("1.22", "SlurmCluster")
    spec = manifest["spec"]
    spec["clusterType"] = "tpu"
    spec["k8sNodeFilters"].append({"name": "gpu"})
    spec["volumeSources"].append({"name": "both", "emptyDir": {}, "hostPath": {"path": "/"}})
    spec["volumeSources"].append({"name": "neither"})
    del spec["secrets"]
    spec["partitionConfiguration"]["rawConfig"].append("NodeName=worker-0")
    spec["sConfigController"]["reconfigurePollInterval"] = "5m"
    spec["healthCheckConfig"]["healthCheckNodeState"] = []
    nodes = spec["slurmNodes"]
    nodes["controller"]["k8sNodeFilterName"] = "storage"
    nodes["controller"]["volumes"]["spool"] = {"volumeSourceName": "spool"}
    nodes["controller"]["customInitContainers"][0]["resources"] = "many"
    nodes["worker"]["size"] = "8"
    nodes["worker"]["volumes"]["jail"] = {}
    nodes["worker"]["volumes"]["jailSubMounts"][0]["volumeSourceName"] = "jail"
    nodes["worker"]["volumes"]["customMounts"][0]["volumeSourceName"] = "scripts"
    nodes["login"]["sshdServiceNodePort"] = 22
    nodes["login"]["munge"]["image"] = None
    nodes["rest"]["threadCount"] = 1
    nodes["accounting"]["slurmConfig"]["accountingStorageTRES"] = "CPU,GPU"

    assert {problem.path for problem in validate(manifest) if not problem.warning} == {
        "spec.clusterType",
        "spec.k8sNodeFilters",
        "spec.volumeSources[4]",
        "spec.volumeSources[5]",
        "spec.secrets",
        "spec.partitionConfiguration.rawConfig",
        "spec.sConfigController.reconfigureWaitTimeout",
        "spec.healthCheckConfig.healthCheckNodeState",
        "spec.slurmNodes.controller.k8sNodeFilterName",
        "spec.slurmNodes.controller.volumes.spool.volumeSourceName",
        "spec.slurmNodes.controller.customInitContainers[0].resources",
        "spec.slurmNodes.worker.size",
        "spec.slurmNodes.worker.volumes.jail",
        "spec.slurmNodes.worker.volumes.jailSubMounts[0]",
        "spec.slurmNodes.worker.volumes.customMounts",
        "spec.slurmNodes.login.sshdServiceNodePort",
        "spec.slurmNodes.login.munge.image",
        "spec.slurmNodes.rest.threadCount",
        "spec.slurmNodes.accounting.slurmConfig.accountingStorageTRES",
    }
