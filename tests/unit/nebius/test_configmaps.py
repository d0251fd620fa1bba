"""ConfigMaps and JailedConfigs, as reviewed files under tests/golden."""

from typing import Any

import pytest

from slurmery.nebius import names
from slurmery.nebius.configmaps import build
from tests.unit.nebius.clusters import check, cluster, nodeset

NO_CUSTOM: dict[str, Any] = {
    "slurmNodes__login__sshdConfigMapRefName": None,
    "slurmNodes__worker__sshdConfigMapRefName": None,
    "slurmNodes__worker__supervisordConfigMapRefName": None,
}


@pytest.mark.parametrize("version", ["1.22", "5.0"])
def test_files_of_slurm(version: str) -> None:
    sets = (nodeset("gpu", 16, gpu__enabled=True, ephemeralNodes=True), nodeset("cpu", 2))
    found = cluster(version, sets if version == "5.0" else ())
    check(f"slurm-configs-{version}", build.slurm_configs(found, build.slurm_files(found)))


def test_files_of_nodes() -> None:
    found = cluster(**NO_CUSTOM)
    check(
        "node-files",
        [
            build.login_sshd(found),
            build.worker_sshd(found),
            build.worker_supervisord(found),
            build.worker_sysctl(found),
            build.root_keys(found),
            build.security_limits(found, names.WORKER, ""),
            build.security_limits(found, names.LOGIN, ""),
            *build.topology(found, "SwitchName=unknown Nodes=worker-[0-7]\n"),
        ],
    )


def test_a_users_own_config_map_stands_in_for_ours() -> None:
    found = cluster()
    assert build.login_sshd(found) is None
    assert build.worker_sshd(found) is None
    assert build.worker_supervisord(found) is None


@pytest.mark.parametrize("component", [names.LOGIN, names.WORKER, names.CONTROLLER, names.EXPORTER])
def test_limits_are_named_and_labelled_for_their_component(component: str) -> None:
    manifest = build.security_limits(cluster(), component, "x").manifest
    assert manifest["metadata"]["name"] == f"aurora-{component}-security-limits"
    assert manifest["metadata"]["labels"]["app.kubernetes.io/component"] == component
    assert manifest["data"] == {"limits.conf": "x"}


def test_sshd_of_workers_listens_where_ssh_looks_for_it() -> None:
    found = cluster(**NO_CUSTOM, slurmNodes__login__sshd__port=2222)
    worker, login = build.worker_sshd(found), build.login_sshd(found)
    assert worker
    assert worker.manifest["data"]["sshd_config"].startswith("Port 22\n")
    assert login
    assert login.manifest["data"]["sshd_config"].startswith("Port 2222\n")


def test_keys_of_root_come_one_a_line() -> None:
    found = cluster(slurmNodes__login__sshRootPublicKeys=["ssh-rsa A a\n", "ssh-rsa B b\nssh-rsa C c"])
    keys = build.root_keys(found).manifest["data"]["authorized_keys"]
    assert keys.splitlines() == ["ssh-rsa A a", "ssh-rsa B b", "ssh-rsa C c"]


def test_every_file_is_brought_into_the_shared_root() -> None:
    for version in ("1.22", "5.0"):
        found = cluster(version)
        config_map, jailed = build.slurm_configs(found, build.slurm_files(found))
        spec = jailed.manifest["spec"]
        assert {item["key"]: item["path"] for item in spec["items"]} == {
            key: f"/etc/slurm/{key}" for key in config_map.manifest["data"]
        }
        assert spec["updateActions"] == ["Reconfigure"]
