"""What containers of all components have alike."""

from typing import Any

import pytest

from slurmery.api.nebius.containers import NodeContainer
from slurmery.nebius import containers
from slurmery.nebius.errors import SpecError


def given(**fields: Any) -> NodeContainer:
    return NodeContainer.model_validate({"image": "munge:1", **fields})


@pytest.mark.parametrize(
    ("profile", "context"),
    [
        ("", {}),
        ("unconfined", {"appArmorProfile": {"type": "Unconfined"}}),
        ("runtime/default", {"appArmorProfile": {"type": "RuntimeDefault"}}),
        ("localhost/x", {"appArmorProfile": {"type": "Localhost", "localhostProfile": "x"}}),
        ("x", {"appArmorProfile": {"type": "Localhost", "localhostProfile": "x"}}),
    ],
)
def test_app_armor_profiles(profile: str, context: Any) -> None:
    assert containers.app_armor(profile) == context


def test_limits_leave_cpu_open() -> None:
    assert containers.resources({"cpu": 2, "memory": "1Gi", "storage": "1Gi"}) == {
        "requests": {"cpu": "2", "memory": "1Gi"},
        "limits": {"memory": "1Gi"},
    }


def test_jobs_are_promised_what_they_are_given() -> None:
    both = containers.guaranteed({"cpu": "500m", "memory": "1Gi", "nvidia.com/gpu": 8}, "x")
    assert both["requests"] == both["limits"] == {"cpu": "500m", "memory": "1Gi", "nvidia.com/gpu": "8"}


@pytest.mark.parametrize(
    ("resources", "missing"),
    [
        ({}, "cpu"),
        ({"memory": "1Gi"}, "cpu"),
        ({"cpu": 0, "memory": "1Gi"}, "cpu"),
        ({"cpu": 1}, "memory"),
        ({"cpu": 1, "memory": 0}, "memory"),
    ],
)
def test_jobs_need_cpu_and_memory(resources: Any, missing: str) -> None:
    with pytest.raises(SpecError, match=f"slurmd.resources needs {missing}"):
        containers.guaranteed(resources, "slurmd")


def test_munge_outlives_the_daemon() -> None:
    munge = containers.munge(given(command=["munged"], resources={"cpu": "1", "memory": "1Mi"}))

    assert munge["restartPolicy"] == "Always"
    assert munge["securityContext"] == {
        "capabilities": {"add": ["SYS_ADMIN"]},
        "appArmorProfile": {"type": "Unconfined"},
    }
    assert [each["mountPath"] for each in munge["volumeMounts"]] == ["/mnt/munge-key", "/run/munge"]
    assert munge["resources"]["limits"] == {"memory": "1Mi"}


def test_the_users_environment_wins() -> None:
    ours = containers.env({"A": "1", "B": "2"})
    assert containers.environment(ours, [{"name": "A", "value": "3"}]) == [
        {"name": "B", "value": "2"},
        {"name": "A", "value": "3"},
    ]


def test_probes_that_run_a_program_have_time_for_it() -> None:
    assert containers.probe(exec={"command": ["true"]})["timeoutSeconds"] == 10
    assert containers.probe(tcpSocket={"port": 1})["timeoutSeconds"] == 1
