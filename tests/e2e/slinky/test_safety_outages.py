"""Slurm that cannot be asked, and Slurm that forgot: pods are made and mended, none that may be busy goes.

What the operator knows counts for 30 s, its polls give up after 30 s and come every 10 s at most: three
quarters of a minute pass every timer that a longer outage would. The nastiest of them, a slurmrestd that
takes questions and answers none, lasts for three minutes all the same. What takes long begins before the
other tests, and is looked at after them.
"""

import re
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import Any

import pytest

from dev.cluster import Cluster
from dev.kubectl import Kubectl
from tests.e2e.slinky.lab import (
    Job,
    Slurm,
    controller,
    example,
    is_ready,
    manifest,
    nodeset,
    signal,
    slurm_cluster,
)

_UNKNOWN = "Slurm has not answered recently"
_OUTAGE_SECONDS = 45
_LONG_OUTAGE_SECONDS = 180
_BACK_SECONDS = 15
# "Within seconds", on a machine that is busy with other tests.
_MENDED_SECONDS = 10


@dataclass(frozen=True)
class Clusters:
    """Those that a story is told of. Each worker is idle."""

    short: Slurm
    long: Slurm
    forgetful: Slurm


@pytest.fixture(scope="module")
def clusters(installed: Kubectl) -> Iterator[Clusters]:
    """A NodeSet whose worker will be busy, and one that is free to be broken; all three come up at once."""
    around = (*example("ConfigMap", "RestApi"), controller())
    two = manifest(*around, nodeset("busy", 2), nodeset("spare"))
    one = manifest(*around, nodeset("busy", 2))
    with ExitStack() as stack:
        short, long, forgetful = (
            stack.enter_context(slurm_cluster(installed, name, objects))
            for name, objects in (("short", two), ("long", two), ("forgetful", one))
        )
        for slurm, names in ((short, ["spare-0"]), (long, ["spare-0"]), (forgetful, [])):
            slurm.wait("idle workers", partial(slurm.idle, "busy-0", "busy-1", *names))
        yield Clusters(short, long, forgetful)


def now() -> datetime:
    return datetime.now(UTC)


def moment(text: str) -> datetime:
    return datetime.fromisoformat(text).astimezone(UTC)


def version(slurm: Slurm, name: str) -> None:
    """Ask for other workers."""
    slurm.patch("nodeset", "busy", {"template": {"metadata": {"annotations": {"example.org/version": name}}}})


@dataclass(frozen=True)
class Ordeal:
    """A cluster with a job on busy-0, and what there was before Slurm fell silent."""

    slurm: Slurm
    job: Job
    before: dict[str, str]

    @classmethod
    def of(cls, slurm: Slurm, job: Job) -> "Ordeal":
        return cls(slurm, job, slurm.uids())

    def provoke(self, name: str) -> None:
        """All that could cost a worker, an update and a scale-in; and what must be done all the same."""
        slurm = self.slurm
        version(slurm, name)
        slurm.patch("nodeset", "busy", {"replicas": 1})
        asked = now()
        slurm.patch("nodeset", "spare", {"replicas": 2})
        slurm.wait("one is made", lambda: "spare-1" in slurm.uids("spare"))
        slurm.kubectl("delete", "pod", "spare-0", "--grace-period=1")
        broken = now()
        slurm.wait("one is mended", lambda: "spare-0" in slurm.uids("spare"))
        assert slurm.uids("spare")["spare-0"] != self.before["spare-0"]
        for pod, since in (("spare-1", asked), ("spare-0", broken)):
            born = moment(slurm.workers("spare")[pod]["metadata"]["creationTimestamp"])
            assert (born - since).total_seconds() < _MENDED_SECONDS, slurm.situation()
        slurm.wait(
            "it says that it knows nothing", lambda: _UNKNOWN in slurm.condition("Progressing", "busy")
        )

    def passes(self, began: float, seconds: float) -> None:
        """Nobody has gone by the end of the outage."""
        slurm = self.slurm
        slurm.wait("the outage lasts", lambda: time.monotonic() > began + seconds)
        assert slurm.uids("busy") == {name: self.before[name] for name in ("busy-0", "busy-1")}
        assert self.job.alive(), slurm.situation()

    def goes_on(self, back: datetime) -> None:
        """What had to wait for Slurm is done, soon after it is back: the worker to be scaled in drains."""
        slurm = self.slurm
        slurm.wait("it drains", lambda: drained(slurm, "busy-1", back) is not None)
        took = drained(slurm, "busy-1", back)
        assert took is not None
        assert took < _BACK_SECONDS, slurm.situation()
        slurm.wait("it goes", lambda: "busy-1" not in slurm.uids("busy"))
        slurm.wait("it knows of the job", lambda: "running jobs" in slurm.condition("Progressing", "busy"))
        assert slurm.uids("busy") == {"busy-0": self.before["busy-0"]}


