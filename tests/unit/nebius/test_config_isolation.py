"""How much of a login node each of its users may use."""

from typing import Any

import pytest

from slurmery.nebius.config.isolation import isolation_conf
from slurmery.nebius.login.build import stateful_set
from tests.unit.nebius.clusters import cluster

GI = 1 << 30


def conf(**changes: Any) -> str:
    given = {f"slurmNodes__login__{path}": value for path, value in changes.items()}
    return isolation_conf(cluster("5.0", **given).spec.slurm_nodes.login)


@pytest.mark.parametrize("given", [None, {"enabled": False, "memoryMax": "1Gi"}])
def test_where_it_is_off_the_file_says_just_that(given: dict[str, Any] | None) -> None:
    assert conf(userIsolation=given) == "ENABLED=false"


def test_what_is_given_is_written_in_bytes() -> None:
    expected = ["ENABLED=true", f"MEMORY_HIGH={2 * GI}", f"MEMORY_MAX={3 * GI}", "CPU_WEIGHT=200"]
    assert conf().splitlines() == expected


def test_memory_is_a_share_of_the_containers_and_the_weight_is_usual() -> None:
    lines = conf(userIsolation={"enabled": True}, sshd__resources={"memory": "10Gi"}).splitlines()
    assert lines == ["ENABLED=true", f"MEMORY_HIGH={8 * GI}", f"MEMORY_MAX={9 * GI}", "CPU_WEIGHT=100"]


def test_without_memory_of_the_container_there_is_nothing_to_share() -> None:
    lines = conf(userIsolation={"enabled": True}, sshd__resources=None).splitlines()
    assert lines == ["ENABLED=true", "CPU_WEIGHT=100"]


@pytest.mark.parametrize("enabled", [True, False])
def test_login_pods_have_the_file_where_it_is_on(enabled: bool) -> None:
    found = stateful_set(cluster("5.0", slurmNodes__login__userIsolation__enabled=enabled), {})
    assert ("user-isolation" in str(found.manifest)) == enabled
