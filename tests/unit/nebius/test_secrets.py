"""Secrets are made once, in the formats of the contract."""

import string

import pytest
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import (
    load_pem_private_key,
    load_ssh_private_key,
    load_ssh_public_key,
)
from hypothesis import given
from hypothesis import strategies as st

from slurmery.kube.desired import Policy
from slurmery.nebius.secrets import build, hostkeys
from slurmery.nebius.secrets.passwords import ENTROPY_BYTES, SYMBOLS, password
from tests.unit.nebius.clusters import check, cluster


def test_secrets() -> None:
    found = cluster()
    check(
        "secrets",
        [
            build.munge_key(found, b"m" * 16),
            build.rest_jwt_key(found, b"j" * 32),
            build.sshd_keys(found, {"ssh_host_rsa_key": b"private", "ssh_host_rsa_key.pub": b"public"}),
            build.mariadb_password(found, "mariadb-password", "secret"),
        ],
    )


def test_no_key_is_ever_made_anew() -> None:
    found = cluster("5.0")
    made = (build.munge_key(found, b"m"), build.rest_jwt_key(found, b"j"), build.sshd_keys(found, {}))
    assert {each.policy for each in made} == {Policy.CREATE_ONCE}
    assert [each.key.name for each in made] == [
        "borealis-munge",
        "borealis-rest-jwt-key",
        "borealis-sshd-keys",
    ]


def test_passwords_outlive_the_cluster() -> None:
    assert not build.mariadb_password(cluster(), "mariadb-root", "x").owned


@given(st.binary(min_size=ENTROPY_BYTES, max_size=ENTROPY_BYTES))
def test_passwords_have_digits_and_symbols_and_nothing_twice(entropy: bytes) -> None:
    made = password(entropy)
    assert len(made) == len(set(made)) == 16
    assert sum(char in string.digits for char in made) == 4
    assert sum(char in SYMBOLS for char in made) == 2


@pytest.fixture(scope="module")
def files() -> dict[str, bytes]:
    return hostkeys.generate()


def test_host_keys_have_the_formats_of_the_contract(files: dict[str, bytes]) -> None:
    rsa_key = load_pem_private_key(files["ssh_host_rsa_key"], None)
    ecdsa_key = load_pem_private_key(files["ssh_host_ecdsa_key"], None)

    assert isinstance(rsa_key, rsa.RSAPrivateKey)
    assert rsa_key.key_size == 2048
    assert isinstance(ecdsa_key, ec.EllipticCurvePrivateKey)
    assert ecdsa_key.curve.name == "secp521r1"
    assert files["ssh_host_ecdsa_key"].startswith(b"-----BEGIN EC PRIVATE KEY-----")
    load_ssh_private_key(files["ssh_host_ed25519_key"], None)


def test_every_host_key_has_its_public_half(files: dict[str, bytes]) -> None:
    for name in ("rsa", "ecdsa", "ed25519"):
        load_ssh_public_key(files[f"ssh_host_{name}_key.pub"])
