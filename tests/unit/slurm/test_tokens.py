"""Tokens: what Slurm accepts, for how long they are kept, and that nobody sees them."""

import asyncio
import stat
from pathlib import Path

import jwt
import pytest

from slurmery.slurm.errors import TokenError
from slurmery.slurm.tokens import ScontrolTokens, SignedTokens, StaticToken, TokenSource, sign

KEY = bytes(range(32))


class Clock:
    def __init__(self) -> None:
        self.now = 1_800_000_000.0

    def __call__(self) -> float:
        return self.now


class Key:
    """A Secret that can be rotated."""

    def __init__(self, content: bytes = KEY) -> None:
        self.content = content

    async def __call__(self) -> bytes:
        return self.content


def test_a_token_says_what_scontrol_would_say() -> None:
    token = sign(KEY, user="slurm", issued=1_800_000_000, life=900)
    assert jwt.get_unverified_header(token) == {"alg": "HS256", "typ": "JWT"}
    claims = jwt.decode(token, KEY, algorithms=["HS256"], options={"verify_exp": False, "verify_iat": False})
    assert claims == {"exp": 1_800_000_900, "iat": 1_800_000_000, "sun": "slurm"}


@pytest.mark.parametrize(
    "key", [b"short", b"-----BEGIN RSA PRIVATE KEY-----\nabc\n-----END RSA PRIVATE KEY-----\n"]
)
def test_any_bytes_are_a_key_as_they_are_for_slurm(key: bytes) -> None:
    assert sign(key, user="slurm", issued=1, life=1).count(".") == 2


def test_no_key_is_no_token() -> None:
    with pytest.raises(TokenError):
        sign(b"", user="slurm", issued=1, life=1)


async def test_a_token_is_kept_for_less_than_its_life() -> None:
    clock = Clock()
    source = SignedTokens(Key(), life=900, clock=clock)
    first = await source.token()
    clock.now += 719
    assert await source.token() == first
    clock.now += 2
    assert await source.token() != first


async def test_a_new_key_is_used_at_once() -> None:
    key = Key()
    source = SignedTokens(key, user="root", clock=Clock())
    first = await source.token()
    key.content = KEY[::-1]
    second = await source.token()
    assert first != second
    jwt.decode(second, key.content, algorithms=["HS256"], options={"verify_exp": False, "verify_iat": False})


async def test_a_clock_set_back_does_not_leave_a_token_from_the_future() -> None:
    clock = Clock()
    source = SignedTokens(Key(), clock=clock)
    first = await source.token()
    clock.now -= 7200
    assert await source.token() != first


async def test_a_given_token_is_given_on() -> None:
    assert await StaticToken(" abc\n").token() == "abc"
    assert await StaticToken("").token() == ""
    with pytest.raises(TokenError) as caught:
        StaticToken("se\ncret")
    assert "cret" not in str(caught.value)


def scontrol(folder: Path, script: str) -> str:
    program = folder / "scontrol"
    program.write_text(f"#!/bin/sh\necho run >> {folder}/runs\n{script}\n")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    return str(program)


async def test_scontrol_is_run_once_for_the_life_of_its_token(tmp_path: Path) -> None:
    clock = Clock()
    source = ScontrolTokens(
        scontrol=scontrol(tmp_path, 'echo "SLURM_JWT=$1.$2.$3"'), user="root", life=100, clock=clock
    )
    tokens = await asyncio.gather(*(source.token() for _ in range(5)))
    assert set(tokens) == {"token.lifespan=100.username=root"}
    assert (tmp_path / "runs").read_text() == "run\n"
    clock.now += 81
    await source.token()
    assert (tmp_path / "runs").read_text() == "run\nrun\n"


@pytest.mark.parametrize(
    "script", ["exit 1", "echo nothing", "echo SLURM_JWT=", "echo SLURM_JWT=secret; exit 3"]
)
async def test_a_failing_scontrol_is_a_token_error_without_a_token(tmp_path: Path, script: str) -> None:
    with pytest.raises(TokenError) as caught:
        await ScontrolTokens(scontrol=scontrol(tmp_path, f"echo why >&2; {script}")).token()
    assert "secret" not in str(caught.value)


async def test_a_missing_scontrol_is_a_token_error() -> None:
    with pytest.raises(TokenError, match="cannot run /nowhere/scontrol"):
        await ScontrolTokens(scontrol="/nowhere/scontrol").token()


async def test_sources_do_not_show_their_tokens(tmp_path: Path) -> None:
    sources: list[TokenSource] = [
        StaticToken("secret-token"),
        SignedTokens(Key(), clock=Clock()),
        ScontrolTokens(scontrol=scontrol(tmp_path, "echo SLURM_JWT=secret-token")),
    ]
    for source in sources:
        assert await source.token() not in repr(source)
