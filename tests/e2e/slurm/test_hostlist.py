"""Hostlists mean what they mean to the scontrol of both releases."""

import random

from slurmery.slurmconf.hostlist import compress, expand
from tests.e2e.slurm.lab import Lab

COUNT = 200


def ranges(chance: random.Random) -> str:
    width = chance.choice([1, 2, 3])
    first = chance.randrange(10**width)
    last = first + chance.randrange(1, 12)
    return f"{first:0{width}d}" if chance.random() < 0.4 else f"{first:0{width}d}-{last:0{width}d}"


def name(chance: random.Random) -> str:
    text = chance.choice(["n", "rack", "gpu-", "a1b", "x"])
    for _ in range(chance.choice([0, 1, 1, 1, 2])):
        text += "[" + ",".join(ranges(chance) for _ in range(chance.randint(1, 3))) + "]"
        text += chance.choice(["", "", "m", "-ib"])
    return text


def ask(lab: Lab, mode: str, lists: list[str]) -> list[list[str]]:
    script = "".join(f"echo @; scontrol show {mode} '{text}'\n" for text in lists)
    return [part.split() for part in lab.run("sh", "-c", script).split("@")[1:]]


def test_expanding_and_compressing_agree_with_scontrol(lab: Lab) -> None:
    chance = random.Random(2605)
    lists = [",".join(name(chance) for _ in range(chance.randint(1, 3))) for _ in range(COUNT)]
    assert [list(expand(text)) for text in lists] == ask(lab, "hostnames", lists)
    hosts = [expand(text)[:60] for text in lists]
    assert [[compress(some)] for some in hosts] == ask(lab, "hostlist", [",".join(some) for some in hosts])
