"""What a NodeSet keeps in order in Slurm, and on its pods, beside its workers' lives."""

import asyncio
import time
from datetime import UTC, datetime
from typing import Any

import pytest

from slurmery.kube.meta import Key
from slurmery.kube.resources import EVENTS, NODES
from slurmery.slinky import names
from slurmery.slinky.kinds import NODE_SETS

from .stage import Operator, Stage, until

pytestmark = pytest.mark.usefixtures("operator")

RESERVATION = "SlurmOperatorMaint-gpu"


def scheduled(start: float) -> dict[str, Any]:
    when = datetime.fromtimestamp(start, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return {"type": "ScheduledUpdate", "scheduledUpdate": {"startTime": when, "duration": "30m"}}


async def started(stage: Stage, *workers: str, **spec: Any) -> dict[str, Any]:
    await stage.cluster()
    await stage.nodeset(len(workers), **spec)
    pods = await stage.there(*workers)
    await stage.run(*workers)
    await stage.says("Ready", "True")
    return pods


async def finalizers(stage: Stage) -> list[str]:
    found = await stage.get(NODE_SETS, "gpu") or {"metadata": {}}
    return list(found["metadata"].get("finalizers", ()))


async def test_a_reservation_is_made_kept_and_removed(stage: Stage, operator: Operator) -> None:
    start = int(time.time()) + 600
    await started(stage, "gpu-0", "gpu-1", updateStrategy=scheduled(start))
    await stage.says("ReservationCreated", "True", "holds 2 nodes")

    made = stage.slurm.reservations[RESERVATION]
    assert (made["start_time"], made["node_list"], made["users"]) == (start, "gpu-[0-1]", "slurm")
    assert made["flags"] == ["IGNORE_JOBS", "MAINT", "SPEC_NODES"]
    assert names.RESERVATION_FINALIZER in await finalizers(stage)

    async def told() -> bool:
        events = (await stage.client.list(EVENTS, stage.namespace)).items
        return "ReservationCreated" in {each["reason"] for each in events}

    await until(told)
    stage.slurm.writes.clear()
    await operator.kill()
    operator.start()
    await asyncio.sleep(4)
    assert stage.slurm.writes == []

    await stage.change(updateStrategy={"type": "OnDelete"})

    async def released() -> bool:
        return names.RESERVATION_FINALIZER not in await finalizers(stage)

    await until(released)
    assert stage.slurm.reservations == {}


async def test_workers_are_replaced_inside_of_the_reservation_alone(stage: Stage) -> None:
    before = await started(stage, "gpu-0", updateStrategy=scheduled(time.time() + 600))
    await stage.says("ReservationCreated", "True")
    await stage.change(extraConf="Weight=5")
    await stage.says("Progressing", "True")
    await asyncio.sleep(2)
    assert not stage.slurm.drained("gpu-0")

    stage.slurm.says("gpu-0", "IDLE", "MAINTENANCE", reservation=RESERVATION)

    async def replaced() -> bool:
        pod = (await stage.pods()).get("gpu-0")
        return pod is not None and pod["metadata"]["uid"] != before["gpu-0"]["metadata"]["uid"]

    await until(replaced)


async def test_a_worker_still_busy_when_the_reservation_ends_is_given_back(stage: Stage) -> None:
    await started(stage, "gpu-0", updateStrategy=scheduled(time.time() + 600))
    stage.slurm.says("gpu-0", "ALLOCATED", "MAINTENANCE", reservation=RESERVATION)
    await stage.change(extraConf="Weight=5")
    await stage.says("Progressing", "True", "update waits: it has running jobs")
    assert stage.slurm.drained("gpu-0")

    reason = stage.slurm.reason("gpu-0")
    stage.slurm.says("gpu-0", "ALLOCATED", "DRAIN", reason=reason, reservation="")

    async def given_back() -> bool:
        return not stage.slurm.drained("gpu-0")

    await until(given_back)


async def test_a_nodeset_waits_for_slurm_to_drop_its_reservation(stage: Stage) -> None:
    await started(stage, "gpu-0", updateStrategy=scheduled(time.time() + 600))
    await stage.says("ReservationCreated", "True")
    stage.slurm.silent = True
    await stage.says("Degraded", "True", "Slurm gives no answer")
    await stage.delete_pod("gpu-0")
    await stage.delete(NODE_SETS, "gpu")
    await stage.says("Degraded", "True", "whether the maintenance reservation is gone")
    assert RESERVATION in stage.slurm.reservations

    stage.slurm.silent = False

    async def gone() -> bool:
        return await stage.get(NODE_SETS, "gpu") is None

    await until(gone, 90)  # a Slurm that was silent is asked less and less often
    assert stage.slurm.reservations == {}


async def test_a_worker_is_known_to_slurm_by_its_pod_and_by_what_its_node_says(
    stage: Stage, operator: Operator
) -> None:
    good = await stage.host("good", topology="tree:s1", features="ib, fast")
    bad = await stage.host("bad", topology="bad:s9", features="slow")
    await stage.cluster()
    await stage.nodeset(2)
    await stage.there("gpu-0", "gpu-1")
    await stage.bind("gpu-0", good)
    await stage.bind("gpu-1", bad)
    await stage.run("gpu-0", "gpu-1")

    async def told() -> bool:
        records = [stage.slurm.nodes[name] for name in ("gpu-0", "gpu-1")]
        return all("features" in each and "comment" in each for each in records)

    await until(told)
    refused = await stage.says("Degraded", "True", "Requested topology configuration is not available")
    assert "gpu-1" in refused["message"]
    first, second = stage.slurm.nodes["gpu-0"], stage.slurm.nodes["gpu-1"]
    assert (first["topology"], first["features"]) == ("tree:s1", ["k8s/fast", "k8s/ib"])
    assert ("topology" in second, second["features"]) == (False, ["k8s/slow"])
    assert f'"podName":"gpu-0","node":"{good}"' in first["comment"]
    pods = await stage.pods()
    assert pods["gpu-0"]["metadata"]["annotations"][names.TOPOLOGY_SPEC] == "tree:s1"

    await asyncio.sleep(3)
    stage.slurm.writes.clear()
    stage.writes()
    await asyncio.sleep(8)
    assert (stage.slurm.writes, stage.writes()) == ([], [])
    await operator.kill()


async def test_a_cordoned_node_drains_its_worker_with_the_reason_that_was_given(stage: Stage) -> None:
    host = await stage.host("h", reason="new fan\ttoday")
    await stage.cluster()
    await stage.nodeset(1)
    await stage.there("gpu-0")
    await stage.bind("gpu-0", host)
    await stage.run("gpu-0")
    await stage.client.patch(NODES, Key("", host), {"spec": {"unschedulable": True}})

    async def drained() -> bool:
        return stage.slurm.drained("gpu-0")

    await until(drained)
    assert stage.slurm.reason("gpu-0") == "slurm-operator: new fan today"
    await stage.client.patch(NODES, Key("", host), {"spec": {"unschedulable": None}})

    async def given_back() -> bool:
        return not stage.slurm.drained("gpu-0")

    await until(given_back)


async def test_a_pod_says_until_when_its_jobs_may_run(stage: Stage) -> None:
    await started(stage, "gpu-0")
    stage.slurm.says("gpu-0", "ALLOCATED")
    job = {"job_id": 1, "job_state": ["RUNNING"], "nodes": "gpu-0", "start_time": 3600, "time_limit": 10}
    stage.slurm.jobs = [job]

    async def deadline() -> str:
        pod = (await stage.pods())["gpu-0"]
        return str(pod["metadata"]["annotations"].get(names.POD_DEADLINE, ""))

    assert await until(deadline) == "1970-01-01T01:10:00Z"
    stage.slurm.jobs = []
    stage.slurm.says("gpu-0", "IDLE")

    async def over() -> bool:
        return not await deadline()

    await until(over, 45)


async def test_a_node_that_went_down_with_its_pod_is_back_with_the_next(stage: Stage) -> None:
    await started(stage, "gpu-0")
    stage.slurm.says("gpu-0", "DOWN", reason=names.FAREWELL, reason_changed_at=int(time.time()) - 60)

    async def back() -> bool:
        return bool(stage.slurm.nodes["gpu-0"]["state"] == ["IDLE"])

    await until(back)
