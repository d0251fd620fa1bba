"""What a batch script asks for in its #SBATCH lines: slurmrestd does not read them, sbatch does.

ScriptError   an option that we cannot pass on; leaving it out would make another check of it
"""

import re
import shlex
from collections.abc import Callable, Iterator
from typing import Any, Final

from slurmery.slurm.model import Number

_UNITS: Final = {"K": 1 / 1024, "M": 1, "": 1, "G": 1024, "T": 1024**2}
_SECONDS: Final = {"second": 1, "minute": 60, "hour": 3600, "day": 86400, "week": 604800, "": 1}


class ScriptError(ValueError):
    """The script asks for something that cannot be passed on."""


def options(script: str, now: float) -> dict[str, Any]:
    """The options as fields of a JobRequest. Raises ScriptError."""
    fields: dict[str, Any] = {}
    for name, text in _given(script):
        if name not in _READERS:
            raise ScriptError(f"the sbatch option {name} is not understood")
        field, read = _READERS[name]
        if field:
            try:
                fields[field] = _deadline(text, now) if field == "deadline" else read(text)
            except (ValueError, KeyError):
                raise ScriptError(f"the sbatch option {name} cannot be {text!r}") from None
    return fields


def _given(script: str) -> Iterator[tuple[str, str]]:
    for line in script.splitlines():
        if line.strip() and not line.startswith("#"):
            return  # sbatch, too, reads them only above the first command
        if not re.match(r"#SBATCH\s", line):
            continue
        words = shlex.split(line, comments=False)[1:]
        while words:
            name, equals, value = words.pop(0).partition("=")
            if not name.startswith("-"):
                break  # a remark
            if not name.startswith("--") and len(name) > 2:
                name, equals, value = name[:2], "=", name[2:] + equals + value
            if not equals and words and not words[0].startswith("-"):
                value = words.pop(0)
            yield name, value


def _minutes(text: str) -> Number:
    days, dash, rest = text.rpartition("-")
    parts = [int(part) for part in rest.split(":")]
    if dash:
        hours, minutes, seconds = [*parts, 0, 0][:3]
    elif len(parts) == 3:
        hours, minutes, seconds = parts
    else:
        hours, (minutes, seconds) = 0, [*parts, 0][:2]
    whole = int(days or 0) * 1440 + hours * 60 + minutes + (1 if seconds else 0)
    return Number(number=whole)


def _megabytes(text: str) -> Number:
    found = re.fullmatch(r"(\d+)([KMGT]?)B?", text.upper())
    if not found:
        raise ValueError(text)
    return Number(number=int(int(found[1]) * _UNITS[found[2]]))


def _deadline(text: str, now: float) -> int:
    found = re.fullmatch(r"now\+(\d+)([a-z]*?)s?", text)
    if not found:
        raise ValueError(text)
    return int(now) + int(found[1]) * _SECONDS[found[2]]


def _gres(text: str) -> str:
    return ",".join(f"gres/{part.removeprefix('gres/')}" for part in text.split(","))


_READERS: Final[dict[str, tuple[str, Callable[[str], Any]]]] = {
    **dict.fromkeys(("--time", "-t"), ("time_limit", _minutes)),
    **dict.fromkeys(("--nodes", "-N"), ("nodes", str)),
    **dict.fromkeys(("--ntasks", "-n"), ("tasks", int)),
    **dict.fromkeys(("--cpus-per-task", "-c"), ("cpus_per_task", int)),
    **dict.fromkeys(("--partition", "-p"), ("partition", str)),
    **dict.fromkeys(("--account", "-A"), ("account", str)),
    **dict.fromkeys(("--output", "-o"), ("standard_output", str)),
    **dict.fromkeys(("--error", "-e"), ("standard_error", str)),
    **dict.fromkeys(("--chdir", "-D"), ("current_working_directory", str)),
    "--ntasks-per-node": ("tasks_per_node", int),
    "--mem": ("memory_per_node", _megabytes),
    "--gres": ("tres_per_node", _gres),
    "--gpus-per-node": ("tres_per_node", lambda text: f"gres/gpu:{text}"),
    "--exclusive": ("shared", lambda text: (text or "none",)),
    "--reservation": ("reservation", str),
    "--deadline": ("deadline", str),
    **dict.fromkeys(("--array", "-a"), ("array", str)),
    "--requeue": ("requeue", lambda _: True),
    "--no-requeue": ("requeue", lambda _: False),
    # The check has a name and a mark of its own.
    **dict.fromkeys(("--job-name", "-J", "--comment"), ("", str)),
}
