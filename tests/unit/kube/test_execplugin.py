"""Credential plugins: real programs, good and bad."""

import asyncio
import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from slurmery.kube.credentials import ClientCertificate, Credential
from slurmery.kube.errors import ConfigError
from slurmery.kube.execplugin import VERSIONS, ExecPlugin, Plugin

Program = Callable[[str], Path]


@pytest.fixture
def program(tmp_path: Path) -> Program:
    """Makes a shell script that counts its runs in `runs`."""

    def make(body: str) -> Path:
        path = tmp_path / "plugin"
        path.write_text(f"#!/bin/sh\necho >> {tmp_path}/runs\n{body}\n")
        path.chmod(0o755)
        return path

    return make


def answer(version: str = VERSIONS[0], **status: Any) -> str:
    return f"echo '{json.dumps({'apiVersion': version, 'kind': 'ExecCredential', 'status': status})}'"


def plugin(path: Path, version: str = VERSIONS[0], **more: Any) -> ExecPlugin:
    return ExecPlugin(Plugin(version, str(path), **more))


def runs(tmp_path: Path) -> int:
    return len((tmp_path / "runs").read_text().splitlines())


@pytest.mark.parametrize("version", VERSIONS)
async def test_both_versions_give_tokens(program: Program, version: str) -> None:
    source = plugin(program(answer(version, token="t")), version)
    assert await source.get() == Credential("Bearer t")


async def test_certificates_will_do_too(program: Program) -> None:
    source = plugin(program(answer(clientCertificateData="C", clientKeyData="K")))
    assert await source.get() == Credential(None, ClientCertificate("C", "K"))


async def test_the_program_runs_once_for_many_requests_until_it_expires(
    program: Program, tmp_path: Path
) -> None:
    later = datetime.now(UTC) + timedelta(hours=1)
    source = plugin(program(answer(token="t", expirationTimestamp=later.isoformat())))
    await asyncio.gather(*(source.get() for _ in range(5)))
    assert runs(tmp_path) == 1
    soon = datetime.now(UTC) + timedelta(seconds=1)
    source = plugin(program(answer(token="t", expirationTimestamp=soon.isoformat())))
    await source.get()
    await source.get()
    assert runs(tmp_path) == 3


async def test_a_rejected_token_is_renewed_once_for_all(program: Program, tmp_path: Path) -> None:
    source = plugin(
        program(f"printf %s '{answer(token='RUN')[6:-1]}' | sed s/RUN/$(wc -l < {tmp_path}/runs)/")
    )
    old = await source.get()
    assert source.reject(old)
    new = await source.get()
    assert source.reject(old)
    assert await source.get() == new != old
    assert runs(tmp_path) == 2


async def test_the_program_is_told_what_it_may_know(program: Program, tmp_path: Path) -> None:
    script = f'printf %s "$KUBERNETES_EXEC_INFO" > {tmp_path}/info; echo "$1 $REGION" > {tmp_path}/call\n'
    path = program(script + answer(token="t"))
    known = {"server": "https://k"}
    await plugin(path, arguments=("login",), environment={"REGION": "eu"}, cluster=known).get()
    assert (tmp_path / "call").read_text() == "login eu\n"
    assert json.loads((tmp_path / "info").read_text()) == {
        "apiVersion": VERSIONS[0],
        "kind": "ExecCredential",
        "spec": {"interactive": False, "cluster": {"server": "https://k"}},
    }


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("echo please log in >&2; exit 3", "code 3: please log in"),
        ("echo secret-token", "did not print an ExecCredential"),
        (answer(VERSIONS[1], token="t"), "speaks client.authentication.k8s.io/v1beta1"),
        (answer(), "neither a token nor a certificate"),
        (f'echo \'{{"apiVersion": "{VERSIONS[0]}", "kind": "ExecCredential"}}\'', "no status"),
    ],
)
async def test_a_failing_program_is_explained(program: Program, body: str, words: str) -> None:
    with pytest.raises(ConfigError, match=words) as caught:
        await plugin(program(body)).get()
    assert "secret-token" not in str(caught.value)


async def test_a_missing_program_comes_with_its_hint(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"plugin is not installed\. Get it with: brew"):
        await plugin(tmp_path / "plugin", install_hint="Get it with: brew").get()


async def test_a_program_that_needs_a_terminal_gets_none_here(program: Program) -> None:
    with pytest.raises(ConfigError, match="needs a terminal"):
        await plugin(program(answer(token="t")), interactive_mode="Always").get()


async def test_a_program_that_never_ends_is_ended(program: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("slurmery.kube.execplugin.RUN_SECONDS", 0.2)
    with pytest.raises(ConfigError, match="did not finish"):
        await plugin(program("exec sleep 60")).get()


def test_an_unknown_version_is_refused_at_once() -> None:
    with pytest.raises(ConfigError, match="v1alpha1"):
        ExecPlugin(Plugin("client.authentication.k8s.io/v1alpha1", "aws"))
