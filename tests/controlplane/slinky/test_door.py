"""All kinds together: they come to rest, and stay there without a single write."""

import asyncio
from collections.abc import Sequence

from slurmery.kube.meta import Manifest
from slurmery.kube.resources import CONFIG_MAPS, DEPLOYMENTS, EVENTS, SECRETS, SERVICES, STATEFUL_SETS
from slurmery.slinky.kinds import ACCOUNTINGS, CONTROLLERS, LOGIN_SETS, REST_APIS, TOKENS

from .scene import KEYS, LOGIN, SLURMCTLD, SLURMDBD, SLURMRESTD, Operator, Scene, until


async def everything(scene: Scene) -> None:
    await scene.keys()
    await scene.secret("database", password="secret")
    await scene.secret("sssd", sssd_conf="[sssd]")
    await scene.create(CONTROLLERS, "slurm", {**SLURMCTLD, "accountingRef": {"name": "db"}})
    await scene.create(ACCOUNTINGS, "db", SLURMDBD)
    await scene.create(REST_APIS, "rest", SLURMRESTD)
    await scene.create(LOGIN_SETS, "login", LOGIN)
    await scene.create(TOKENS, "key", {"jwtKeyRef": KEYS["jwtKeyRef"], "username": "alice"})
    await scene.exists(STATEFUL_SETS, "slurm-controller", "db-accounting")
    await scene.exists(DEPLOYMENTS, "rest-restapi", "login")
    await scene.says(TOKENS, "key", "Ready", "True")


async def test_at_rest_nothing_is_written_also_after_a_restart(scene: Scene, operator: Operator) -> None:
    await everything(scene)
    for resource, name in (
        (CONTROLLERS, "slurm"),
        (ACCOUNTINGS, "db"),
        (REST_APIS, "rest"),
        (LOGIN_SETS, "login"),
    ):
        await scene.says(resource, name, "Progressing", "True", "1 of 1")
    await scene.settled()
    await asyncio.sleep(2)
    assert scene.writes() == []
    await operator.stop()
    await operator.start()
    await asyncio.sleep(3)
    assert scene.writes() == []


async def test_secrets_are_read_once_per_change(scene: Scene, operator: Operator) -> None:
    await scene.keys()
    await scene.create(CONTROLLERS, "slurm", SLURMCTLD)
    await scene.exists(STATEFUL_SETS, "slurm-controller")
    await scene.settled()
    assert scene.reads("secrets") == ["keys"]
    await scene.patch(CONTROLLERS, "slurm", {"spec": {"extraConf": "MinJobAge=2"}})
    await scene.slurm_conf("slurm", "MinJobAge=2")
    assert scene.reads("secrets") == ["keys"]


async def test_people_see_every_kind_with_kubectl(scene: Scene, operator: Operator) -> None:
    await everything(scene)
    shown = scene.kubectl("get", "controllers,accountings,restapis,loginsets,tokens")
    for column in ("NAME", "AGE", "REPLICAS", "USER", "IAT"):
        assert column in shown
    for name in ("slurm", "db", "rest", "login", "alice"):
        assert name in shown


async def test_what_happens_is_told_in_events(scene: Scene, operator: Operator) -> None:
    await scene.create(CONTROLLERS, "slurm", SLURMCTLD)
    await scene.says(CONTROLLERS, "slurm", "Degraded", "True")
    await scene.settled(0.5)
    events = (await scene.client.list(EVENTS, scene.namespace)).items
    warnings = [event for event in events if event["type"] == "Warning"]
    assert [(event["reason"], event["regarding"]["name"]) for event in warnings] == [("SyncFailed", "slurm")]
    assert "Secret keys" in warnings[0]["note"]


async def ours(scene: Scene) -> Sequence[Manifest]:
    events = (await scene.client.list(EVENTS, scene.namespace)).items
    return [each for each in events if each["reportingController"] == "slurm-operator"]


async def told(scene: Scene, reason: str, action: str, past: str) -> set[str]:
    """The objects that Events name, which say nothing beside."""
    events = await ours(scene)
    notes = [each["note"] for each in events if (each["reason"], each["action"]) == (reason, action)]
    assert all(note.startswith(f"{past} ") and note.endswith(".") for note in notes)
    return {name for note in notes for name in note.removeprefix(f"{past} ").rstrip(".").split(", ")}


async def owned(scene: Scene) -> set[str]:
    kinds = (STATEFUL_SETS, SERVICES, CONFIG_MAPS, SECRETS)
    return {
        f"{kind.kind} {each['metadata']['name']}"
        for kind in kinds
        for each in (await scene.client.list(kind, scene.namespace)).items
        if "ownerReferences" in each["metadata"]
    }


async def test_what_is_made_and_removed_is_told_in_upstreams_words(scene: Scene, operator: Operator) -> None:
    await scene.keys()
    external = {"external": True, "externalConfig": {"host": "ctld.example.org", "port": 6817}}
    await scene.create(CONTROLLERS, "slurm", SLURMCTLD)
    await scene.exists(STATEFUL_SETS, "slurm-controller")
    await scene.settled(0.5)
    made = await owned(scene)
    assert len(made) == 5
    assert await told(scene, "CreateSucceeded", "Create", "Created") == made

    await scene.patch(CONTROLLERS, "slurm", {"spec": external})

    async def removed() -> bool:
        gone = made - await owned(scene)
        return bool(gone) and await told(scene, "DeleteSucceeded", "Delete", "Deleted") == gone

    await until(removed)
    assert "StatefulSet slurm-controller" not in await owned(scene)
    # A pass says it once of all its objects; they came in two, before and after the keys were seen.
    reasons = [each["reason"] for each in await ours(scene)]
    assert (reasons.count("CreateSucceeded") <= 2, reasons.count("DeleteSucceeded")) == (True, 1)


async def test_a_missing_controller_is_told_in_upstreams_words(scene: Scene, operator: Operator) -> None:
    await scene.create(REST_APIS, "rest", {**SLURMRESTD, "controllerRef": {"name": "nobody"}})
    await scene.says(REST_APIS, "rest", "Degraded", "True")
    await scene.settled(0.5)
    assert ("ControllerRefFailed", "Sync", "Controller nobody, named by controllerRef, does not exist.") in {
        (event["reason"], event["action"], event["note"]) for event in await ours(scene)
    }
