"""sssd is there where the spec wants users from a directory service, and only there."""

import base64
from typing import Any

import pytest

from slurmery.kube.desired import Desired, Policy
from slurmery.nebius.cluster import Cluster, Workers
from slurmery.nebius.controller.build import stateful_set as controller
from slurmery.nebius.login.build import stateful_set as login
from slurmery.nebius.nodeset.build import directory
from slurmery.nebius.slurmcluster.components import components
from slurmery.nebius.slurmcluster.observed import Observed
from tests.unit.nebius.clusters import at, cluster, nodeset

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


@pytest.mark.parametrize("component", BUILDERS)
def test_where_no_configuration_is_named_there_is_one_to_begin_with(component: str) -> None:
    given = cluster("5.0", **at(f"slurmNodes__{component}__sssdConfSecretRefName", None))
    [made] = [each for each in secrets(given) if each.key.name == f"borealis-{component}-sssd-conf"]
    assert made.policy is Policy.CREATE_ONCE
    text = base64.b64decode(made.manifest["data"]["sssd.conf"]).decode()
    assert "\n[domain/local]\n" in text
    [volume] = [
        each for each in pod(component, sssdConfSecretRefName=None)["volumes"] if each["name"] == "sssd-conf"
    ]
    assert volume["secret"]["secretName"] == made.key.name


def test_a_configuration_that_is_named_or_not_needed_is_not_made() -> None:
    named = secrets(cluster("5.0"))
    none = secrets(
        cluster("5.0", slurmNodes__login__sssd=None, slurmNodes__login__sssdConfSecretRefName=None)
    )
    assert not [each for each in (*named, *none) if each.key.name.endswith("-sssd-conf")]


def test_workers_of_a_nodeset_have_one_of_their_own() -> None:
    given = nodeset("gpu", sssd={"image": {"repository": "sssd", "tag": "1"}, "resources": {}})
    workers = Workers(given.metadata.name, given.spec) if given.spec else None
    assert workers
    [made] = directory(cluster("5.0", (given,)), workers)
    assert made.key.name == "borealis-nodeset-gpu-sssd-conf"


def secrets(given: Cluster) -> list[Desired]:
    found = [each for component in components(given, Observed()) for each in component.desired]
    return [each for each in found if each.manifest["kind"] == "Secret"]
