from slurmery.slinky.endpoints import Endpoint, slurmctld, slurmdbd
from tests.unit.slinky.clusters import accounting, controller

EXTERNAL = {"external": True, "externalConfig": {"host": "h.example.org", "port": 7000}}


def test_slurmctld_answers_at_its_service_also_with_standbys() -> None:
    ha = {"ha": {"enabled": True}, "persistence": {"enabled": True, "existingClaim": "x"}}
    assert str(slurmctld(controller())) == "slurm-controller.slurm:6817"
    assert str(slurmctld(controller(**ha))) == "slurm-controller.slurm:6817"


def test_another_service_port_does_not_move_traffic_inside_the_cluster() -> None:
    assert slurmctld(controller(service={"port": 7000})).port == 6817


def test_slurmdbd_answers_at_the_port_of_its_service() -> None:
    assert slurmdbd(accounting()) == Endpoint("slurm-accounting", 6819)
    assert slurmdbd(accounting(service={"port": 7819})) == Endpoint("slurm-accounting", 7819)


def test_external_daemons_answer_where_the_user_says() -> None:
    assert slurmctld(controller(**EXTERNAL)) == Endpoint("h.example.org", 7000)
    assert slurmdbd(accounting(**EXTERNAL)) == Endpoint("h.example.org", 7000)


def test_an_ipv6_address_is_set_apart_from_its_port() -> None:
    assert str(Endpoint("2001:db8::1", 6817)) == "[2001:db8::1]:6817"
