"""GPUs: four places must agree before Slurm gives one to a job.

    pod limits          nvidia.com/gpu: 8             what Kubernetes gives the pod
    NodeSet extraConf   Gres=gpu:8                    what slurmd says that it has
    slurm.conf          GresTypes=gpu                 what Slurm keeps count of
    gres.conf           AutoDetect=nvidia, or File=   how slurmd finds the devices

Where extraConf says nothing, `derived` takes the number from the limits, but only if the other two are there:
a node that claims GPUs it cannot find is refused by slurmctld. What slurm.conf and gres.conf do not say, the
Controller writes, from `kinds` and `detection`. `problems` says what is amiss, in sentences.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from slurmery.api.quantity import quantity
from slurmery.doors.conditions import Problem

GPU = "gpu"
MISMATCH = "GresMismatch"

# nvidia.com/gpu, amd.com/gpu, nvidia.com/gpu.shared, nvidia.com/mig-1g.10gb, gpu.intel.com/i915
_GPU_RESOURCE = re.compile(r"[^/]+/(gpu(\.shared)?|mig-.+)|gpu\.intel\.com/(i915|xe)")
_DETECTORS = {"nvidia.com": "nvidia", "amd.com": "rsmi", "gpu.intel.com": "oneapi"}
_COUNT = re.compile(r"([0-9]+)([kKmMgG]?)")
_UNITS = {"": 1, "k": 1024, "m": 1024**2, "g": 1024**3}
_WORD = re.compile(r'([A-Za-z]+)\s*=\s*("[^"]*"|\S+)')


@dataclass(frozen=True)
class Places:
    """What each place says; `conf` is None where there is no gres.conf."""

    limits: Mapping[str, Any]
    given: str = ""
    types: frozenset[str] = field(default_factory=frozenset)
    conf: str | None = None
    # Privileged pods see all devices, and resource claims may bring some: then limits need not name them.
    devices_beyond_limits: bool = False


def derived(places: Places) -> str:
    """The Gres to register with when the user names none; empty if there is none or it would not work."""
    count = limited_gpus(places.limits)
    usable = GPU in places.types and _finds(places.conf, GPU)
    return f"{GPU}:{count}" if count and usable and not places.given else ""


def problems(places: Places) -> tuple[Problem, ...]:
    """One sentence for each disagreement."""
    given = counts(places.given)
    wanted = sorted({*given, *([GPU] if limited_gpus(places.limits) else [])})
    sentences = [
        sentence
        for name in wanted
        for sentence in (_not_counted(name, places), _not_found(name, places))
        if sentence
    ]
    sentences += [sentence for sentence in [_other_number(given, places)] if sentence]
    return tuple(Problem(MISMATCH, sentence) for sentence in sentences)


def kinds(limits: Mapping[str, Any], given: str) -> frozenset[str]:
    """What Slurm must keep count of."""
    return frozenset({*counts(given), *([GPU] if limited_gpus(limits) else [])})


def makers(limits: Iterable[Mapping[str, Any]]) -> list[str]:
    """Whose GPUs the limits give, of those that slurmd can find by itself."""
    named = {name.partition("/")[0] for each in limits if limited_gpus(each) for name in each}
    return sorted(named & _DETECTORS.keys())


def detection(limits: Iterable[Mapping[str, Any]]) -> str | None:
    """The gres.conf by which slurmd finds all GPUs of the limits; None unless all are of one maker."""
    found = makers(limits)
    return f"AutoDetect={_DETECTORS[found[0]]}\n" if len(found) == 1 else None


def counts(gres: str) -> dict[str, int]:
    """How many of each: `gpu:h200:4(S:0-1),gpu:a100:2,nic` gives gpu 6 and nic 1."""
    found: dict[str, int] = {}
    sockets = re.compile(r"\([^)]*\)")
    for item in filter(None, sockets.sub("", gres).split(",")):
        name, *rest = item.split(":", 1)
        number = _COUNT.fullmatch(rest[0].rpartition(":")[2]) if rest else None
        amount = int(number[1]) * _UNITS[number[2].lower()] if number else 1
        found[name] = found.get(name, 0) + amount
    return found


def limited_gpus(limits: Mapping[str, Any]) -> int:
    """How many GPUs, or parts of GPUs, Kubernetes gives the pod."""
    return sum(int(quantity(amount)) for name, amount in limits.items() if _GPU_RESOURCE.fullmatch(name))


def _source(name: str, places: Places) -> str:
    if name in counts(places.given):
        return f"extraConf says Gres={places.given}"
    return f"the pods' limits give them {limited_gpus(places.limits)} GPUs"


def _not_counted(name: str, places: Places) -> str:
    if name in places.types:
        return ""
    said = ",".join(sorted(places.types)) or "nothing"
    return (
        f"GRES: {_source(name, places)}, but GresTypes in slurm.conf says {said}:"
        f" add GresTypes={','.join(sorted({*places.types, name}))} to the Controller's extraConf."
    )


def _not_found(name: str, places: Places) -> str:
    if _finds(places.conf, name):
        return ""
    has = (
        "there is no gres.conf"
        if places.conf is None
        else f"gres.conf does not tell slurmd how to find {name}"
    )
    way = "AutoDetect, or Name=gpu with File," if name == GPU else f"Name={name}"
    return f"GRES: {_source(name, places)}, but {has}: put {way} into a gres.conf that configFileRefs names."


def _other_number(given: Mapping[str, int], places: Places) -> str:
    claimed, limited = given.get(GPU, 0), limited_gpus(places.limits)
    if not claimed or claimed == limited or (not limited and places.devices_beyond_limits):
        return ""
    return f"GRES: extraConf says Gres={places.given}, but the pods' limits give them {limited} GPUs."


def _finds(conf: str | None, name: str) -> bool:
    """Whether gres.conf tells slurmd how to find a kind of device. A GPU needs a file, others only a name."""
    for line in (conf or "").splitlines():
        words = {key.lower(): text.strip('"') for key, text in _WORD.findall(line.partition("#")[0])}
        if name == GPU and words.get("autodetect", "off").lower() != "off":
            return True
        if words.get("name") == name and (name != GPU or words.keys() & {"file", "multiplefiles"}):
            return True
    return False
