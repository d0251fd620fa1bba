"""GPUs without guesswork: what the NodeSets' limits say reaches slurm.conf and gres.conf."""

from typing import Any

import pytest

from slurmery.api.slinky import NodeSet
from slurmery.slinky.controller.config import config
from slurmery.slinky.controller.decide import decide
from slurmery.slinky.nodeset import slurmd
from slurmery.slinky.nodeset.observed import Observed as NodeSetWorld
from slurmery.slurmconf import text
from tests.unit.slinky.clusters import controller, nodeset, world


def gpus(number: int = 8, name: str = "nvidia.com/gpu", **spec: Any) -> NodeSet:
    container = {"image": "slurmd", "resources": {"limits": {name: number}}}
    return nodeset(name.partition(".")[0], slurmd=container, **spec)


def types(extra_conf: str = "", **observed: Any) -> str | None:
    files = config(controller(extraConf=extra_conf), world(**observed)).files
    return text.settings(files["slurm.conf"]).get("grestypes")


def test_gpus_of_the_limits_are_counted_found_and_registered() -> None:
    files = config(controller(), world(nodesets=(gpus(),))).files
    assert "GresTypes=gpu" in files["slurm.conf"].splitlines()
    assert files["gres.conf"] == "AutoDetect=nvidia\n"
    container = slurmd.container(gpus(), NodeSetWorld(controller=controller()))
    assert "Gres=gpu:8" in container["args"][-1]
    assert not slurmd.problems(gpus(), NodeSetWorld(controller=controller()))


def test_without_gpus_nothing_is_said() -> None:
    files = config(controller(), world(nodesets=(nodeset("cpu"),))).files
    assert "GresTypes" not in files["slurm.conf"]
    assert "gres.conf" not in files


def test_other_devices_of_extra_conf_are_counted_and_types_never_shrink() -> None:
    assert types(nodesets=(nodeset("a", extraConf="Gres=nic:2"), gpus())) == "gpu,nic"
    assert types(slurm_conf="GresTypes=gpu\n") == "gpu"


def test_what_the_user_says_stands() -> None:
    assert types("GresTypes=gpu,craynetwork", nodesets=(gpus(),)) == "gpu,craynetwork"
    spec = {"configFileRefs": [{"name": "files"}]}
    observed = world(nodesets=(gpus(),), config_maps={"files": {"gres.conf": "AutoDetect=nvml"}})
    assert "gres.conf" not in config(controller(**spec), observed).files


@pytest.mark.parametrize(
    ("spec", "gres_conf", "nodesets", "words"),
    [
        ({"extraConf": "GresTypes=nic"}, None, (gpus(),), "NodeSet nvidia: GRES: the pods' limits"),
        ({}, "AutoDetect=off", (gpus(),), "gres.conf does not tell slurmd how to find gpu"),
        ({}, None, (gpus(), gpus(name="amd.com/gpu")), "GPUs of amd.com, nvidia.com"),
        ({}, None, (gpus(extraConf="Gres=gpu:4"),), "extraConf says Gres=gpu:4, but the pods' limits"),
        ({}, None, (gpus(name="slurmery.example/gpu"),), "there is no gres.conf"),
    ],
    ids=["GresTypes", "gres.conf", "several makers", "numbers", "nobody knows how to find them"],
)
def test_disagreements_are_named(
    spec: dict[str, Any], gres_conf: str | None, nodesets: tuple[NodeSet, ...], words: str
) -> None:
    files = {"files": {"gres.conf": gres_conf}} if gres_conf else {"files": {}}
    observed = world(nodesets=nodesets, config_maps=files)
    plan = decide(controller(configFileRefs=[{"name": "files"}], **spec), observed)
    [said] = [each for each in plan.conditions if each.type == "Degraded"]
    assert said.reason == "GresMismatch"
    assert words in said.message


def test_a_nodeset_of_the_wrong_shape_holds_up_no_other() -> None:
    odd = nodeset("odd", slurmd={"resources": {"limits": {"nvidia.com/gpu": [8]}}})
    assert types(nodesets=(odd, gpus())) == "gpu"
