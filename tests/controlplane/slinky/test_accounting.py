"""Accountings on a real API server."""

import base64

from slurmery.kube.resources import SECRETS, SERVICES, STATEFUL_SETS
from slurmery.slinky import names
from slurmery.slinky.kinds import ACCOUNTINGS, CONTROLLERS

from .scene import SLURMCTLD, SLURMDBD, Operator, Scene, all_owned_by


async def test_an_accounting_gets_slurmdbd_and_its_controller_uses_it(
    scene: Scene, operator: Operator
) -> None:
    await scene.keys()
    await scene.secret("database", password="secret")
    await scene.create(CONTROLLERS, "slurm", {**SLURMCTLD, "accountingRef": {"name": "db"}})
    await scene.create(ACCOUNTINGS, "db", SLURMDBD)
    secrets = await scene.exists(SECRETS, "db-accounting")
    found = [
        *secrets,
        *await scene.exists(SERVICES, "db-accounting"),
        *await scene.exists(STATEFUL_SETS, "db-accounting"),
    ]
    assert all_owned_by(found, "Accounting", "db")
    conf = base64.b64decode(secrets[0]["data"]["slurmdbd.conf"]).decode()
    assert "StoragePass=secret" in conf
    await scene.slurm_conf("slurm", "AccountingStorageHost=db-accounting")


async def test_a_changed_password_rolls_slurmdbd(scene: Scene, operator: Operator) -> None:
    await scene.keys()
    await scene.secret("database", password="secret")
    await scene.create(ACCOUNTINGS, "db", SLURMDBD)
    [before] = await scene.exists(STATEFUL_SETS, "db-accounting")
    await scene.secret("database", password="changed")
    await scene.rolls(STATEFUL_SETS, "db-accounting", names.SLURMDBD_CONF_HASH, before)


async def test_without_a_password_slurmdbd_keeps_running_as_it_was(scene: Scene, operator: Operator) -> None:
    await scene.keys()
    await scene.secret("database", password="secret")
    await scene.create(ACCOUNTINGS, "db", SLURMDBD)
    [before] = await scene.exists(STATEFUL_SETS, "db-accounting")
    await scene.delete(SECRETS, "database")
    await scene.says(ACCOUNTINGS, "db", "Degraded", "True", "Secret database with key password")
    [after] = await scene.exists(STATEFUL_SETS, "db-accounting")
    assert after["spec"] == before["spec"]
