"""The database starts from nothing, from a killed start and from old data, with the accounts it is told."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.unit.images.container import Container

MARIADB = "mariadb/entrypoint"
ACCOUNTS = {"MARIADB_DATABASE": "slurm_acct_db", "MARIADB_USER": "slurm", "MARIADB_PASSWORD": "it's \\ `x`"}
VOLUME = "mkdir /var/lib/mysql"


@pytest.fixture(autouse=True)
def programs(container: Container) -> None:
    container.stub("id", body="echo 999")
    container.stub(
        "mariadb-install-db", body="mkdir /var/lib/mysql/data.new; touch /var/lib/mysql/data.new/made"
    )
    container.stub("mariadbd", body="cat /dev/fd/3; ls /var/lib/mysql/data")


def test_an_empty_volume_gets_data_and_accounts(container: Container) -> None:
    outcome = container.run(MARIADB, "--innodb-snapshot-isolation=OFF", setup=VOLUME, env=ACCOUNTS)

    assert outcome.output.splitlines() == [
        "CREATE DATABASE IF NOT EXISTS `slurm_acct_db`;",
        "CREATE USER IF NOT EXISTS 'slurm'@'%';",
        "ALTER USER 'slurm'@'%' IDENTIFIED BY 'it''s \\\\ `x`';",
        "GRANT ALL ON `slurm_acct_db`.* TO 'slurm'@'%';",
        "made",
    ]
    assert container.arguments("mariadbd")[-1] == "--innodb-snapshot-isolation=OFF"


def test_old_data_are_kept(container: Container) -> None:
    outcome = container.run(
        MARIADB, setup=f"{VOLUME}; mkdir /var/lib/mysql/data; touch /var/lib/mysql/data/old"
    )

    assert outcome.output.split() == ["old"]
    assert not container.started("mariadb-install-db")


def test_a_start_killed_while_it_made_the_data_is_begun_again(container: Container) -> None:
    half = f"{VOLUME}; mkdir /var/lib/mysql/data.new; touch /var/lib/mysql/data.new/half"

    assert container.run(MARIADB, setup=half).output.split() == ["made"]


def test_data_that_could_not_be_made_do_not_start(container: Container) -> None:
    container.stub("mariadb-install-db", body="mkdir /var/lib/mysql/data.new; exit 1")

    assert container.run(MARIADB, setup=VOLUME).status != 0
    assert not container.started("mariadbd")


def test_a_line_break_is_refused(container: Container) -> None:
    outcome = container.run(MARIADB, setup=VOLUME, env={"MARIADB_PASSWORD": "a\nDROP DATABASE mysql;"})

    assert outcome.status == 1
    assert "line break" in outcome.output


def test_a_user_without_a_password_is_refused(container: Container) -> None:
    outcome = container.run(MARIADB, setup=VOLUME, env={"MARIADB_USER": "slurm"})

    assert outcome.status == 1
    assert "give it one" in outcome.output
    assert not container.started("mariadbd")


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(st.characters(codec="utf-8", min_codepoint=32), min_size=1, max_size=20))
def test_no_password_ends_its_string(container: Container, password: str) -> None:
    outcome = container.run(MARIADB, setup=VOLUME, env={"MARIADB_ROOT_PASSWORD": password})
    literal = (
        outcome.output.split("\n")[0]
        .removeprefix("ALTER USER root@localhost IDENTIFIED BY ")
        .removesuffix(";")
    )

    assert literal[0] == literal[-1] == "'"
    assert literal[1:-1].replace("''", "").count("'") == 0
    assert literal[1:-1].replace("''", "'").replace("\\\\", "\\") == password
