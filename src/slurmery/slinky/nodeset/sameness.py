"""Does a revision that is there already say what the spec says? Then its hash is ours, and no pod is old.

Upstream's operator hashes the text that Go makes of a spec, which cannot be had without Go's types: it writes
out what nobody set, turns `8` into `"8"` and `0.5` into `500m`, and leaves out `false` and `0`. So its
revisions are compared by what they mean. In our own, `false` and `0` are words like any other.
"""

from collections.abc import Mapping
from typing import Any, Final

from slurmery.api.quantity import quantity
from slurmery.doors.merge import unset
from slurmery.slinky.nodeset.revision import CHART_LABELS

_NOISE: Final = frozenset({"$patch", "creationTimestamp"})
# Of these, an empty value is a value.
_TEXTS: Final = frozenset({"annotations", "labels", "nodeSelector"})
_AMOUNTS: Final = frozenset({"limits", "requests", "sizeLimit", "divisor"})


def same(one: Any, other: Any, *, exact: bool) -> bool:
    """Whether two revisions' data mean the same; unless `exact`, `false` and `0` mean what is not said."""
    return bool(_meaning(one, exact) == _meaning(other, exact))


def _meaning(value: Any, exact: bool) -> Any:
    if isinstance(value, Mapping):
        parts = {name: _part(name, part, exact) for name, part in value.items() if name not in _NOISE}
        return {name: part for name, part in parts.items() if not _silent(part, exact)}
    if isinstance(value, list | tuple):
        return [_meaning(each, exact) for each in value]
    return value


def _part(name: str, part: Any, exact: bool) -> Any:
    if name in _TEXTS and isinstance(part, Mapping):
        return sorted((key, text) for key, text in part.items() if key not in CHART_LABELS)
    if name in _AMOUNTS:
        return _amounts(part)
    return _meaning(part, exact)


def _amounts(part: Any) -> Any:
    if isinstance(part, Mapping):
        return {name: _amounts(each) for name, each in part.items()}
    try:
        return quantity(str(part))
    except ValueError:
        return part


def _silent(part: Any, exact: bool) -> bool:
    return unset(part) or (not exact and part in (False, 0))
