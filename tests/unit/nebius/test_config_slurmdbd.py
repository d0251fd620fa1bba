"""slurmdbd.conf, and the Secrets it needs."""

from typing import Any

import pytest

from slurmery.nebius.config.slurmdbd import client_certificate, database_password, slurmdbd_conf
from slurmery.nebius.errors import SecretError, SpecError
from slurmery.slurmconf.text import TextError
from tests.unit.nebius.clusters import at, cluster

EXTERNAL: dict[str, Any] = {
    "slurmNodes__accounting__externalDB__enabled": True,
    "slurmNodes__accounting__mariadbOperator": None,
}
OWN = """\
AuthType=auth/munge
SlurmUser=root
LogFile=/dev/null
PidFile=/var/run/slurmdbd.pid
DbdHost=accounting
DbdPort=6819
StorageLoc=slurm_acct_db
StorageType=accounting_storage/mysql
StoragePass=secret
StorageUser=slurm
StorageHost=aurora-acct-db
StoragePort=3306
#
#REST API
AuthAltTypes=auth/jwt
AuthAltParameters=jwt_key=/var/spool/slurmdbd/jwt_hs256.key
ArchiveEvents=yes
ArchiveJobs=yes
ArchiveResvs=yes
ArchiveSteps=no
ArchiveSuspend=no
ArchiveTXN=no
ArchiveUsage=yes
DebugLevel=info
TCPTimeout=2
PurgeEventAfter=1month
PurgeJobAfter=12month
PurgeResvAfter=1month
PurgeStepAfter=1month
PurgeSuspendAfter=1month
PurgeTXNAfter=12month
PurgeUsageAfter=24month
PrivateData=jobs,usage
DebugFlags=DB_QUERY"""


def test_the_whole_file_in_the_order_of_the_contract() -> None:
    # A port that is not given is the usual one, and not 0.
    assert slurmdbd_conf(cluster(slurmNodes__accounting__mariadbOperator__port=None), "secret") == OWN


def test_a_database_elsewhere_is_reached_as_the_spec_says() -> None:
    lines = slurmdbd_conf(cluster(**EXTERNAL), None).splitlines()

    assert [line for line in lines if line.startswith("Storage")] == [
        "StorageLoc=slurm_acct_db",
        "StorageType=accounting_storage/mysql",
        "StorageUser=slurm",
        "StorageHost=db.example.com",
        "StoragePort=3306",
        (
            "StorageParameters=SSL_CA=/mnt/slurmdbd-ssl-ca-cert/ca.crt,SSL_CERT=/mnt/slurmdbd-ssl-client-key/tls.crt,"
            "SSL_KEY=/mnt/slurmdbd-ssl-client-key/tls.key,SSL_VERIFY=1"
        ),
    ]


def test_tls_of_the_spec_wins_over_parameters() -> None:
    given: dict[str, Any] = {"slurmNodes__accounting__externalDB__storageParameters": {"SSL_CA": "/mine"}}
    assert "/mine" not in slurmdbd_conf(cluster(**EXTERNAL, **given), None)


@pytest.mark.parametrize("field", ["user", "host"])
def test_a_database_elsewhere_needs_an_address_and_a_user(field: str) -> None:
    with pytest.raises(SpecError, match=f"externalDB.{field}"):
        slurmdbd_conf(cluster(**EXTERNAL, **at(f"slurmNodes__accounting__externalDB__{field}", "")), None)


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (None, "does not exist or is empty"),
        ({}, "does not exist or is empty"),
        ({"other": b"x"}, "no key 'password'"),
        ({"password": b"\n"}, "is empty"),
    ],
)
def test_a_password_that_is_not_there_is_told_apart(content: Any, complaint: str) -> None:
    with pytest.raises(SecretError, match=complaint):
        database_password(cluster(), content)
    with pytest.raises(SecretError, match=complaint):
        database_password(cluster(**EXTERNAL), content)


def test_a_password_is_read_without_its_line_break() -> None:
    assert database_password(cluster(), {"password": b"secret\n"}) == "secret"


def test_a_database_elsewhere_may_need_no_password() -> None:
    ref: dict[str, Any] = {"slurmNodes__accounting__externalDB__passwordSecretKeyRef": None}
    assert database_password(cluster(**EXTERNAL, **ref), None) is None


@pytest.mark.parametrize("content", [None, {"tls.crt": b"x"}, {"tls.crt": b"", "tls.key": b"x"}])
def test_a_client_certificate_needs_both_its_files(content: Any) -> None:
    with pytest.raises(SecretError, match=r"db-client.*needs the key tls\."):
        client_certificate("db-client", content)


@pytest.mark.parametrize("password", ["a\nSlurmUser=evil", 'a" b'])
def test_no_password_adds_a_line(password: str) -> None:
    with pytest.raises(TextError, match="StoragePass"):
        slurmdbd_conf(cluster(), password)
