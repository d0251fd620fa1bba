from typing import Any

import pytest

from slurmery.slinky.nodeset.gres import Places, counts, derived, limited_gpus, problems

EIGHT = {"nvidia.com/gpu": "8", "cpu": "64"}
TYPES = frozenset({"gpu"})
FOUND = "AutoDetect=nvidia\n"


def places(**given: Any) -> Places:
    return Places(**{"limits": EIGHT, "types": TYPES, "conf": FOUND, **given})


@pytest.mark.parametrize(
    ("limits", "number"),
    [
        ({}, 0),
        ({"cpu": 4, "memory": "1Gi", "example.com/nic": 2}, 0),
        ({"nvidia.com/gpu": 8}, 8),
        ({"amd.com/gpu": "2"}, 2),
        ({"nvidia.com/mig-1g.10gb": 2, "nvidia.com/mig-3g.40gb": 1}, 3),
        ({"gpu.intel.com/i915": 1}, 1),
        ({"nvidia.com/gpu.shared": 4}, 4),
        ({"slurmery.example/gpu": 2}, 2),
    ],
)
def test_gpus_are_counted_in_the_limits(limits: dict[str, Any], number: int) -> None:
    assert limited_gpus(limits) == number


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", {}),
        ("gpu", {"gpu": 1}),
        ("gpu:8", {"gpu": 8}),
        ("gpu:h200:8", {"gpu": 8}),
        ("gpu:h200:4(S:0-1),gpu:a100:2,nic:2", {"gpu": 6, "nic": 2}),
        ("bandwidth:4K", {"bandwidth": 4096}),
        ("gpu:h200", {"gpu": 1}),
        ("gpu:8(S:0,1)", {"gpu": 8}),
    ],
)
def test_a_gres_tells_how_many_of_each(text: str, found: dict[str, int]) -> None:
    assert counts(text) == found


@pytest.mark.parametrize(
    ("given", "gres"),
    [
        (places(), "gpu:8"),
        (places(conf="Name=gpu Type=h200 File=/dev/nvidia[0-7]"), "gpu:8"),
        (places(given="gpu:h200:8"), ""),
        (places(limits={}), ""),
        (places(types=frozenset()), ""),
        (places(conf=None), ""),
        (places(conf="AutoDetect=off"), ""),
        (places(conf="Name=gpu Count=8"), ""),
        (places(conf="# AutoDetect=nvidia"), ""),
    ],
)
def test_gres_come_from_the_limits_if_slurm_could_find_them(given: Places, gres: str) -> None:
    assert derived(given) == gres


@pytest.mark.parametrize(
    "given",
    [
        places(),
        places(given="gpu:8"),
        places(given="gpu:h200:8"),
        places(limits={}, types=frozenset(), conf=None),
        places(limits={}, given="gpu:4", devices_beyond_limits=True),
        places(limits={}, given="nic:2", types=frozenset({"nic"}), conf="NodeName=n[0-9] Name=nic Count=2"),
    ],
)
def test_places_that_agree_are_not_complained_about(given: Places) -> None:
    assert problems(given) == ()


NOT_COUNTED = "but GresTypes in slurm.conf says {}: add GresTypes=gpu,nic to the Controller's extraConf."
REMEDY = "put {} into a gres.conf that configFileRefs names."
NO_FILE = f"but there is no gres.conf: {REMEDY.format('AutoDetect, or Name=gpu with File,')}"
NOT_FOUND = f"but gres.conf does not tell slurmd how to find {{}}: {REMEDY}"
LIMITS = "GRES: the pods' limits give them 8 GPUs,"


@pytest.mark.parametrize(
    ("given", "sentences"),
    [
        (places(types=frozenset({"nic"})), [f"{LIMITS} {NOT_COUNTED.format('nic')}"]),
        (places(conf=None), [f"{LIMITS} {NO_FILE}"]),
        (
            places(conf="AutoDetect=off", given="gpu:8"),
            [
                "GRES: extraConf says Gres=gpu:8, "
                + NOT_FOUND.format("gpu", "AutoDetect, or Name=gpu with File,")
            ],
        ),
        (
            places(given="gpu:h200:4"),
            ["GRES: extraConf says Gres=gpu:h200:4, but the pods' limits give them 8 GPUs."],
        ),
        (
            places(given="gpu:4", limits={}),
            ["GRES: extraConf says Gres=gpu:4, but the pods' limits give them 0 GPUs."],
        ),
        (
            places(limits={}, given="nic:2"),
            [
                f"GRES: extraConf says Gres=nic:2, {NOT_COUNTED.format('gpu')}",
                f"GRES: extraConf says Gres=nic:2, {NOT_FOUND.format('nic', 'Name=nic')}",
            ],
        ),
    ],
    ids=["GresTypes", "no gres.conf", "gres.conf", "another number", "no limits", "other devices"],
)
def test_a_sentence_says_which_places_disagree(given: Places, sentences: list[str]) -> None:
    assert [each.message for each in problems(given)] == sentences
    assert {each.reason for each in problems(given)} == {"GresMismatch"}
