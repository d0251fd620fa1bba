"""Tokens that change under us."""

import asyncio
from pathlib import Path

import pytest

from slurmery.kube.credentials import Credential, Fixed, TokenFile
from slurmery.kube.errors import ConfigError

pytestmark = pytest.mark.looptime


async def test_a_renewed_token_is_used_within_a_minute(tmp_path: Path) -> None:
    path = tmp_path / "token"
    path.write_text("one\n")
    tokens = TokenFile(path)
    assert await tokens.get() == Credential("Bearer one")
    path.write_text("two")
    await asyncio.sleep(61)
    assert await tokens.get() == Credential("Bearer two")


async def test_a_rejected_token_is_read_again_at_once(tmp_path: Path) -> None:
    path = tmp_path / "token"
    path.write_text("one")
    tokens = TokenFile(path)
    first = await tokens.get()
    assert not tokens.reject(first)
    path.write_text("two")
    assert tokens.reject(first)
    assert await tokens.get() == Credential("Bearer two")


async def test_a_missing_or_empty_token_names_its_file(tmp_path: Path) -> None:
    path = tmp_path / "token"
    with pytest.raises(ConfigError, match=str(path)):
        await TokenFile(path).get()
    path.write_text("\n")
    with pytest.raises(ConfigError, match=str(path)):
        await TokenFile(path).get()


async def test_fixed_credentials_cannot_get_better() -> None:
    fixed = Fixed(Credential("Bearer one"))
    assert await fixed.get() == Credential("Bearer one")
    assert not fixed.reject(await fixed.get())
