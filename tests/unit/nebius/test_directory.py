"""sssd is there where the spec wants users from a directory service, and only there."""

from typing import Any

import pytest

from slurmery.nebius.controller.build import stateful_set as controller
from slurmery.nebius.errors import SpecError
from slurmery.nebius.login.build import stateful_set as login
from tests.unit.nebius.clusters import cluster

BUILDERS = {"controller": controller, "login": login}


def pod(component: str, **changes: Any) -> Any:
    given = {f"slurmNodes__{component}__{field}": value for field, value in changes.items()}
    return BUILDERS[component](cluster("5.0", **given), {}).manifest["spec"]["template"]["spec"]


@pytest.mark.parametrize("component", BUILDERS)
def test_sssd_runs_beside_the_daemon(component: str) -> None:
    found = pod(component)
    sssd = found["initContainers"][-1]

    assert (sssd["name"], sssd["restartPolicy"]) == ("sssd", "Always")
    assert {"sssd-conf", "sssd-socket", "sssd-ldap-ca"} <= {each["name"] for each in found["volumes"]}
    mounted = {each["name"] for each in found["containers"][0]["volumeMounts"]}
    assert {"sssd-conf", "sssd-socket"} <= mounted
    assert "sssd-ldap-ca" not in mounted


@pytest.mark.parametrize("component", BUILDERS)
def test_without_sssd_nothing_of_it_is_there(component: str) -> None:
    assert "sssd" not in str(pod(component, sssd=None))


def test_sssd_logs_as_much_as_the_spec_says() -> None:
    assert "-d 3 " in pod("controller")["initContainers"][-1]["command"][-1]


def test_a_command_of_the_spec_is_taken() -> None:
    sssd = pod("login", sssd={"image": "sssd", "command": ["x"]})["initContainers"][-1]
    assert sssd["command"] == ["x"]


def test_a_missing_configuration_is_named() -> None:
    with pytest.raises(SpecError, match=r"slurmNodes.login.sssdConfSecretRefName is missing"):
        pod("login", sssdConfSecretRefName=None)
