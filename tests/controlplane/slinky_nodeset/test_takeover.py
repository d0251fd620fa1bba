"""What another operator, or chance, has left behind in the namespace."""

from typing import Any

import msgspec

from slurmery.api.slinky import NodeSet
from slurmery.kube.resources import CONTROLLER_REVISIONS, EVENTS, PODS
from slurmery.slinky.kinds import NODE_SETS
from slurmery.slinky.nodeset.revision import hash_of

from .stage import Operator, Stage, until

HASH = "7d9f8c6b5"


def left_behind(stage: Stage, digest: str, owners: list[dict[str, Any]], **spec: Any) -> dict[str, Any]:
    """A ControllerRevision as Go writes it."""
    metadata = {
        "name": f"gpu-{digest}",
        "namespace": stage.namespace,
        "labels": {"controller.kubernetes.io/hash": digest},
        "ownerReferences": owners,
    }
    written = {
        "logfile": {"$patch": "replace", "image": "alpine", "name": "", "resources": {}},
        "ordinalPadding": 0,
        "oversubscribeNode": False,
        "slurmd": {"$patch": "replace", "image": "slurmd", "name": "", "resources": {}},
        "template": {"$patch": "replace", "metadata": {}, "spec": {"containers": None}},
    }
    head = {"apiVersion": "apps/v1", "kind": "ControllerRevision", "metadata": metadata}
    return {**head, "data": {"spec": {**written, **spec}}, "revision": 1}


def worker(stage: Stage, name: str, owner: dict[str, Any]) -> dict[str, Any]:
    labels = {
        "app.kubernetes.io/name": "slurmd",
        "app.kubernetes.io/instance": "gpu",
        "controller.kubernetes.io/hash": HASH,
        "nodeset.slinky.slurm.net/pod-index": name.rpartition("-")[2],
        "nodeset.slinky.slurm.net/scaling-mode": "StatefulSet",
    }
    metadata = {"name": name, "namespace": stage.namespace, "labels": labels, "ownerReferences": [owner]}
    containers = [{"name": "slurmd", "image": "slurmd"}]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"containers": containers}}


async def test_workers_of_upstreams_operator_go_on_as_they_are(stage: Stage, operator: Operator) -> None:
    await operator.kill()
    await stage.cluster()
    await stage.nodeset(2)
    live = await stage.get(NODE_SETS, "gpu")
    assert live
    owner = {
        "apiVersion": NODE_SETS.api_version,
        "kind": NODE_SETS.kind,
        "name": "gpu",
        "uid": live["metadata"]["uid"],
        "controller": True,
    }
    await stage.client.create(CONTROLLER_REVISIONS, left_behind(stage, HASH, [owner]))
    for name in ("gpu-0", "gpu-1"):
        await stage.client.create(PODS, worker(stage, name, owner))
    await stage.run("gpu-0", "gpu-1")
    before = {name: pod["metadata"]["uid"] for name, pod in (await stage.pods()).items()}
    operator.start()

    await stage.says("Progressing", "False", "All slurmd pods are as the spec says")
    assert {name: pod["metadata"]["uid"] for name, pod in (await stage.pods()).items()} == before
    await stage.history(1)
    await stage.change(replicas=3)
    new = (await stage.there("gpu-0", "gpu-1", "gpu-2"))["gpu-2"]
    assert new["metadata"]["labels"]["controller.kubernetes.io/hash"] == HASH


async def test_a_hash_that_is_taken_is_not_used_again(stage: Stage, operator: Operator) -> None:
    await operator.kill()
    await stage.cluster()
    await stage.nodeset(1)
    live = await stage.get(NODE_SETS, "gpu")
    assert live
    nodeset = NodeSet.model_validate(live)
    await stage.client.create(
        CONTROLLER_REVISIONS, left_behind(stage, hash_of(nodeset), [], extraConf="Weight=9")
    )
    operator.start()
    pod = (await stage.there("gpu-0"))["gpu-0"]

    assert pod["metadata"]["labels"]["controller.kubernetes.io/hash"] == hash_of(nodeset, 1)

    async def counted() -> bool:
        found = await stage.get(NODE_SETS, "gpu") or {}
        return bool(found.get("status", {}).get("collisionCount") == 1)

    await until(counted)


async def test_people_read_in_events_which_pods_came_and_went(stage: Stage, operator: Operator) -> None:
    await stage.cluster()
    await stage.nodeset(3)
    await stage.there("gpu-0", "gpu-1", "gpu-2")
    await stage.change(replicas=2)
    await stage.there("gpu-0", "gpu-1")

    async def told() -> bool:
        events = (await stage.client.list(EVENTS, stage.namespace)).items
        notes = {(each["reason"], each["note"]) for each in events if each["regarding"]["name"] == "gpu"}
        return {
            ("SuccessfulCreate", "Created 3 pods (gpu-0, gpu-1, gpu-2)."),
            ("SuccessfulDelete", "Deleted pod gpu-2: scale-in."),
        } <= notes

    await until(told)


async def test_autoscalers_find_the_pods_by_the_selector_of_the_scale(
    stage: Stage, operator: Operator
) -> None:
    await stage.cluster()
    await stage.nodeset(2)
    await stage.there("gpu-0", "gpu-1")

    async def scaled() -> bool:
        path = NODE_SETS.path(stage.namespace, "gpu", "scale")
        scale = msgspec.json.decode(await stage.client.request("GET", path))
        selector = scale["status"].get("selector", "")
        found = await stage.client.list(PODS, stage.namespace, label_selector=selector or "none=none")
        return bool(scale["status"]["replicas"] == len(found.items) == 2)

    await until(scaled)
