"""A plan is carried out as far as the world lets us, and what it refuses harms nobody else."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest

from slurmery.doors.marks import LEAVING
from slurmery.doors.pods import WorkerPod
from slurmery.doors.words import Told
from slurmery.kube.errors import AlreadyExistsError, ApiError, ConflictError, ForbiddenError, NotFoundError
from slurmery.kube.expectations import Expectations
from slurmery.kube.meta import Key, Manifest, Resource, key_of
from slurmery.kube.resources import PERSISTENT_VOLUME_CLAIMS, PODS
from slurmery.slinky import names
from slurmery.slinky.nodeset.act import Act, Blueprints, Outcome
from slurmery.slurm.errors import DeadlineError, RejectedError, SlurmError
from slurmery.slurm.model import Node
from slurmery.slurm.requests import NodeUpdate
from slurmery.workers.model import Cause, Deletion, Drain, Plan, Slot
from tests.unit.slinky.fleets import pod

OWNER = Key("slurm", "gpu")


def refusal(kind: type[ApiError], text: str = "no") -> ApiError:
    return kind(400, "Refused", text)


@dataclass
class Cluster:
    """An API server that keeps what it is given, and refuses some names."""

    objects: dict[tuple[Resource, Key], dict[str, Any]] = field(default_factory=dict)
    refuses: Mapping[str, ApiError] = field(default_factory=dict)
    asked: int = 0

    async def get(self, resource: Resource, key: Key) -> Manifest:
        return self._live(resource, key)

    async def create(self, resource: Resource, manifest: Manifest) -> Manifest:
        key = self._open(resource, key_of(manifest))
        if (resource, key) in self.objects:
            raise refusal(AlreadyExistsError)
        self.objects[resource, key] = dict(manifest)
        return manifest

    async def patch(self, resource: Resource, key: Key, patch: Manifest) -> Manifest:
        live = self._live(resource, key)
        live["metadata"].setdefault("annotations", {}).update(patch["metadata"]["annotations"])
        return live

    async def delete(self, resource: Resource, key: Key, *, uid: str | None = None) -> None:
        if uid not in (None, self._live(resource, key)["metadata"].get("uid")):
            raise refusal(ConflictError)
        del self.objects[resource, key]

    def _open(self, resource: Resource, key: Key) -> Key:
        self.asked += 1
        if key.name in self.refuses:
            raise self.refuses[key.name]
        return key

    def _live(self, resource: Resource, key: Key) -> dict[str, Any]:
        self._open(resource, key)
        if (resource, key) not in self.objects:
            raise refusal(NotFoundError)
        return self.objects[resource, key]

    def names(self, resource: Resource) -> set[str]:
        return {key.name for kept, key in self.objects if kept == resource}


@dataclass
class Slurm:
    """Takes words about nodes, and refuses some."""

    nodes: dict[str, NodeUpdate] = field(default_factory=dict)
    records: dict[str, Node] = field(default_factory=dict)
    refuses: Mapping[str, SlurmError] = field(default_factory=dict)
    hangs: bool = False

    async def node(self, name: str) -> Node:
        if self.hangs:
            await asyncio.sleep(3600)
        return self.records.get(name, Node(name=name, state=("IDLE",)))

    async def update_node(self, name: str, update: NodeUpdate) -> None:
        if self.hangs:
            await asyncio.sleep(3600)
        if name in self.refuses:
            raise self.refuses[name]
        self.nodes[name] = update


def manifest(name: str, **metadata: Any) -> dict[str, Any]:
    return {"metadata": {"name": name, "namespace": "slurm", **metadata}}


def named(slot: Slot) -> dict[str, Any]:
    return manifest(f"gpu-{slot}")


@dataclass
class Stage:
    """Workers gpu-0 to gpu-4 with a claim each, in a cluster with a Slurm."""

    cluster: Cluster = field(default_factory=Cluster)
    slurm: Slurm = field(default_factory=Slurm)
    told: Told = field(default_factory=Told)
    expectations: Expectations[Key] = field(default_factory=Expectations)

    def __post_init__(self) -> None:
        self.pods: dict[str, WorkerPod] = {f"gpu-{n}": pod(f"gpu-{n}") for n in range(5)}
        for name in self.pods:
            self.cluster.objects[PODS, Key("slurm", name)] = manifest(name, uid=f"uid-{name}")
            self.cluster.objects[PERSISTENT_VOLUME_CLAIMS, Key("slurm", f"data-{name}")] = manifest("")

    async def carry_out(self, plan: Plan) -> Outcome:
        blueprints = Blueprints(
            pod=named,
            claims=lambda slot: [manifest(f"data-gpu-{slot}")],
            spent=lambda name: [Key("slurm", f"data-{name}")],
        )
        act = Act(self.cluster, self.expectations, OWNER)
        return await act.carry_out(plan, self.pods, blueprints, self.slurm, self.told)


@pytest.fixture
def stage() -> Stage:
    return Stage()


async def test_workers_are_marked_before_slurm_is_told(stage: Stage) -> None:
    await stage.carry_out(Plan(mark={"gpu-1": Cause.UPDATE}, drain=(Drain("gpu-1", "ours: update"),)))

    live = stage.cluster.objects[PODS, Key("slurm", "gpu-1")]
    assert live["metadata"]["annotations"][LEAVING] == "update"
    assert stage.slurm.nodes == {"gpu-1": NodeUpdate(state=("DRAIN",), reason="ours: update")}


async def test_a_reason_of_anothers_stays(stage: Stage) -> None:
    ours = f"{names.REASON_PREFIX}pod gpu-2: it is being updated"
    stage.slurm.records["gpu-2"] = Node(name="gpu-2", state=("IDLE", "DRAIN"), reason=ours)
    await stage.carry_out(Plan(drain=(Drain("gpu-1", ""),), undrain=("gpu-2",)))

    assert stage.slurm.nodes == {
        "gpu-1": NodeUpdate(state=("DRAIN",)),
        "gpu-2": NodeUpdate(state=("UNDRAIN",)),
    }


async def test_what_an_administrator_wrote_since_we_looked_stays(stage: Stage) -> None:
    stage.slurm.records = {
        "gpu-0": Node(name="gpu-0", state=("MIXED", "DRAIN"), reason="bad disk"),
        "gpu-1": Node(name="gpu-1", state=("IDLE",), reason="watch this one"),
        "gpu-2": Node(name="gpu-2", state=("IDLE", "DRAIN"), reason="now mine"),
    }
    drains = tuple(Drain(f"gpu-{n}", f"{names.REASON_PREFIX}x") for n in range(2))
    await stage.carry_out(Plan(drain=drains, undrain=("gpu-2",)))

    assert stage.slurm.nodes == {"gpu-1": NodeUpdate(state=("DRAIN",))}


async def test_a_node_that_slurm_refuses_harms_no_other(stage: Stage) -> None:
    stage.slurm.refuses = {"gpu-0": RejectedError("bad node")}
    drains = tuple(Drain(f"gpu-{n}", "ours: x") for n in range(3))
    outcome = await stage.carry_out(Plan(drain=drains, create=(7,)))

    assert set(stage.slurm.nodes) == {"gpu-1", "gpu-2"}
    assert "gpu-7" in stage.cluster.names(PODS)
    assert [problem.message for problem in outcome.problems] == [
        "Slurm could not be told about node gpu-0: bad node."
    ]


@pytest.mark.looptime
async def test_a_slurm_that_hangs_keeps_nothing_waiting(stage: Stage) -> None:
    stage.slurm.hangs = True
    began = asyncio.get_running_loop().time()
    outcome = await stage.carry_out(
        Plan(drain=tuple(Drain(f"gpu-{n}", "ours: x") for n in range(200)), create=(7,))
    )

    assert asyncio.get_running_loop().time() - began < 10
    assert "gpu-7" in stage.cluster.names(PODS)
    assert outcome.problems[-1].reason == "SlurmUpdateFailed"


async def test_words_are_noted_also_if_they_may_not_have_arrived(stage: Stage) -> None:
    stage.slurm.refuses = {"gpu-0": DeadlineError("late")}
    await stage.carry_out(Plan(drain=(Drain("gpu-0", "ours: x"),)))

    assert set(stage.told.times()) == {"gpu-0"}


@pytest.mark.looptime
async def test_notes_are_forgotten_when_no_answer_of_that_age_counts(stage: Stage) -> None:
    await stage.carry_out(Plan(drain=(Drain("gpu-0", "ours: x"),)))
    await asyncio.sleep(60)

    assert stage.told.times() == {}


async def test_only_the_very_pod_that_was_judged_is_deleted(stage: Stage) -> None:
    stage.cluster.objects[PODS, Key("slurm", "gpu-1")] = manifest("gpu-1", uid="its successor")
    outcome = await stage.carry_out(Plan(delete=(Deletion("gpu-0", "update"), Deletion("gpu-1", "update"))))

    assert stage.cluster.names(PODS) == {"gpu-1", "gpu-2", "gpu-3", "gpu-4"}
    assert [each.pod for each in outcome.deleted] == ["gpu-0"]
    assert stage.expectations.pending(OWNER) == {"uid-gpu-0"}
    assert outcome.problems == []


async def test_data_goes_with_a_scaled_in_worker_and_never_with_an_update(stage: Stage) -> None:
    await stage.carry_out(Plan(delete=(Deletion("gpu-0", "update"), Deletion("gpu-1", Cause.SCALE_IN))))

    claims = stage.cluster.names(PERSISTENT_VOLUME_CLAIMS)
    assert "data-gpu-0" in claims
    assert "data-gpu-1" not in claims


async def test_a_worker_comes_with_its_claims_and_finds_old_ones_again(stage: Stage) -> None:
    del stage.cluster.objects[PODS, Key("slurm", "gpu-4")]
    outcome = await stage.carry_out(Plan(create=(4, 5)))

    assert {"gpu-4", "gpu-5"} <= stage.cluster.names(PODS)
    assert {"data-gpu-4", "data-gpu-5"} <= stage.cluster.names(PERSISTENT_VOLUME_CLAIMS)
    assert outcome.created == ["gpu-4", "gpu-5"]
    assert stage.expectations.pending(OWNER) == {"gpu-4", "gpu-5"}


async def test_a_worker_waits_for_the_claim_of_its_predecessor_to_be_gone_and_keeps_no_other_waiting(
    stage: Stage,
) -> None:
    going = stage.cluster.objects[PERSISTENT_VOLUME_CLAIMS, Key("slurm", "data-gpu-4")]
    going["metadata"] |= {"name": "data-gpu-4", "deletionTimestamp": "2026-01-01T00:00:00Z"}
    del stage.cluster.objects[PODS, Key("slurm", "gpu-4")]
    outcome = await stage.carry_out(Plan(create=(4, 1, 5, 6)))

    assert outcome.created == ["gpu-5", "gpu-6"]
    assert {each.message for each in outcome.problems} == {
        "claim data-gpu-4 of a former worker is still being deleted.",
        "no.",  # gpu-1 is there
    }


async def test_a_template_that_nobody_wants_costs_few_requests(stage: Stage) -> None:
    stage.cluster.refuses = {f"gpu-{n}": refusal(ForbiddenError, "quota is used up") for n in range(10, 200)}
    outcome = await stage.carry_out(Plan(create=tuple(range(10, 200))))

    assert stage.cluster.asked < 5
    assert [(each.reason, each.message) for each in outcome.problems] == [
        ("FailedCreate", "quota is used up.")
    ]
    assert stage.expectations.settled(OWNER)


async def test_a_pass_deletes_no_more_than_a_burst(stage: Stage) -> None:
    names = [f"gpu-{n}" for n in range(300)]
    stage.pods = {name: pod(name) for name in names}
    stage.cluster.objects = {(PODS, Key("slurm", name)): manifest(name, uid=f"uid-{name}") for name in names}
    await stage.carry_out(Plan(delete=tuple(Deletion(name, "update") for name in names)))

    assert len(stage.cluster.names(PODS)) == 50
