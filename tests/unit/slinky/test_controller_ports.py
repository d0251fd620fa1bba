"""Ports that users move are moved for everybody who connects."""

from typing import Any

from slurmery.kube.resources import SERVICES
from slurmery.slinky import endpoints
from slurmery.slinky.accounting.decide import decide as decide_accounting
from slurmery.slinky.controller.config import config
from slurmery.slinky.controller.services import active_service, internal_service
from slurmery.slurmconf import text
from tests.unit.slinky.clusters import accounting, accounting_world, controller, world


def moved(daemon: str, port: int) -> dict[str, Any]:
    return {daemon: {"image": "x", "ports": [{"name": daemon, "containerPort": port}]}}


def ports(service: dict[str, Any]) -> dict[str, tuple[int, str]]:
    return {each["name"]: (each["port"], each["targetPort"]) for each in service["spec"]["ports"]}


def test_a_moved_slurmctld_is_found_where_it_listens() -> None:
    given = controller(**moved("slurmctld", 7000))
    conf = text.settings(config(given, world()).files["slurm.conf"])
    assert conf["slurmctldport"] == "7000"
    assert str(endpoints.slurmctld(given)) == "slurm-controller.slurm:7000"
    assert ports(internal_service(given)) == {"slurmctld": (7000, "slurmctld")}
    assert ports(active_service(given)) == {"slurmctld": (7000, "slurmctld")}


def test_another_port_for_clients_is_offered_besides() -> None:
    given = controller(**moved("slurmctld", 7000), service={"port": 80})
    assert ports(active_service(given)) == {
        "slurmctld": (80, "slurmctld"),
        "slurmctld-cluster": (7000, "slurmctld"),
    }


def test_a_moved_slurmdbd_is_found_where_it_listens() -> None:
    given = accounting(**moved("slurmdbd", 7001))
    written = config(controller(accountingRef={"name": "slurm"}), world(accounting=given)).files["slurm.conf"]
    assert text.settings(written)["accountingstorageport"] == "7001"
    plan = decide_accounting(given, accounting_world())
    [service] = [dict(each.manifest) for each in plan.desired if each.resource == SERVICES]
    assert ports(service) == {"slurmdbd": (7001, "slurmdbd")}