def drained(slurm: Slurm, node: str, since: datetime) -> float | None:
    """After how many seconds slurmctld took the first drain of a node from us, by its own log."""
    # Its log has no zone, which is that of its pod: UTC.
    told = re.findall(
        rf"\[(\S+)\] update_node: node {node} state set to DRAIN",
        slurm.kubectl("logs", "slurm-controller-0", "-c", "slurmctld"),
    )
    after = [(moment(f"{when}+00:00") - since).total_seconds() for when in told]
    return next((seconds for seconds in after if seconds > -1), None)


def restd(slurm: Slurm) -> list[Any]:
    found: list[Any] = slurm.get("pods", "-l", "app.kubernetes.io/name=slurmrestd")["items"]
    return found


def returned(slurm: Slurm) -> datetime:
    """When slurmrestd was ready again, by Kubernetes."""
    slurm.wait("slurmrestd is back", lambda: any(is_ready(pod) for pod in restd(slurm)))
    (pod,) = restd(slurm)
    conditions = {each["type"]: each for each in pod["status"]["conditions"]}
    return moment(conditions["Ready"]["lastTransitionTime"])


@contextmanager
def scaled_to_zero(slurm: Slurm) -> Iterator[None]:
    slurm.patch("restapi", "slurm", {"replicas": 0})
    slurm.wait("no slurmrestd", lambda: not restd(slurm))
    yield
    slurm.patch("restapi", "slurm", {"replicas": 1})


@contextmanager
def no_restapi(slurm: Slurm) -> Iterator[None]:
    slurm.kubectl("delete", "restapi", "slurm")
    slurm.wait("no slurmrestd", lambda: not restd(slurm))
    yield
    slurm.apply(*example("RestApi"))


@pytest.fixture(scope="module")
def job(clusters: Clusters) -> Job:
    return clusters.short.hold("busy-0", "busy")


@pytest.fixture(scope="module", autouse=True)
def hung(clusters: Clusters, cluster: Cluster) -> tuple[Ordeal, float]:
    """slurmrestd takes connections and answers none; and since when."""
    slurm = clusters.long
    ordeal = Ordeal.of(slurm, slurm.hold("busy-0", "busy"))
    (pod,) = restd(slurm)
    signal(cluster, pod, "SIGSTOP")
    began = time.monotonic()
    ordeal.provoke("hung")
    return ordeal, began


@pytest.fixture(scope="module", autouse=True)
def forgotten(clusters: Clusters, cluster: Cluster) -> Slurm:
    """A cluster whose slurmctld knew of a job and two workers, which it should update now."""
    slurm = clusters.forgetful
    job, before = slurm.hold("busy-0", "busy"), slurm.uids()
    slurm.run("sh", "-c", "rm -rf /var/spool/slurmctld/example/*")
    signal(cluster, slurm.get("pod", "slurm-controller-0"), "SIGKILL")
    slurm.wait("slurmctld knows no job", lambda: not slurm.run("squeue", "-h"))
    version(slurm, "2")
    slurm.wait("the update waits", lambda: "Slurm does not know it" in slurm.condition("Progressing", "busy"))
    assert slurm.uids() == before, slurm.situation()
    assert job.alive(), slurm.situation()
    return slurm


Outage = Callable[[Slurm], AbstractContextManager[None]]


@pytest.mark.parametrize("outage", [scaled_to_zero, no_restapi])
def test_without_slurmrestd_pods_are_made_and_mended_and_no_busy_one_goes(
    clusters: Clusters, job: Job, outage: Outage
) -> None:
    slurm = clusters.short
    ordeal = Ordeal.of(slurm, job)
    with outage(slurm):
        began = time.monotonic()
        ordeal.provoke(outage.__name__)
        ordeal.passes(began, _OUTAGE_SECONDS)
    ordeal.goes_on(returned(slurm))

    slurm.patch("nodeset", "busy", {"replicas": 2, "template": None})
    slurm.patch("nodeset", "spare", {"replicas": 1})
    slurm.wait(
        "all is as before", lambda: slurm.idle("busy-1", "spare-0") and slurm.states()["busy-0"] == "mixed"
    )
    assert slurm.uids("busy")["busy-0"] == ordeal.before["busy-0"]


def test_a_slurmrestd_that_hangs_for_three_minutes_costs_no_busy_pod(
    hung: tuple[Ordeal, float], cluster: Cluster
) -> None:
    ordeal, began = hung
    ordeal.passes(began, _LONG_OUTAGE_SECONDS)
    (pod,) = restd(ordeal.slurm)
    signal(cluster, pod, "SIGCONT")
    ordeal.goes_on(now())


def test_a_slurmctld_that_lost_its_state_costs_no_pod_and_no_process(forgotten: Slurm) -> None:
    """It was lost before the outages, and slurmd notices after two minutes."""
    slurm = forgotten
    slurm.wait(
        "the workers are back and then updated", lambda: up_to_date(slurm) and slurm.idle("busy-0", "busy-1")
    )


def up_to_date(slurm: Slurm) -> bool:
    return all("example.org/version" in pod["metadata"]["annotations"] for pod in slurm.workers().values())
