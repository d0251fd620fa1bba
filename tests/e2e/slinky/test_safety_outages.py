"""Slurm that cannot be asked, and Slurm that forgot: pods are made and mended, none that may be busy goes.

Outages last for three minutes, and a slurmd notices after two that slurmctld does not know it any longer. So
each has a cluster of its own, and all begin before the first test.
"""

import re
import time
from collections.abc import Iterator
from contextlib import ExitStack
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
_OUTAGE_SECONDS = 180
_BACK_SECONDS = 15
# "Within seconds", on a machine that is busy with other tests.
_MENDED_SECONDS = 10


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
    began: float

    def provoke(self) -> None:
        """All that could cost a worker, an update and a scale-in; and what must be done all the same."""
        slurm = self.slurm
        version(slurm, "2")
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

    def lasts(self) -> None:
        """Nobody has gone by the end of the outage."""
        slurm = self.slurm
        slurm.wait("the outage lasts", lambda: time.monotonic() > self.began + _OUTAGE_SECONDS)
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


def none_left(slurm: Slurm) -> None:
    slurm.wait("no slurmrestd", lambda: not restd(slurm))


def returned(slurm: Slurm) -> datetime:
    """When slurmrestd was ready again, by Kubernetes."""
    slurm.wait("slurmrestd is back", lambda: any(is_ready(pod) for pod in restd(slurm)))
    (pod,) = restd(slurm)
    conditions = {each["type"]: each for each in pod["status"]["conditions"]}
    return moment(conditions["Ready"]["lastTransitionTime"])


class Down:
    """It is scaled to zero."""

    def begin(self, slurm: Slurm, _: Cluster) -> None:
        slurm.patch("restapi", "slurm", {"replicas": 0})
        none_left(slurm)

    def end(self, slurm: Slurm, _: Cluster) -> datetime:
        slurm.patch("restapi", "slurm", {"replicas": 1})
        return returned(slurm)


class Hung:
    """It takes connections and answers none."""

    def begin(self, slurm: Slurm, cluster: Cluster) -> None:
        signal(cluster, restd(slurm)[0], "SIGSTOP")

    def end(self, slurm: Slurm, cluster: Cluster) -> datetime:
        signal(cluster, restd(slurm)[0], "SIGCONT")
        return now()


class Absent:
    """There is no RestApi at all."""

    def begin(self, slurm: Slurm, _: Cluster) -> None:
        slurm.kubectl("delete", "restapi", "slurm")
        none_left(slurm)

    def end(self, slurm: Slurm, _: Cluster) -> datetime:
        slurm.apply(*example("RestApi"))
        return returned(slurm)


Outage = Down | Hung | Absent
OUTAGES: dict[str, Outage] = {"down": Down(), "hung": Hung(), "absent": Absent()}


@pytest.fixture(scope="module")
def clusters(installed: Kubectl) -> Iterator[dict[str, Slurm]]:
    """Each with a NodeSet whose worker will be busy and one that is free to be broken. All are idle."""
    around = (*example("ConfigMap", "RestApi"), controller())
    objects = manifest(*around, nodeset("busy", 2), nodeset("spare"))
    with ExitStack() as stack:
        made = {
            name: stack.enter_context(slurm_cluster(installed, name, objects))
            for name in (*OUTAGES, "forgetful")
        }
        for slurm in made.values():
            slurm.wait("idle workers", partial(slurm.idle, "busy-0", "busy-1", "spare-0"))
        yield made


@pytest.fixture(scope="module", autouse=True)
def forgotten(clusters: dict[str, Slurm], cluster: Cluster) -> Slurm:
    """A cluster whose slurmctld knew of a job and of workers, two of which it should update now."""
    slurm = clusters["forgetful"]
    job, before = slurm.hold("busy-0", "busy"), slurm.uids()
    slurm.run("sh", "-c", "rm -rf /var/spool/slurmctld/example/*")
    signal(cluster, slurm.get("pod", "slurm-controller-0"), "SIGKILL")
    slurm.wait("slurmctld knows no job", lambda: not slurm.run("squeue", "-h"))
    version(slurm, "2")
    slurm.wait("the update waits", lambda: "Slurm does not know it" in slurm.condition("Progressing", "busy"))
    assert slurm.uids() == before, slurm.situation()
    assert job.alive(), slurm.situation()
    return slurm


@pytest.fixture(scope="module", autouse=True)
def ordeals(clusters: dict[str, Slurm], cluster: Cluster) -> dict[str, Ordeal]:
    """The clusters whose slurmrestd cannot be asked any longer."""
    begun: dict[str, Ordeal] = {}
    for name, outage in OUTAGES.items():
        slurm = clusters[name]
        job, before = slurm.hold("busy-0", "busy"), slurm.uids()
        outage.begin(slurm, cluster)
        begun[name] = Ordeal(slurm, job, before, time.monotonic())
    return begun


@pytest.mark.parametrize("name", OUTAGES)
def test_without_slurmrestd_pods_are_made_and_mended(ordeals: dict[str, Ordeal], name: str) -> None:
    ordeals[name].provoke()


@pytest.mark.parametrize("name", OUTAGES)
def test_after_three_minutes_without_slurmrestd_no_busy_pod_is_gone_and_work_goes_on_soon(
    ordeals: dict[str, Ordeal], cluster: Cluster, name: str
) -> None:
    ordeal = ordeals[name]
    ordeal.lasts()
    ordeal.goes_on(OUTAGES[name].end(ordeal.slurm, cluster))


def test_a_slurmctld_that_lost_its_state_costs_no_pod_and_no_process(forgotten: Slurm) -> None:
    slurm = forgotten
    slurm.wait(
        "the workers are back and then updated", lambda: up_to_date(slurm) and slurm.idle("busy-0", "busy-1")
    )


def up_to_date(slurm: Slurm) -> bool:
    pods = slurm.workers("busy").values()
    return all("example.org/version" in pod["metadata"]["annotations"] for pod in pods)
