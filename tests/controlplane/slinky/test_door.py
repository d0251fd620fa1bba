"""All kinds together: they come to rest, and stay there without a single write."""

import asyncio

from slurmery.kube.resources import DEPLOYMENTS, EVENTS, STATEFUL_SETS
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


async def test_what_is_made_and_removed_is_told_in_upstreams_words(scene: Scene, operator: Operator) -> None:
    await scene.keys()
    external = {"external": True, "externalConfig": {"host": "ctld.example.org", "port": 6817}}
    await scene.create(CONTROLLERS, "slurm", SLURMCTLD)
    await scene.exists(STATEFUL_SETS, "slurm-controller")
    await scene.patch(CONTROLLERS, "slurm", {"spec": external})
    await scene.create(REST_APIS, "rest", {**SLURMRESTD, "controllerRef": {"name": "nobody"}})
    await scene.says(REST_APIS, "rest", "Degraded", "True")

    async def told() -> bool:
        events = (await scene.client.list(EVENTS, scene.namespace)).items
        said = {(event["reason"], event.get("action"), event.get("note")) for event in events}
        return {
            ("CreateSucceeded", "Create", "Created StatefulSet slurm-controller."),
            ("DeleteSucceeded", "Delete", "Deleted StatefulSet slurm-controller."),
            ("ControllerRefFailed", "Sync", "Controller nobody, named by controllerRef, does not exist."),
        } <= said

    await until(told)
