"""A check as checks.json describes it."""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

CONTEXTS = ("prolog", "epilog", "hc_program")
_CHOICES = {"on_fail": ("none", "drain", "comment"), "on_ok": ("none", "undrain", "uncomment")}


class CheckError(ValueError):
    """An entry does not say what it must; the text says where."""


class Check(NamedTuple):
    """One command, where and when it runs, and what follows from how it ends."""

    name: str
    command: str
    platforms: tuple[str, ...] = ("any",)
    skip_for_cpu_jobs: bool = False
    skip_for_partial_gpu_jobs: bool = False
    contexts: tuple[str, ...] = ("any",)
    node_states: tuple[str, ...] = ("any",)
    on_fail: str = "none"
    on_ok: str = "none"
    reason_base: str = ""
    reason_append_details: bool = False
    run_in_jail: bool = False
    log: str = ""
    need_env: tuple[str, ...] = ()
    timeout: float = 60.0

    @property
    def base(self) -> str:
        """What its drain reasons begin with, and by which it knows its own."""
        return self.reason_base or f"[node_problem] {self.name}"


def checks(entries: Any) -> tuple[list[Check], list[str]]:
    """The checks of a file's content, and a sentence for every entry that is none: the others still run."""
    if not isinstance(entries, list):
        return [], ["checks.json: a list is wanted"]
    good, bad = [], []
    for number, entry in enumerate(entries):
        try:
            good.append(_check(entry))
        except CheckError as error:
            bad.append(f"checks.json, entry {number}: {error}")
    return good, bad


def _check(entry: Any) -> Check:
    if not isinstance(entry, dict):
        raise CheckError("an object is wanted")
    if unknown := set(entry) - set(Check._fields):
        raise CheckError(f"unknown field {min(unknown)}")
    values = {name: _value(name, value) for name, value in entry.items()}
    for name in ("name", "command"):
        if not values.get(name):
            raise CheckError(f"{name} is missing")
    return Check(**values)


def _value(name: str, value: Any) -> Any:
    default = Check._field_defaults.get(name, "")
    if isinstance(default, tuple):
        return _words(name, value)
    if isinstance(default, bool):
        return _typed(name, value, bool, "true or false")
    if isinstance(default, float):
        return float(_typed(name, value, (int, float), "a number"))
    _typed(name, value, str, "a text")
    if name in _CHOICES and value not in _CHOICES[name]:
        raise CheckError(f"{name}: one of {', '.join(_CHOICES[name])} is wanted, not {value}")
    return value


def _typed(name: str, value: Any, kind: Any, words: str) -> Any:
    if not isinstance(value, kind) or (kind is not bool and isinstance(value, bool)):
        raise CheckError(f"{name}: {words} is wanted")
    return value


def _words(name: str, value: Any) -> tuple[str, ...]:
    words = [value] if isinstance(value, str) else value
    if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
        raise CheckError(f"{name}: a text or a list of texts is wanted")
    return tuple(words)


class Job(NamedTuple):
    """The job that a prolog or epilog runs for: `gpus` of the node's `of` GPUs are its own."""

    gpus: int
    of: int
    comment: str = ""


class Scene(NamedTuple):
    """Where the checks run: context, platform tags, the node's state flags, the job if there is one."""

    context: str
    platforms: frozenset[str]
    states: frozenset[str]
    environment: Mapping[str, str]
    job: Job | None = None


def applies(check: Check, scene: Scene) -> bool:
    """Whether a check is to run here and now."""
    return (
        ("any" in check.contexts or scene.context in check.contexts)
        and ("any" in check.platforms or bool(scene.platforms.intersection(check.platforms)))
        and ("any" in check.node_states or bool(_lower(scene.states) & set(check.node_states)))
        and all(name in scene.environment for name in check.need_env)
        and not _spared(check, scene.job)
    )


def _spared(check: Check, job: Job | None) -> bool:
    if job is None:
        return False
    if "skip_checks" in job.comment:
        return True
    return (check.skip_for_cpu_jobs and job.gpus == 0) or (
        check.skip_for_partial_gpu_jobs and 0 < job.gpus < job.of
    )


def _lower(words: Iterable[str]) -> set[str]:
    return {word.lower() for word in words}
