"""The other daemons find their files and folders where either operator mounts them."""

import socket
from pathlib import Path

import pytest

from dev import paths
from tests.unit.images.container import Container

JAIL = """
mkdir -p /mnt/jail/etc /var/spool/slurmctld /mnt/rest-jwt-key
touch /mnt/rest-jwt-key/rest_jwt.key
echo jail >/mnt/jail/etc/passwd
(sleep 0.3; mkdir /mnt/jail/etc/slurm; touch /mnt/jail/etc/slurm/slurm.conf) &
"""


def scripts() -> list[Path]:
    found = [path for path in (paths.ROOT / "images").rglob("*") if path.is_file()]
    return [path for path in found if path.read_bytes().startswith(b"#!/bin/sh")]


@pytest.mark.parametrize("script", scripts(), ids=lambda path: str(path.relative_to(paths.ROOT)))
def test_scripts_can_be_executed(script: Path) -> None:
    assert script.stat().st_mode & 0o111 == 0o111


def test_slurmctld_has_a_folder_for_its_socket(container: Container) -> None:
    container.stub("slurmctld", body="test -d /run/slurmctld")

    assert container.run("slurm/entrypoint/slurmctld", "-v").status == 0
    assert container.arguments("slurmctld") == ["-D", "-v"]


def test_slurmctld_uses_the_jails_configuration_users_and_key(container: Container) -> None:
    container.stub(
        "slurmctld", body="cat /etc/passwd; realpath /etc/slurm /var/spool/slurmctld/jwt_hs256.key"
    )

    assert container.run("slurm/entrypoint/slurmctld", setup=JAIL).output.splitlines() == [
        "jail",
        "/mnt/jail/etc/slurm",
        "/mnt/rest-jwt-key/rest_jwt.key",
    ]


def test_daemons_wait_for_munge(container: Container, tmp_path: Path) -> None:
    container.stub("slurmctld", body="test -S /run/munge/munge.socket.2")
    with socket.socket(socket.AF_UNIX) as munge:
        munge.bind(str(tmp_path / "s"))
        late = f"mkdir /run/munge; (sleep 0.5; ln -s {tmp_path}/s /run/munge/munge.socket.2) &"

        assert container.run("slurm/entrypoint/slurmctld", setup=late).status == 0
    assert container.started("slurmctld")


def test_slurmdbd_as_a_plain_user_owns_its_configuration_alone(container: Container) -> None:
    """Kubernetes gives a plain user files of root's that the group may read; slurmdbd 24.11 refuses them."""
    container.stub("id", body="echo 401")
    container.stub(
        "slurmdbd", body='cd "${SLURM_CONF%/*}"; stat -c %a slurmdbd.conf; cat slurmdbd.conf slurm.key'
    )
    mounted = "mkdir -p /etc/slurm; cd /etc/slurm; echo conf >slurmdbd.conf; echo key >slurm.key; chmod 640 *"

    outcome = container.run("slurm/entrypoint/slurmdbd", setup=mounted)
    assert outcome.output.splitlines() == ["600", "conf", "key"]
    assert container.arguments("slurmdbd") == ["-D"]


def test_slurmrestd_as_root_learns_the_jails_users_and_is_root_no_more(container: Container) -> None:
    container.stub("setpriv", body="cat /etc/passwd")

    outcome = container.run("slurm/entrypoint/slurmrestd", "-v", setup=JAIL)
    assert outcome.output == "jail\n"
    assert container.arguments("setpriv")[:5] == ["--reuid", "65534", "--regid", "65534", "--clear-groups"]


def test_slurmrestd_gets_the_operators_arguments(container: Container) -> None:
    container.stub("id", body="echo 65534")
    container.stub("slurmrestd", body='echo "$SLURM_JWT"')

    outcome = container.run("slurm/entrypoint/slurmrestd", "-s", "openapi/slurmctld", "0.0.0.0:6820")
    assert outcome.output == "daemon\n"
    assert container.arguments("slurmrestd") == ["-s", "openapi/slurmctld", "0.0.0.0:6820"]


def test_slurmrestd_takes_soperators_configuration_and_limits(container: Container) -> None:
    container.stub("id", body="echo 65534")
    container.stub("slurmrestd")

    container.run(
        "slurm/entrypoint/slurmrestd",
        setup="mkdir /mnt/slurm-configs",
        env={"SLURMRESTD_THREAD_COUNT": "3", "SLURMRESTD_MAX_CONNECTIONS": "10"},
    )
    assert " ".join(container.arguments("slurmrestd")) == (
        "-f /mnt/slurm-configs/slurm_rest.conf -a rest_auth/jwt -t 3 --max-connections 10 0.0.0.0:6820"
    )


def test_a_login_node_runs_sackd_beside_sshd(container: Container, tmp_path: Path) -> None:
    container.stub("ssh-keygen")
    container.stub("sackd")
    container.stub("sshd", body=f"until [ -e {tmp_path}/calls/sackd ]; do sleep 0.02; done")
    options = "--conf-server slurm-controller.slurm:6817 $(reboot) *"

    assert container.run("slurm/entrypoint/login", env={"SACKD_OPTIONS": options}).status == 0
    assert container.arguments("sshd") == ["-D", "-e"]
    assert container.arguments("sackd") == ["-D", *options.split()]
