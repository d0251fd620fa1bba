"""What the kinds of slurm.nebius.ai must satisfy beyond their schemas."""

from collections import Counter
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

from slurmery.admission.lookups import Answers
from slurmery.admission.references import found
from slurmery.admission.review import Object
from slurmery.api.quantity import quantity
from slurmery.api.validation import Problem

HIGH_SHARE, MAX_SHARE = Decimal("0.8"), Decimal("0.9")
PARENT_ANNOTATION = "slurm.nebius.ai/parental-cluster-ref"
_ISOLATION = "spec.slurmNodes.login.userIsolation"


def slurm_cluster(new: Object, _: Answers) -> Iterator[Problem]:
    spec = new.get("spec")
    if spec is None:
        return
    yield from _user_isolation(spec["slurmNodes"]["login"])
    yield from _two_kinds_of_workers(spec)
    yield from _volume_sources(spec)
    accounting = spec["slurmNodes"]["accounting"]
    if accounting.get("enabled") and not any(
        accounting.get(database, {}).get("enabled") for database in ("externalDB", "mariadbOperator")
    ):
        words = "needs a database: enable externalDB or mariadbOperator"
        yield Problem("spec.slurmNodes.accounting", words, warning=True)


def nodeset(new: Object, _: Answers) -> Iterator[Problem]:
    annotations = new["metadata"].get("annotations") or {}
    if not (new.get("spec") or {}).get("clusterName") and PARENT_ANNOTATION not in annotations:
        yield Problem("spec.clusterName", "without it, these nodes belong to no cluster", warning=True)


def _user_isolation(login: Object) -> Iterator[Problem]:
    """Each user's memory is less than sshd's, of which they have 80 and 90 % unless told otherwise."""
    isolation = login.get("userIsolation", {})
    if not isolation.get("enabled"):
        return
    given = {name: quantity(isolation[name]) for name in ("memoryHigh", "memoryMax") if name in isolation}
    for name, memory in given.items():
        if memory <= 0:
            yield Problem(f"{_ISOLATION}.{name}", "must be more than 0")
    limit = login["sshd"].get("resources", {}).get("memory")
    if limit is None:
        return
    whole = quantity(limit)
    for name, memory in given.items():
        if memory >= whole:
            yield Problem(f"{_ISOLATION}.{name}", f"must be less than the memory of sshd, {limit}")
    high, most = given.get("memoryHigh", whole * HIGH_SHARE), given.get("memoryMax", whole * MAX_SHARE)
    if len(given) == 1 and high > most:
        name, words = (
            ("memoryHigh", "at most 90 %") if "memoryHigh" in given else ("memoryMax", "at least 80 %")
        )
        yield Problem(
            f"{_ISOLATION}.{name}", f"must be {words} of the memory of sshd, {limit}, when given alone"
        )


def _two_kinds_of_workers(spec: Any) -> Iterator[Problem]:
    if spec["slurmNodes"].get("worker", {}).get("size", 0) > 0:
        for path, refs in found(spec, "partitionConfiguration.partitions[].nodeSetRefs"):
            if refs:
                yield Problem(path, "cannot be used together with slurmNodes.worker")


def _volume_sources(spec: Any) -> Iterator[Problem]:
    names = Counter(name for _, name in found(spec, "volumeSources[].name"))
    for name, times in names.items():
        if times > 1:
            yield Problem(
                "spec.volumeSources", f"{name} is there {times} times; the first is used", warning=True
            )
    if "jail" not in names:
        words = "there is none named jail, the shared root file system"
        yield Problem("spec.volumeSources", words, warning=True)
