"""What is still healthy: limits from a JSON file, each with a default that fits any data-centre GPU.

None is "not judged". The file is an object whose keys are the fields below; one that is unknown or of the
wrong type is an error that names it.
"""

import difflib
import json
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

# XIDs that a user's program can cause on a sound GPU.
_OF_PROGRAMS = (13, 31, 43, 45, 68)
# Bits of NVML's reasons for a clock below what was asked for.
THROTTLING = {
    "sw_power_cap": 0x4,
    "hw_slowdown": 0x8,
    "sw_thermal": 0x20,
    "hw_thermal": 0x40,
    "hw_power_brake": 0x80,
}


class ThresholdError(ValueError):
    """The file does not say what it must; the text says where."""


@dataclass(frozen=True)
class Thresholds:
    """See docs/gpu-health.md for each."""

    expected_devices: int | None = None
    ignored_xids: tuple[int, ...] = _OF_PROGRAMS
    xid_seconds: float = 86_400.0
    max_uncorrected_errors: int | None = 0
    max_uncorrected_errors_ever: int | None = None
    max_remapped_rows: int | None = None
    max_temperature: int | None = None
    throttling: tuple[str, ...] = ("hw_slowdown", "hw_thermal", "hw_power_brake")
    min_active_links: int | None = None
    max_link_errors: int | None = 1000
    min_pcie_width: int | None = None
    max_memory_used_percent: float | None = None
    min_power_limit_watts: float | None = None
    trial: bool = True
    min_tera_operations: float | None = None
    min_memory_gigabytes: float | None = None
    min_host_gigabytes: float | None = None


def parse(text: str) -> Thresholds:
    """Thresholds from JSON."""
    try:
        given = json.loads(text)
    except ValueError as error:
        raise ThresholdError(f"not JSON: {error}") from None
    if not isinstance(given, dict):
        raise ThresholdError("a JSON object is wanted")
    known = {each.name: each.default for each in fields(Thresholds)}
    return Thresholds(**{name: _value(name, value, known) for name, value in given.items()})


def _value(name: str, value: Any, known: Mapping[str, Any]) -> Any:
    if name not in known:
        near = difflib.get_close_matches(name, known, 1)
        raise ThresholdError(f"{name}: unknown" + (f"; did you mean {near[0]}?" if near else ""))
    default = known[name]
    if isinstance(default, tuple):
        return _list(name, value, type(default[0]))
    if isinstance(default, bool) or isinstance(value, bool):
        if not (isinstance(default, bool) and isinstance(value, bool)):
            raise ThresholdError(f"{name}: {json.dumps(value)} does not fit")
        return value
    if value is None and default is not None and name == "xid_seconds":
        raise ThresholdError(f"{name}: a number is wanted")
    if value is not None and (not isinstance(value, int | float) or value < 0):
        raise ThresholdError(f"{name}: a number of 0 or more, or null, is wanted")
    return value


def _list(name: str, value: Any, of: type) -> tuple[Any, ...]:
    if not isinstance(value, list) or not all(type(each) is of for each in value):
        raise ThresholdError(f"{name}: a list of {'numbers' if of is int else 'names'} is wanted")
    if of is str and (strange := set(value) - THROTTLING.keys()):
        raise ThresholdError(f"{name}: no such reason {min(strange)}; there are {', '.join(THROTTLING)}")
    return tuple(value)
