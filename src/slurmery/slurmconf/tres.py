"""Trackable resources: `cpu=2,mem=7812.50G,billing=2,gres/gpu=8,gres/gpu:h200=8` in one string, and back.

Suffixes are powers of 1024 in either case; memory without a suffix is bytes. Resources that Slurmery does not
account for (energy, licences, burst buffers) are passed over. GPUs that Slurm does not track are found only
among generic resources, which are written otherwise: `gpu:h200:8(S:0-1)`, `gres/gpu:8`.
"""

import re
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache

_NUMBER = re.compile(r"(?P<number>[0-9]{1,20}(?:\.[0-9]{1,20})?)(?P<unit>[KMGTPE]?)", re.IGNORECASE)
_UNITS = {unit: 1024**power for power, unit in enumerate(["", "K", "M", "G", "T", "P", "E"])}
_SOCKETS = re.compile(r"\([^)]*\)")
# A type has something but digits in it; without a count it is one.
_GPUS = re.compile(r"(?:gres[/:])?gpu(?:[:=][^:=]*[^:=0-9][^:=]*)?(?:[:=](?P<count>[0-9]{1,9}))?")
_COUNTED = frozenset({"cpu", "mem", "node", "billing"})


class TresError(ValueError):
    """The text is not a list of trackable resources."""


@dataclass(frozen=True, slots=True)
class Tres:
    """Amounts by resource; `gres` holds Slurm's own names without `gres/`: `gpu`, `gpu:h200`."""

    cpu: int = 0
    memory: int = 0
    node: int = 0
    billing: int = 0
    gres: tuple[tuple[str, int], ...] = ()

    @property
    def gpus(self) -> int:
        """All GPUs of whatever type: Slurm may print the total, the types, or both."""
        return dict(self.gres).get("gpu") or sum(self.gpu_types.values())

    @property
    def gpu_types(self) -> dict[str, int]:
        """GPUs by type, as far as Slurm tracks types."""
        return {name.removeprefix("gpu:"): count for name, count in self.gres if name.startswith("gpu:")}

    def __str__(self) -> str:
        amounts = {"cpu": str(self.cpu), "mem": _memory(self.memory), "node": str(self.node)}
        amounts |= {"billing": str(self.billing)} | {f"gres/{name}": str(n) for name, n in self.gres}
        return ",".join(f"{name}={amount}" for name, amount in amounts.items() if amount != "0")


@lru_cache(maxsize=4096)
def parse(text: str) -> Tres:
    """Read what Slurm prints; the answers repeat themselves, so they are remembered."""
    amounts: dict[str, int] = {}
    gres: dict[str, int] = {}
    for pair in filter(None, text.strip().split(",")):
        name, equals, value = pair.partition("=")
        if not equals:
            raise TresError(f"not name=amount: {pair[:80]!r}")
        if name in _COUNTED:
            amounts["memory" if name == "mem" else name] = _amount(pair, value)
        elif name.startswith("gres/"):
            gres[name.removeprefix("gres/")] = _amount(pair, value)
    return Tres(**amounts, gres=tuple(gres.items()))


@lru_cache(maxsize=4096)
def gpus(gres: str) -> int:
    """How many GPUs of whatever type are among generic resources, as a node has or a job asks for them."""
    found = map(_GPUS.fullmatch, _SOCKETS.sub("", gres).split(","))
    return sum(int(match["count"] or 1) for match in found if match)


def _amount(pair: str, value: str) -> int:
    match = _NUMBER.fullmatch(value)
    if match is None:
        raise TresError(f"not an amount: {pair[:80]!r}")
    return int(Decimal(match["number"]) * _UNITS[match["unit"].upper()])


def _memory(amount: int) -> str:
    for unit, size in reversed(_UNITS.items()):
        if amount and amount % size == 0:
            return f"{amount // size}{unit}"
    return "0"
