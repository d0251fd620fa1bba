"""The life of an authority and of what it signs."""

import ssl
import subprocess
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slurmery.admission.authority import (
    CERTIFICATES,
    KEYS,
    Lives,
    Pair,
    bundle,
    leaf,
    pack,
    renewed,
    signer,
    unpack,
)

NOW = datetime(2027, 1, 1, tzinfo=UTC)
DAY = timedelta(days=1)
LIVES = Lives(authority=90 * DAY, leaf=9 * DAY, settle=DAY)


def test_what_is_kept_is_read_back() -> None:
    kept = renewed(renewed((), NOW, LIVES), NOW + 61 * DAY, LIVES)

    assert len(kept) == 2
    assert [pair.certificate for pair in unpack(pack(kept))] == [pair.certificate for pair in kept]


def test_an_authority_is_joined_by_its_successor_and_leaves_when_it_expires() -> None:
    (first,) = renewed((), NOW, LIVES)
    assert renewed((first,), NOW + 59 * DAY, LIVES) == (first,)

    both = renewed((first,), NOW + 60 * DAY, LIVES)
    assert both[0] == first
    assert len(both) == 2
    assert renewed(both, NOW + 89 * DAY, LIVES) == both
    assert renewed(both, NOW + 90 * DAY, LIVES) == both[1:]


def test_a_new_authority_signs_only_once_it_is_known_everywhere() -> None:
    (first,) = renewed((), NOW, LIVES)
    assert signer((first,), NOW, LIVES) == first, "there is no other"

    both = renewed((first,), NOW + 60 * DAY, LIVES)
    assert signer(both, NOW + 60 * DAY, LIVES) == first
    assert signer(both, NOW + 61 * DAY, LIVES) == both[1]


def test_a_leaf_does_not_outlive_its_authority() -> None:
    (only,) = renewed((), NOW, LIVES)

    assert leaf(only, ["a"], NOW, LIVES).due == NOW + 6 * DAY
    assert leaf(only, ["a"], NOW + 88 * DAY, LIVES).expires == NOW + 90 * DAY


@settings(max_examples=15)
@given(st.lists(st.integers(1, 40), min_size=1, max_size=12))
def test_whatever_signs_was_trusted_for_a_while_and_will_be(steps: list[int]) -> None:
    """However rarely somebody looks: who signs was in every bundle of the last day, unless it is alone."""
    now, kept = NOW, renewed((), NOW, LIVES)
    for days in steps:
        before, now = kept, now + days * DAY
        kept = renewed(kept, now, LIVES)
        chosen = signer(kept, now, LIVES)
        assert now < chosen.expires
        assert chosen in before or not any(now < one.expires for one in before)


def spoilt(data: dict[str, bytes]) -> list[dict[str, bytes]]:
    (other,) = renewed((), NOW, LIVES)
    return [
        {},
        {CERTIFICATES: data[CERTIFICATES]},
        {CERTIFICATES: b"", KEYS: b""},
        {**data, KEYS: b"nonsense"},
        {**data, KEYS: other.key_pem},
        {**data, KEYS: data[KEYS] * 2},
        {**data, CERTIFICATES: data[CERTIFICATES][:100]},
    ]


@pytest.mark.parametrize("number", range(7))
def test_a_spoilt_secret_holds_no_authority(number: int) -> None:
    assert unpack(spoilt(pack(renewed((), NOW, LIVES)))[number]) == ()


def test_openssl_believes_it(tmp_path: Path) -> None:
    now = datetime.now(UTC)
    kept: tuple[Pair, ...] = renewed((), now, LIVES)
    (tmp_path / "ca.pem").write_bytes(bundle(kept))
    (tmp_path / "leaf.pem").write_bytes(leaf(kept[0], ["a.b.svc", "127.0.0.1"], now, LIVES).certificate_pem)

    ssl.create_default_context(cafile=tmp_path / "ca.pem")
    done = subprocess.run(
        ["openssl", "verify", "-x509_strict", "-verify_hostname", "a.b.svc", "-CAfile", "ca.pem", "leaf.pem"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
