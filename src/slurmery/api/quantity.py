"""Quantities as Kubernetes writes them: `500m`, `64Gi`, `1.5e3`."""

import re
from decimal import Decimal

_FORM = re.compile(r"([+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+))([KMGTPE]i|[numkMGTPE]|[eE][+-]?[0-9]+)?")
_SUFFIXES = {
    **{suffix: Decimal(10) ** (3 * power) for power, suffix in enumerate("num", start=-3)},
    **{suffix: Decimal(10) ** (3 * power) for power, suffix in enumerate("kMGTPE", start=1)},
    **{f"{suffix}i": Decimal(1024) ** power for power, suffix in enumerate("KMGTPE", start=1)},
}


def quantity(text: int | str) -> Decimal:
    """The number that a quantity stands for."""
    form = _FORM.fullmatch(str(text))
    if form is None:
        raise ValueError(f"{text!r} is not a quantity")
    number, suffix = form.groups()
    if suffix and suffix not in _SUFFIXES:
        return Decimal(number + suffix)
    return Decimal(number) * _SUFFIXES.get(suffix, Decimal(1))
